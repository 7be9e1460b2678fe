from __future__ import annotations

import asyncio
import datetime as dt
import os
import random
import secrets
import subprocess
import sys
import time
import uuid
from time import monotonic
from typing import Any

import pytest

from pykbroker.tests.worlds.support import lived
from pykbroker.worlds.hosts import HostFailed
from pykbroker.worlds.life import live
from pykbroker.worlds.world import World


async def _drawn(world: World) -> list[Any]:
    rng = random.Random()
    return [random.random(), rng.random(), uuid.uuid4(), os.urandom(8), secrets.token_hex(4)]


def test_chance_is_the_seeds_and_is_put_back() -> None:
    seen: list[Any] = []

    async def test(world: World) -> None:
        seen.append(await _drawn(world))

    state = random.getstate()
    for seed in (1, 1, 2):
        lived(test, seed)
    assert seen[0] == seen[1]
    assert all(one != other for one, other in zip(seen[0], seen[2], strict=True))
    assert random.getstate() == state
    assert os.urandom(8) != os.urandom(8)


def test_time_is_the_worlds_and_costs_nothing() -> None:
    seen: list[Any] = []

    async def test(world: World) -> None:
        before = time.monotonic(), monotonic(), time.time()
        await asyncio.sleep(100_000)
        seen.extend(
            after - start for after, start in zip((time.monotonic(), monotonic(), time.time()), before, strict=True)
        )
        seen.append(dt.datetime.now(dt.UTC))

    began = time.monotonic()
    outcome = lived(test)
    assert time.monotonic() - began < 60
    assert all(100_000 <= passed < 100_001 for passed in seen[:3])
    assert seen[3].year == 2023
    assert 100_000 <= outcome.seconds < 100_001
    assert abs(time.time() - dt.datetime.now(dt.UTC).timestamp()) < 1
    assert dt.datetime.now(dt.UTC).year > 2023


def test_a_skewed_clock_is_of_its_host() -> None:
    async def test(world: World) -> None:
        told: list[float] = []

        async def clock() -> None:
            told.append(time.time() - 1_700_000_000)

        world.host(clock, clock_skew=3600)
        world.host(clock)
        await world.sleep(1)
        assert [round(each) for each in told] == [3600, 0]
        assert round(time.time() - 1_700_000_000) == 1

    lived(test)


async def _crowd(world: World) -> None:
    """Tasks in a set, whose order would be that of their addresses."""

    async def program() -> None:
        for _ in range(20):
            waits = {asyncio.ensure_future(asyncio.sleep(random.random())) for _ in range(5)}
            while waits:
                done, waits = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                world.note(f"{sorted(each.get_name() for each in done)} {[each.get_name() for each in waits]}")

    world.host(program).crash(world.any_time(), restart=True)
    world.host(program)
    await world.sleep(60)


@pytest.mark.deep
def test_a_seed_is_one_life_in_every_process() -> None:
    here = [live(_crowd, seed).trace_hash for seed in (1, 2, 1)]
    assert here[0] == here[2] != here[1]
    ask = (
        "from pykbroker.tests.worlds.test_life import _crowd; from pykbroker.worlds.life import live;"
        "print(live(_crowd, 2).trace_hash)"
    )
    done = subprocess.run(
        [sys.executable, "-c", ask],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "77"},
    )
    assert done.stdout.split() == [here[1]]


def test_what_a_host_raises_fails_the_test() -> None:
    async def test(world: World) -> None:
        async def program() -> None:
            raise ValueError("no")

        world.host(program)
        await world.sleep(1)

    error = live(test, 1).error
    assert isinstance(error, HostFailed)
    assert isinstance(error.__cause__, ValueError)


def test_a_test_that_waits_for_nothing_is_told_so() -> None:
    async def test(world: World) -> None:
        await asyncio.get_running_loop().create_future()

    assert "awaits what will not happen" in str(live(test, 1).error)
