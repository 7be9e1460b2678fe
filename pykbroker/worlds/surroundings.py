"""Time, chance, threads and sockets of the process while a life runs: out of the seed, or refused.

A program calls ``time.time()`` and ``random.random()`` of the process, so there is no other place to answer it. All is put back
when the life is over.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from pykbroker.extras import install_hint
from pykbroker.worlds.refusals import refuse
from pykbroker.worlds.simulator import BEGINNING_S

if TYPE_CHECKING:
    from pykbroker.worlds.simulator import Simulator

_THREAD = "a thread has no place in virtual time: call the function, or keep what needs threads out of the test"
_SOCKET = "a world's connections are those of asyncio: asyncio.open_connection, loop.create_connection"
_NAME = "the names of a world are those of its hosts: await loop.getaddrinfo(...)"
_WAIT = "no other thread runs that could end the wait: await an asyncio.Event, or an asyncio.Queue"
_SIGNAL = "no signal comes in virtual time: world.host(...).crash ends a host"
_PROCESS = "a process has no place in virtual time: world.host(...) starts a host"


#: Counters of libraries that go on from one life to the next, and what a new process has there: module, class, name, value.
_COUNTERS: Final = (("aiokafka.producer.producer", "AIOKafkaProducer", "_PRODUCER_CLIENT_ID_SEQUENCE", 0),)


class _Present:
    """The life that runs in this process, if one does."""

    def __init__(self) -> None:
        self.simulator: Simulator | None = None
        self.random = random.Random()


_present = _Present()


def _monotonic() -> float:
    present = _present.simulator
    return _REAL["monotonic"]() if present is None else present.monotonic


def _monotonic_ns() -> int:
    return round(_monotonic() * 1e9)


def _sleep(seconds: float) -> None:
    if _present.simulator is None:
        _REAL["sleep"](seconds)
    else:
        refuse(f"time.sleep({seconds})", "it holds the loop, here and in production: await asyncio.sleep(...)")


def _urandom(size: int) -> bytes:
    return _REAL["urandom"](size) if _present.simulator is None else _present.random.randbytes(size)


_REAL: Final[dict[str, Any]] = {"monotonic": time.monotonic, "sleep": time.sleep, "urandom": os.urandom}
#: The functions of the process, and what answers in their place. A module that is first imported in a life keeps the latter.
_ANSWERS: Final[dict[Any, Any]] = {
    time.monotonic: _monotonic,
    time.monotonic_ns: _monotonic_ns,
    time.perf_counter: _monotonic,
    time.perf_counter_ns: _monotonic_ns,
    time.sleep: _sleep,
    os.urandom: _urandom,
}
_BY_ID: Final = {id(real): real for real in _ANSWERS}


class _Names:
    """Where modules hold one of the functions under a name of their own (``from time import monotonic``)."""

    def __init__(self) -> None:
        self._seen = 0
        self._places: list[tuple[dict[str, Any], str, Any]] = []

    def places(self) -> list[tuple[dict[str, Any], str, Any]]:
        """The places in all modules but this one; looked for again when there are other modules."""
        if self._seen != len(sys.modules):
            self._seen = len(sys.modules)
            self._places = [
                (vars(module), name, value)
                for module in list(sys.modules.values())
                if isinstance(getattr(module, "__dict__", None), dict) and vars(module) is not globals()
                for name, value in list(vars(module).items())
                if id(value) in _BY_ID
            ]
        return self._places


_names = _Names()


_WAITS: Final[dict[str, Any]] = {"Condition.wait": threading.Condition.wait, "select.select": select.select}


def _wait(self: threading.Condition, timeout: float | None = None) -> bool:
    """What events, queues and results of executors wait by; a look without a wait is none."""
    if timeout is None or timeout > 0:
        refuse("a wait for another thread (threading.Event.wait, queue.Queue.get, Future.result)", _WAIT)
    return bool(_WAITS["Condition.wait"](self, timeout))


def _select(*args: Any) -> Any:
    if len(args) < 4 or args[3] is None or args[3] > 0:
        refuse("select.select", _SOCKET)
    return _WAITS["select.select"](*args)


def _refusing(call: str, why: str) -> Callable[..., Any]:
    def refused(*args: Any, **others: Any) -> Any:
        refuse(call, why)

    return refused


_REFUSED: Final = (
    (threading.Thread, "start", "threading.Thread.start", _THREAD),
    (socket.socket, "connect", "socket.connect", _SOCKET),
    (socket.socket, "connect_ex", "socket.connect_ex", _SOCKET),
    (socket.socket, "bind", "socket.bind", _SOCKET),
    (socket.socket, "sendto", "socket.sendto", _SOCKET),
    (socket, "getaddrinfo", "socket.getaddrinfo", _NAME),
    (socket, "gethostbyname", "socket.gethostbyname", _NAME),
    (subprocess.Popen, "__init__", "subprocess.Popen", _PROCESS),
    (signal, "signal", "signal.signal", _SIGNAL),
    (os, "fork", "os.fork", _PROCESS),
    (os, "system", "os.system", _PROCESS),
)


@contextlib.contextmanager
def simulated(simulator: Simulator) -> Iterator[None]:
    """Meanwhile the process has the simulator's time and chance, and no threads, processes and sockets. Raises ImportError without
    time-machine, and NotInAWorld in a world.
    """
    if _present.simulator is not None:
        refuse("a world", "the time of this process is that of one already: add hosts and brokers to it")
    with contextlib.ExitStack() as stack:
        _wall_clock(simulator, stack)
        _chance(simulator, stack)
        for module, kind, name, value in _COUNTERS:
            if module in sys.modules:
                _set(stack, getattr(sys.modules[module], kind), name, value)
        for owner, name, call, why in _REFUSED:
            if name in vars(owner):
                _set(stack, owner, name, _refusing(call, why))
            else:
                _add(stack, owner, name, _refusing(call, why))
        _set(stack, threading.Condition, "wait", _wait)
        _set(stack, select, "select", _select)
        yield


def _wall_clock(simulator: Simulator, stack: contextlib.ExitStack) -> None:
    try:
        import time_machine
    except ImportError as error:
        raise ImportError(f"worlds need time-machine: {install_hint('worlds')}") from error
    beginning = dt.datetime.fromtimestamp(BEGINNING_S, dt.UTC)
    traveller = stack.enter_context(time_machine.travel(beginning, tick=False))
    told = float(BEGINNING_S)

    def moved(now: float) -> None:
        nonlocal told
        if now != told:
            traveller.shift(now - told)
            told = now

    simulator.clock_moved = moved


def _chance(simulator: Simulator, stack: contextlib.ExitStack) -> None:
    rng = simulator.tape.randomness("os.urandom")
    stack.callback(random.setstate, random.getstate())
    random.seed(f"{simulator.tape.seed}/random")
    seed = random.Random.seed

    def seeded(self: random.Random, a: Any = None, version: int = 2) -> None:
        seed(self, rng.getrandbits(64) if a is None else a, version)

    _set(stack, random.Random, "seed", seeded)
    stack.callback(setattr, _present, "simulator", None)
    _present.simulator, _present.random = simulator, rng
    for held, name, real in _names.places():
        held[name] = _ANSWERS[real]
        stack.callback(held.__setitem__, name, real)


def _set(stack: contextlib.ExitStack, owner: Any, name: str, value: Any) -> None:
    stack.callback(setattr, owner, name, vars(owner)[name])
    setattr(owner, name, value)


def _add(stack: contextlib.ExitStack, owner: Any, name: str, value: Any) -> None:
    stack.callback(delattr, owner, name)
    setattr(owner, name, value)
