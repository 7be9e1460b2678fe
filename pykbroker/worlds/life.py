"""One life of a world, from its beginning to its end, and what came of it."""

from __future__ import annotations

import contextlib
import gc
import sys
import warnings
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pykbroker.worlds.hosts import HostFailed, Process
from pykbroker.worlds.loop import numbers
from pykbroker.worlds.simulator import Simulator
from pykbroker.worlds.surroundings import simulated
from pykbroker.worlds.tape import Key, Tape
from pykbroker.worlds.world import World

#: The steps after which a life is given up.
MOST_STEPS: Final = 3_000_000

#: A test: an async function of a world.
Test = Callable[[World], Coroutine[Any, Any, Any]]


@dataclass(slots=True)
class LifeOutcome:
    """What came of a life."""

    seed: int
    #: What the test raised.
    error: BaseException | None
    #: The hash of all that happened.
    trace_hash: str
    #: The choices that were not calm.
    taken: dict[Key, int]
    #: Seconds of the world's time.
    seconds: float
    steps: int = 0
    #: How many turns each process took.
    extents: dict[str, int] = field(default_factory=dict)
    #: If it was recorded: seconds, host, kind, words.
    events: list[tuple[float, str, str, str]] = field(default_factory=list)


def live(
    test: Test,
    seed: int,
    deviations: Mapping[Key, int] | None = None,
    *,
    extents: Mapping[str, int] | None = None,
    prepare: Callable[[World], None] | None = None,
) -> LifeOutcome:
    """Live once: as the seed says, or, with ``deviations``, as calmly as these allow. ``extents`` are those of the calm life.
    ``prepare`` is called before the test, and then all that happens is recorded. Raises NotInAWorld for surroundings that
    cannot be simulated.
    """
    with _undisturbed():
        return _live(test, Tape(seed, deviations, extents), prepare)


def _live(test: Test, tape: Tape, prepare: Callable[[World], None] | None) -> LifeOutcome:
    """Live once. Nothing of the world is held when it returns, so that it is garbage by the time that garbage is collected."""
    simulator = Simulator(tape, recording=prepare is not None)
    numbers.begin()
    with simulated(simulator):
        world = World(simulator)
        if prepare is not None:
            prepare(world)
        try:
            error = _lived(world, test)
        except BaseException:  # Ctrl-C
            _end(world)
            raise
        outcome = LifeOutcome(
            tape.seed,
            error,
            simulator.trace_hash,
            dict(tape.taken),
            simulator.now,
            simulator.steps,
            {},
            list(simulator.events),
        )
        outcome.extents = {each.name: each.turns for each in (*world.hosts, *world.brokers)}
        _end(world)
        return outcome


def _lived(world: World, test: Test) -> BaseException | None:
    host = world.test.begin_life()
    simulator = world.simulator
    simulator.enter(host)
    main = host.loop.create_task(test(world), name="test")
    simulator.leave()
    try:
        simulator.run(main.done, MOST_STEPS)
        error = main.exception()
        if error is None:
            for each in world.hosts:
                each.check()
    except Exception as raised:  # noqa: BLE001 - it is what came of it
        error = raised
    if error is not None and not isinstance(error, HostFailed):
        for each in world.hosts:
            if each.error is not None:
                error.add_note(f"world: host {each.name} had ended with {each.error!r}")
    return error


def _end(world: World) -> None:
    """End all that runs, so that nothing of it runs on, or later. What is removed from here on is removed without a word."""
    sys.unraisablehook = lambda _: None
    everybody: list[Process] = [world.test, *world.hosts, *world.brokers]
    for each in everybody:
        each.end_life()
    for each in everybody:
        for task in each.buried:
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001 - it was ended in the middle, on purpose
            coroutine = task.get_coro()
            with contextlib.suppress(BaseException):
                coroutine.close()
        each.buried.clear()


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Meanwhile the collector of garbage does not run, and what is left in the end is removed without a word: what was crashed
    has closed nothing.
    """
    collects = gc.isenabled()
    hook = sys.unraisablehook
    gc.disable()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
        try:
            yield
        finally:
            try:
                gc.collect(0)
            finally:
                sys.unraisablehook = hook
                if collects:
                    gc.enable()
