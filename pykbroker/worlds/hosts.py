"""Hosts of a world: the user's asyncio programs as processes that start, crash, pause and start again."""

from __future__ import annotations

import asyncio
import inspect
import math
import signal
from collections.abc import Callable, Coroutine
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pykbroker.worlds.loop import HostLoop, WorldTask
from pykbroker.worlds.simulator import Host
from pykbroker.worlds.tape import MOMENT

if TYPE_CHECKING:
    from pykbroker.worlds.network import Network
    from pykbroker.worlds.simulator import Simulator

#: How long it takes until what supervises a process has started it again.
RESTART_S: Final = 1.0
#: The share of lives in which there is no such moment, and of those in which it is within the length of the calm life.
_NEVER: Final = 0.1
_WITHIN: Final = 0.7
#: The latest turn that is drawn otherwise.
_LATEST_TURN: Final = 4000


class AnyTime(NamedTuple):
    """A moment that the seed chooses: before any turn of a process, or never."""


#: A moment: None for now, seconds since the world began, or any time.
Moment = float | AnyTime | None


def any_turn(extent: int, rng: Random) -> int:
    """The number of a turn of a process that takes ``extent`` of them in the calm life; 0 for never. One beyond is drawn, too, each
    order of magnitude as likely as another.
    """
    if rng.random() < _NEVER:
        return 0
    if extent and rng.random() < _WITHIN:
        return rng.randint(1, extent)
    return round(math.pow(_LATEST_TURN, rng.random()))


def _failure(error: BaseException) -> BaseException | None:
    """What ended a process; None for an exit with 0."""
    return None if isinstance(error, SystemExit) and not error.code else error


class HostFailed(AssertionError):
    """A host's function raised what nobody caught; its cause is that error."""


class Process:
    """What hosts of every kind have: a name, a present life with a loop, and moments at which something befalls it."""

    def __init__(self, simulator: Simulator, network: Network, name: str, skew_s: float = 0.0) -> None:
        self.name = name
        self.simulator = simulator
        self.network = network
        network.names.add(name)
        self.present: Host | None = None
        self._loop: HostLoop | None = None
        #: Tasks of lives that were ended in the middle; whoever refers to them would otherwise run their ``finally``.
        self.buried: list[WorldTask] = []
        #: How often something befell it that was drawn.
        self.plans = 0
        #: What will befall it by the clock.
        self.pending = 0
        self._skew_s = skew_s
        self._waiting: list[tuple[int, Callable[[], None]]] = []
        #: Turns of all its lives.
        self.turns = 0

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self.present is not None

    def begin_life(self, loop: Callable[[Host, Network], HostLoop] = HostLoop) -> Host:
        """A new process on the machine."""
        host = self.present = Host(self.simulator, self.name, self._skew_s)
        host.loop = self._loop = loop(host, self.network)
        host.before_turn = self._look
        self.network.machine_up(self.name)
        self.simulator.note(self.name, "start", f"{self.name} starts")
        return host

    def end_life(self, *, silently: bool = False) -> None:
        """End the present life where it stands."""
        host, self.present = self.present, None
        if host is None:
            return
        host.die()
        assert self._loop is not None
        self.buried += self._loop.unfinished()
        self.network.host_died(host, silently=silently)

    def plan(self, what: str, at: Moment, action: Callable[[], None]) -> None:
        """Do something at a moment."""
        if at is None:
            action()
            return
        if isinstance(at, AnyTime):
            self.plans += 1
            tape = self.simulator.tape
            draw = partial(any_turn, tape.extents.get(self.name, 0))
            turn = tape.pick(f"{self.name}: {what} {self.plans} {MOMENT}", draw)
            if turn:
                self._waiting.append((self.turns + turn, action))
            return
        if not isinstance(at, int | float):
            raise TypeError(f"at is a moment: seconds since the world began, or world.any_time(), and not {at!r}")
        self.pending += 1
        self.simulator.at(max(at, self.simulator.now), self._happen, action)

    def _happen(self, action: Callable[[], None]) -> None:
        self.pending -= 1
        action()

    def _look(self) -> None:
        """Let happen what was planned for this turn."""
        self.turns += 1
        for each in [each for each in self._waiting if each[0] <= self.turns]:
            self._waiting.remove(each)
            each[1]()

    def forget_plans(self) -> None:
        """Nothing befalls it any more but what will by the clock."""
        self._waiting.clear()


