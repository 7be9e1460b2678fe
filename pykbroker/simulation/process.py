"""What a simulated machine does: generators that yield a Deferred wherever they have to wait.

A plain function of a client reads as blocking code does, ``answer = yield from self.ask(...)``, and yet nothing blocks:
the generator goes on when its Deferred is done, in an event of its own, later still where its machine is stalled.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pykbroker.runtime.waits import Deferred

if TYPE_CHECKING:
    from pykbroker.simulation.world import World

T = TypeVar("T")
#: A stretch of work that yields what it waits for and returns a T.
Steps = Generator[Deferred[Any], Any, T]


class Machine:
    """Processes that stall and crash together."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.random = world.randomness(name)
        self.alive = True
        self._running: list[Steps[None]] = []
        self._stalled_until = 0

    def spawn(self, steps: Steps[None]) -> None:
        """Run a process, from its first step on at once."""
        self._running.append(steps)
        self.world.at(0, partial(self._go_on, steps, Deferred.completed(None)))

    def pause(self, ms: int) -> Steps[None]:
        """Sleep."""
        yield self.world.sleep(ms)

    def stall(self, ms: int) -> None:
        """Do nothing for a while, as in a long garbage collection; what arrives meanwhile is found afterwards."""
        self.world.note(f"{self.name} stalls for {ms} ms")
        self._stalled_until = max(self._stalled_until, self.world.now_ms + ms)

    def crash(self) -> None:
        """Stop where it stands; nothing is cleaned up."""
        self.world.note(f"{self.name} crashes")
        self.alive = False
        running, self._running = self._running, []
        for steps in running:
            steps.close()

    def _go_on(self, steps: Steps[None], done: Deferred[Any]) -> None:
        if not self.alive or steps not in self._running:
            return
        wait_ms = self._stalled_until - self.world.now_ms
        if wait_ms > 0:
            self.world.at(wait_ms, partial(self._go_on, steps, done))
            return
        try:
            try:
                value = done.value
            except Exception as error:  # noqa: BLE001 - it belongs to the process that waited for it
                waits_for = steps.throw(error)
            else:
                waits_for = steps.send(value)
        except StopIteration:
            self._running.remove(steps)
        else:
            waits_for.when_done(lambda done: self.world.at(0, partial(self._go_on, steps, done)))
