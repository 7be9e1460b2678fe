"""Work in slices: turns, fairness, and what fails without holding up the rest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.slices import Slices, independently
from pykbroker.runtime.timers import Timers
from pykbroker.runtime.waits import WakeQueue


class World:
    """Time and turns by hand; ``done`` is what was done, in its order."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.timers = Timers(self.clock)
        self.wake_queue = WakeQueue()
        self.slices = Slices(self.timers, self.wake_queue)
        self.slices.weight_of_a_turn = 3
        self.done: list[str] = []

    def steps(self, name: str, count: int, *, fails_at: int | None = None) -> Iterator[float]:
        for number in range(count):
            if number == fails_at:
                raise RuntimeError(name)
            self.done.append(name)
            yield 1

    def advance(self, ms: int) -> None:
        self.clock.advance(ms)
        self.timers.run_due()
        while len(self.wake_queue):
            self.wake_queue.run()


def test_work_takes_turns_and_others_have_theirs() -> None:
    world = World()
    world.slices.add(world.steps("a", 5), over=lambda: world.done.append("a is over"))
    world.slices.add(world.steps("b", 2))
    world.wake_queue.run()
    assert world.done == ["a", "a", "a"]
    assert len(world.slices) == 2
    world.wake_queue.run()
    assert world.done[3:] == ["b", "b", "a"]
    world.wake_queue.run()
    assert world.done[6:] == ["a", "a is over"]
    assert not len(world.slices)


@pytest.mark.parametrize("fails", ["step", "over"])
def test_what_fails_holds_up_nobody(fails: str) -> None:
    world = World()

    def over() -> None:
        world.done.append("told")
        if fails == "over":
            raise RuntimeError

    world.slices.add(world.steps("bad", 2, fails_at=1 if fails == "step" else None), over=over)
    world.slices.add(world.steps("good", 4))
    world.advance(0)
    assert world.done.count("told") == 1
    assert world.done.count("good") == 4


@pytest.mark.parametrize("fails", ["beginning", "middle"])
def test_a_round_that_fails_is_followed_by_the_next(fails: str) -> None:
    world = World()
    rounds: list[int] = []

    def work() -> Iterator[float]:
        rounds.append(len(rounds))
        if fails == "beginning":
            raise RuntimeError
        return world.steps("round", 3, fails_at=1)

    world.slices.every(100, work)
    for _ in range(3):
        world.advance(101)
    assert rounds == [0, 1, 2]


def test_of_work_that_is_many_pieces_only_what_fails_is_left_undone(caplog) -> None:
    world = World()
    pieces = [world.steps("a", 2), world.steps("bad", 2, fails_at=1), world.steps("b", 2)]
    world.slices.add(independently(pieces))
    world.advance(0)
    assert world.done == ["a", "a", "bad", "b", "b"]
    assert "bad" in caplog.text
