from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from pykbroker.tests.worlds.support import asking, echo, lived
from pykbroker.worlds.hosts import HostFailed
from pykbroker.worlds.life import live
from pykbroker.worlds.world import World


def test_a_crash_runs_nothing_more_and_a_restart_begins_anew() -> None:
    told: list[Any] = []

    async def test(world: World) -> None:
        async def program() -> None:
            told.append(("begins", round(world.now)))
            try:
                await asyncio.sleep(5)
                told.append("slept")
            finally:
                told.append("finally")

        host = world.host(program)
        host.crash(at=2, restart=3)
        await world.sleep(20)
        assert told == [("begins", 0), ("begins", 5), "slept", "finally"]
        assert host.starts == 2
        assert not host.running

    lived(test)


def test_peers_are_told_of_a_crash_but_not_of_a_lost_machine() -> None:
    for machine in (False, True):
        told: list[Any] = []

        async def test(world: World, machine: bool = machine, told: list[Any] = told) -> None:
            world.host(echo)
            world.host(asking(told.append), name="client")
            world.hosts[0].crash(at=2.5, machine=machine)
            await world.sleep(60)

        lived(test)
        assert told[:3] == [b"ping"] * 3
        assert [type(each) for each in told[3:]] == ([] if machine else [ConnectionResetError])


def test_a_machine_that_is_up_again_knows_no_connection() -> None:
    told: list[Any] = []

    async def test(world: World) -> None:
        world.host(echo)
        world.host(asking(told.append), name="client")
        world.hosts[0].crash(at=2.5, machine=True, restart=10)
        await world.sleep(12)
        assert told == [b"ping"] * 3
        await world.sleep(1)
        assert [type(each) for each in told[3:]] == [ConnectionResetError]

    lived(test)


def test_what_is_asked_to_end_may_clean_up() -> None:
    told: list[str] = []

    async def test(world: World) -> None:
        async def cancelled() -> None:
            try:
                await asyncio.sleep(1000)
            finally:
                told.append("cancelled")

        async def handles() -> None:
            asked = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked.set)
            await asked.wait()
            await asyncio.sleep(1)
            told.append("handled")

        world.host(cancelled).terminate(at=1)
        world.host(handles).terminate(at=2, restart=True)
        await world.sleep(10)
        assert told == ["cancelled", "handled"]
        assert [each.starts for each in world.hosts] == [1, 2]
        assert [each.running for each in world.hosts] == [False, True]

    lived(test)


def test_what_is_asked_to_end_before_it_has_begun_ends() -> None:
    begun: list[float] = []

    async def test(world: World) -> None:
        async def program() -> None:
            begun.append(world.now)

        world.host(program).terminate(at=0.0, restart=5)
        await world.sleep(10)

    lived(test)
    assert begun == [pytest.approx(5, abs=0.1)]


def test_a_paused_host_does_nothing_and_goes_on() -> None:
    async def test(world: World) -> None:
        told: list[float] = []
        world.host(echo)
        world.host(asking(lambda _: told.append(world.now)), name="client").pause(at=2.5, seconds=30)
        await world.sleep(40)
        assert [round(each) for each in told[:4]] == [0, 1, 2, 33]

    lived(test)


def test_any_time_is_every_time() -> None:
    """Over some seeds, a program is crashed at each of its steps, and now and then not at all."""
    reached: set[int] = set()

    async def test(world: World) -> None:
        steps = 0

        async def program() -> None:
            nonlocal steps
            while steps < 10:
                await asyncio.sleep(0.1)
                steps += 1

        world.host(program).crash(world.any_time())
        await world.sleep(10)
        reached.add(steps)

    extents = live(test, 0, {}).extents
    for seed in range(80):
        live(test, seed, extents=extents)
    assert reached == set(range(11))


def test_a_host_is_an_async_function() -> None:
    async def test(world: World) -> None:
        async def program() -> None:
            """Ends."""

        with pytest.raises(TypeError, match=r"write world.host\(f, x\), not f\(x\)"):
            world.host(program())  # type: ignore[arg-type]
        world.host(lambda: program())  # noqa: PLW0108 - one that returns what can be awaited
        await world.settle()
        world.host(len, [], name="short")  # type: ignore[arg-type]
        with pytest.raises(HostFailed, match=r"and short is none: write async def"):
            await world.settle()

    outcome = live(test, 1, {})
    assert isinstance(outcome.error, HostFailed)


def test_an_address_in_an_error_is_no_part_of_the_trace() -> None:
    async def test(world: World) -> None:
        async def program() -> None:
            raise ValueError(object())

        world.host(program)
        await world.settle()

    kept = [live(test, 1, {}, prepare=lambda _: None) for _ in range(2)]
    assert kept[0].trace_hash == kept[1].trace_hash
    assert any("ends with ValueError(<object object>)" in words for *_, words in kept[0].events)


@pytest.mark.parametrize(("code", "error"), [(0, None), (3, SystemExit)])
@pytest.mark.parametrize("in_task", [True, False])
def test_an_exit_ends_the_process(code: int, error: type | None, *, in_task: bool) -> None:
    async def test(world: World) -> None:
        async def ends() -> None:
            await asyncio.sleep(1)
            sys.exit(code)

        async def program() -> None:
            if in_task:
                ending = asyncio.create_task(ends())
                await asyncio.sleep(100)
                ending.cancel()
            else:
                await ends()

        host = world.host(program)
        await world.sleep(5)
        assert not host.running
        assert host.error is None if error is None else isinstance(host.error, error)
        host.error = None

    lived(test)


def test_generators_end_as_they_do_with_asyncio_run() -> None:
    """What nobody refers to any more, and what is left at the end of the program; nothing of what crashes."""
    ended = []

    async def numbers(name: str) -> AsyncGenerator[int, None]:
        try:
            while True:
                yield 1
        finally:
            await asyncio.sleep(1)
            ended.append(name)

    async def test(world: World) -> None:
        async def program(kept: list[object], name: str) -> None:
            async for _ in numbers(f"{name} broken"):
                break
            rest = numbers(f"{name} left")
            kept.append(rest)
            await anext(rest)
            await asyncio.sleep(5)

        kept: list[object] = []
        world.host(program, kept, "ends", name="ends")
        crashes = world.host(program, kept, "crashes", name="crashes")
        crashes.crash(at=3)
        await world.sleep(20)
        assert ended == ["ends broken", "crashes broken", "ends left"]

    lived(test)
    assert len(ended) == 3


@pytest.mark.parametrize("at", ["soon", [5]])
def test_what_is_no_moment_is_refused(at: Any) -> None:
    async def test(world: World) -> None:
        with pytest.raises(TypeError, match=r"at is a moment: seconds since the world began, or world\.any_time"):
            world.host(echo).crash(at=at)

    lived(test)
