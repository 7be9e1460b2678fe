from __future__ import annotations

import asyncio
import datetime as dt
import os
import platform
import random
import secrets
import socket
import ssl
import subprocess
import sys
import threading
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
    drawn = [random.random(), rng.random(), uuid.uuid4(), os.urandom(8), secrets.token_hex(4), ssl.RAND_bytes(8)]
    of_times = [make() for name in ("uuid1", "uuid6", "uuid7") if (make := getattr(uuid, name, None)) is not None]
    return [*drawn, *of_times, uuid.getnode(), *([os.getrandom(8)] if hasattr(os, "getrandom") else [])]


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


@pytest.mark.skipif(not hasattr(time, "clock_gettime"), reason="clocks by number are of POSIX")
def test_every_clock_is_the_worlds() -> None:
    async def test(world: World) -> None:
        def clocks() -> list[float]:
            return [
                *(time.clock_gettime(clock) for clock in (time.CLOCK_MONOTONIC, time.CLOCK_REALTIME)),
                *(time.clock_gettime_ns(clock) / 1e9 for clock in (time.CLOCK_MONOTONIC, time.CLOCK_REALTIME)),
                *(time.perf_counter(), time.process_time(), time.thread_time(), time.process_time_ns() / 1e9),
            ]

        before = clocks()
        await asyncio.sleep(100_000)
        assert all(100_000 <= after - start < 100_001 for after, start in zip(clocks(), before, strict=True))

    lived(test)


def test_a_host_has_a_name_and_each_life_of_it_a_process() -> None:
    seen: list[tuple[str, str, str, int]] = []

    async def test(world: World) -> None:
        async def program() -> None:
            seen.append((socket.gethostname(), socket.getfqdn(), platform.node(), os.getpid()))
            await asyncio.sleep(5)

        world.host(program, name="payer").crash(at=1, restart=True)
        world.host(program, name="other")
        await world.sleep(9)
        assert socket.gethostname() == "test"

    lived(test)
    here = len(seen)
    lived(test)
    assert seen[:here] == seen[here:]
    assert [(name, full, node) for name, full, node, _ in seen[:here]] == [
        (each, each, each) for each in ("payer", "other", "payer")
    ]
    assert len({pid for *_, pid in seen}) == 3
    assert os.getpid() not in {pid for *_, pid in seen}


def test_what_other_threads_do_meanwhile_is_real() -> None:
    """As those of a broker that a fixture keeps: its timers would otherwise be set by the world's clock, and its threads refused."""
    begins, ends = threading.Event(), threading.Event()
    seen: list[Any] = []

    def other() -> None:
        begins.wait()
        try:
            before = time.monotonic()
            within = threading.Thread(target=lambda: seen.append(threading.Event().wait(0.001)))
            within.start()
            within.join()
            time.sleep(0.001)
            seen.append(before <= time.monotonic() < before + 600)
            seen.append(os.getpid())
            random.Random()  # draws nothing of the world's
            os.urandom(8)
        except RuntimeError as error:
            seen.append(error)
        finally:
            ends.set()

    async def test(world: World) -> None:
        begins.set()
        await world.until(ends.is_set, at_most=1e9)
        seen.append((os.urandom(8), random.Random().random()))

    thread = threading.Thread(target=other, daemon=True)
    thread.start()
    lived(test)
    thread.join()
    assert seen[:3] == [False, True, os.getpid()]
    lived(test)  # the other thread is gone
    assert seen[3] == seen[4]


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