class WorldHost(Process):
    """A program of the user's, ``function`` called with ``arguments``, as a process of its own. It runs from the beginning."""

    def __init__(
        self,
        simulator: Simulator,
        network: Network,
        name: str,
        function: Callable[..., Coroutine[Any, Any, Any]],
        arguments: tuple[Any, ...],
        skew_s: float,
    ) -> None:
        super().__init__(simulator, network, name, skew_s)
        self._function = function
        self._arguments = arguments
        #: What the function returned, or raised, in its last life.
        self.result: Any = None
        self.error: BaseException | None = None
        self._main: asyncio.Task[Any] | None = None
        #: After how many seconds it is started again when it has ended as it was asked to.
        self._again: float | None = None
        #: How often it was started.
        self.starts = 0

    def __repr__(self) -> str:
        return f"<host {self.name}>"

    # ---- what befalls it -----------------------------------------------------------------------------------------------

    def crash(self, at: Moment = None, *, restart: bool | float = False, machine: bool = False) -> None:
        """Kill the process at a moment, as SIGKILL does: no ``finally`` runs. ``restart`` starts it again, after a second or as many
        seconds as it says. With ``machine`` the machine is gone, too: its peers are not told that its connections ended.
        """

        def crash() -> None:
            if self.present is None:
                return
            self.simulator.note(self.name, "crash", f"{self.name} crashes" + (" with its machine" if machine else ""))
            self.end_life(silently=machine)
            if restart is not False:
                self.start(after=RESTART_S if restart is True else restart)

        self.plan("crash", at, crash)

    def pause(self, at: Moment = None, *, seconds: float = 60.0) -> None:
        """Let the process do nothing for so long, as on a frozen virtual machine or in a long collection of garbage."""

        def pause() -> None:
            if self.present is not None:
                self.simulator.note(self.name, "pause", f"{self.name} does nothing for {seconds:g} s")
                self.present.pause(seconds)

        self.plan("pause", at, pause)

    def terminate(self, at: Moment = None, *, restart: bool | float = False) -> None:
        """Ask the process to end, as SIGTERM does: its handler is called, and without one its main task is cancelled."""

        def terminate() -> None:
            host = self.present
            if host is None:
                return
            self.simulator.note(self.name, "terminate", f"{self.name} is asked to end")
            handler = None if self._loop is None else self._loop.signal_handlers.get(signal.SIGTERM)
            again = None if restart is False else RESTART_S if restart is True else float(restart)
            if handler is None and self._main is None:  # it has not got to its function yet
                self.end_life()
                if again is not None:
                    self.start(after=again)
                return
            self._again = again
            host.loop.call_soon(handler or self._cancel)

        self.plan("terminate", at, terminate)

    def _cancel(self) -> None:
        if self._main is not None:
            self._main.cancel()

    # ---- its life ------------------------------------------------------------------------------------------------------

    def start(self, *, after: float = 0.0) -> None:
        """Start the process (again), after so many seconds."""
        self.pending += 1
        self.simulator.after(after, self._begin)

    def _begin(self) -> None:
        self.pending -= 1
        if self.present is not None:
            return
        self.starts += 1
        self.result = self.error = self._main = None
        host = self.begin_life()
        host.on_exit = self._exit
        host.call(asyncio.Handle(self._start_main, (host,), host.loop, None))

    def _start_main(self, host: Host) -> None:
        assert self._loop is not None
        self._main = self._loop.create_task(self._run(host, self._loop), name=self.name)

    async def _run(self, host: Host, loop: HostLoop) -> None:
        """What asyncio.run does: the function, then the end of what it left running."""
        try:
            made: Any = self._function(*self._arguments)
            if not inspect.isawaitable(made):
                raise TypeError(f"world.host runs an async function, and {self.name} is none: write async def")
            self.result = await made
        except asyncio.CancelledError:
            self.result = None
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - it is the end of this process, and told by the test
            self.error = _failure(error)
        rest = [each for each in loop.unfinished() if each is not asyncio.current_task()]
        for each in rest:
            each.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        await loop.shutdown_asyncgens()
        self.simulator.note(self.name, "end", f"{self.name} ends" + (f" with {self.error!r}" if self.error else ""))
        host.loop.call_soon(self._over)

    def _exit(self, ended: SystemExit) -> None:
        """A task or a callback has ended the process."""
        self.error = _failure(ended)
        self.simulator.note(self.name, "end", f"{self.name} ends by {ended!r}")
        self._over()

    def _over(self) -> None:
        self.end_life()
        again, self._again = self._again, None
        if again is not None:
            self.start(after=again)

    def check(self) -> None:
        """Raise HostFailed if it ended by an error."""
        if self.error is not None:
            raise HostFailed(f"host {self.name} ended with {self.error!r}") from self.error
