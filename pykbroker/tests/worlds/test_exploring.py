from __future__ import annotations

import asyncio
import random

import pytest

from pykbroker.tests.worlds.support import PORT, asking, echo
from pykbroker.worlds.exploring import explore, replay
from pykbroker.worlds.report import page, parted, schedule, text
from pykbroker.worlds.world import World


async def _crashes_in_between(world: World) -> None:
    """A program that does one thing and then the other; a crash in between does the first twice."""
    done: list[str] = []

    async def program() -> None:
        _, writer = await asyncio.open_connection("echo", PORT)
        for number in range(5):
            if f"second {number}" not in done:
                done.append(f"first {number}")
                world.note(f"first {number}")
                writer.write(b"x")
                await asyncio.sleep(0.5)
                done.append(f"second {number}")

    world.host(echo)
    await world.sleep(1)
    world.host(program).crash(world.any_time(), restart=True)
    world.host(asking(lambda _: None), name="other")
    await world.sleep(60)
    assert len(done) == 10


def test_a_failure_is_shrunk_to_what_it_needs_and_told() -> None:
    failure = explore(_crashes_in_between, range(100))
    assert failure is not None
    assert failure.repeatable
    ((name, _),) = failure.deviations
    assert name == "program: crash 1 before turn"
    assert failure.passing is not None
    parting = parted(failure)
    assert parting is not None
    assert parting[3] == "program crashes"
    told = text(failure, "pytest this")
    assert f"seed {failure.seed} fails" in told
    assert "program crashes" in told
    assert told.endswith("replay: pytest this")
    assert schedule(failure)[0] in told
    again = replay(_crashes_in_between, failure.seed, failure.deviations)
    assert again is not None
    assert again.life.trace_hash == failure.life.trace_hash
    drawn = page(failure, "<title>", "pytest this")
    assert "&lt;title&gt;" in drawn
    assert "<title><" not in drawn
    assert "program crashes" in drawn


def test_what_fails_in_the_calm_life_needs_no_seed() -> None:
    async def test(world: World) -> None:
        raise ValueError("always")

    failure = explore(test, range(5))
    assert failure is not None
    assert not failure.deviations
    assert failure.found_after == 1
    assert "calm life fails" in text(failure, "")


def test_what_does_not_fail_is_lived_by_every_seed() -> None:
    seeds: list[int] = []

    async def test(world: World) -> None:
        seeds.append(world.seed)

    assert explore(test, range(3, 6)) is None
    assert seeds == [0, 3, 4, 5]


def test_a_program_that_is_not_of_the_world_alone_is_told() -> None:
    outside = random.SystemRandom()

    async def test(world: World) -> None:
        async def program() -> None:
            world.note(str(outside.getrandbits(64)))

        world.host(program)
        await world.sleep(1)
        assert world.seed == 0, world.seed

    lives = iter(range(100))

    async def counted(world: World) -> None:
        world.note(str(next(lives)))
        assert world.seed == 0

    failure = explore(counted, [1])
    assert failure is not None
    assert not failure.repeatable
    assert "NOT REPEATABLE" in text(failure, "")


@pytest.mark.parametrize("lives", [0, 3])
def test_shrinking_takes_no_more_lives_than_it_may(lives: int) -> None:
    failure = explore(_crashes_in_between, range(100), shrinking_runs=lives)
    assert failure is not None
    assert failure.shrunk_in <= lives + 1


def test_a_tape_of_another_test_is_told() -> None:
    with pytest.warns(UserWarning, match="1 of 1 choices on the tape did not come up, as 'nobody is slow'"):
        assert replay(_nothing, 1, {("nobody is slow", 0): 5}) is None


async def _nothing(world: World) -> None:
    """Lives in no time."""


def test_words_that_no_terminal_and_no_file_has_as_they_are() -> None:
    """Halves of characters, as Python has for the bytes of a name that is no text."""

    async def test(world: World) -> None:
        world.note("\udcff \x1b[31m <b>")
        raise ValueError("\udcff")

    failure = explore(test, [])
    assert failure is not None
    assert type(failure.error) is ValueError
    assert "\\udcff \\x1b[31m <b>" in text(failure, "")
    assert "\\udcff" in page(failure, "\udcff", "<i>").encode(errors="backslashreplace").decode()
    assert "<b>" not in page(failure, "", "<i>")
