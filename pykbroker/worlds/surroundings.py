"""Time, chance, threads and sockets of the process while a life runs: out of the seed, or refused.

A program calls ``time.time()`` and ``random.random()`` of the process, so there is no other place to answer it. All is put back
when the life is over.
"""

from __future__ import annotations

import _thread
import contextlib
import datetime as dt
import os
import platform
import queue
import random
import select
import selectors
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import uuid
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
_SIGNAL = "no signal comes in virtual time: world.host(...).terminate asks a host to end, and crash ends it"
_PROCESS = "a process has no place in virtual time: world.host(...) starts a host"
_EXIT = "it would end the test with the host: sys.exit() ends a host"


#: What libraries, and Python's own, carry from one life to the next, and what a new process has there: module, class, name, value.
_CARRIED: Final = (
    ("aiokafka.producer.producer", "AIOKafkaProducer", "_PRODUCER_CLIENT_ID_SEQUENCE", 0),
    ("uuid", None, "_last_timestamp", None),
    ("uuid", None, "_last_timestamp_v6", None),
    ("uuid", None, "_last_timestamp_v7", None),
    ("uuid", None, "_last_counter_v7", 0),
)


class _Present:
    """The life that runs in this process, if one does. Its time and chance are those of its thread: what other threads do, as those of
    brokers beside it, is real.
    """

    def __init__(self) -> None:
        self._simulator: Simulator | None = None
        self._thread = 0
        self.random = random.Random()

    @property
    def simulator(self) -> Simulator | None:
        """That of this thread."""
        return self._simulator if self._simulator is not None and _thread.get_ident() == self._thread else None

    @property
    def is_alive(self) -> bool:
        """Whether one runs, in any thread."""
        return self._simulator is not None

    def begin(self, simulator: Simulator, rng: random.Random) -> None:
        """A life begins, in this thread."""
        self._simulator, self._thread, self.random = simulator, _thread.get_ident(), rng

    def end(self) -> None:
        """It is over."""
        self._simulator = None


_present = _Present()


def _monotonic() -> float:
    present = _present.simulator
    return _REAL["monotonic"]() if present is None else present.monotonic


def _monotonic_ns() -> int:
    present = _present.simulator
    return _REAL["monotonic_ns"]() if present is None else round(present.monotonic * 1e9)


def _clock_gettime(clock: int) -> float:
    present = _present.simulator
    if present is None or clock == time.CLOCK_REALTIME:  # which time-machine has
        return float(_REAL["clock_gettime"](clock))
    return present.monotonic


def _clock_gettime_ns(clock: int) -> int:
    if _present.simulator is None or clock == time.CLOCK_REALTIME:
        return int(_REAL["clock_gettime_ns"](clock))
    return _monotonic_ns()


def _sleep(seconds: float) -> None:
    if _present.simulator is None:
        _REAL["sleep"](seconds)
    else:
        refuse(f"time.sleep({seconds})", "it holds the loop, here and in production: await asyncio.sleep(...)")


def _bytes(name: str) -> Callable[..., bytes]:
    """What gives random bytes."""

    def drawn(size: int, flags: int = 0) -> bytes:
        if _present.simulator is None:
            return bytes(_REAL[name](size, flags) if flags else _REAL[name](size))
        return _present.random.randbytes(size)

    return drawn


def _getpid() -> int:
    present = _present.simulator
    return _REAL["getpid"]() if present is None else 1 if present.current is None else present.current.pid


def _host_name(name: str) -> Callable[..., str]:
    """What says how this machine is called."""

    def called(*of: str) -> str:
        present = _present.simulator
        if present is None:
            return str(_REAL[name](*of))
        return of[0] if of and of[0] else "test" if present.current is None else present.current.name

    return called


#: Functions of the process, and what answers in their place. A module that is first imported in a life keeps the latter.
_ANSWERED: Final[tuple[tuple[Any, str, Any], ...]] = (
    *((time, name, _monotonic) for name in ("monotonic", "perf_counter", "process_time", "thread_time")),
    *((time, f"{name}_ns", _monotonic_ns) for name in ("monotonic", "perf_counter", "process_time", "thread_time")),
    (time, "clock_gettime", _clock_gettime),
    (time, "clock_gettime_ns", _clock_gettime_ns),
    (time, "sleep", _sleep),
    *((owner, name, _bytes(name)) for owner, name in ((os, "urandom"), (os, "getrandom"), (ssl, "RAND_bytes"))),
    (os, "getpid", _getpid),
    *(
        (owner, name, _host_name(name))
        for owner, name in ((socket, "gethostname"), (socket, "getfqdn"), (platform, "node"))
    ),
)
_REAL: Final[dict[str, Any]] = {name: getattr(owner, name) for owner, name, _ in _ANSWERED if hasattr(owner, name)}
#: By the address of the real one: the hash of one that time-machine has changed is another.
_ANSWERS: Final = {id(_REAL[name]): answer for _, name, answer in _ANSWERED if name in _REAL}


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
                if id(value) in _ANSWERS
            ]
        return self._places


_names = _Names()


def _wait(real: Any) -> Callable[..., bool]:
    """What events, queues and results of executors wait by; a look without a wait is none."""

    def wait(self: threading.Condition, timeout: float | None = None) -> bool:
        if _present.simulator is not None and (timeout is None or timeout > 0):
            refuse("a wait for another thread (threading.Event.wait, queue.Queue.get, Future.result)", _WAIT)
        return bool(real(self, timeout))

    return wait


def _look(real: Any, call: str, at: int) -> Callable[..., Any]:
    """What looks at sockets, whose argument ``at`` says how long."""

    def look(*args: Any, timeout: float | None = None) -> Any:
        lasts = args[at] if len(args) > at else timeout
        if _present.simulator is not None and (lasts is None or lasts > 0):
            refuse(call, _SOCKET)
        return real(*args[:at], lasts)

    return look


def _refusing(real: Any, call: str, why: str) -> Callable[..., Any]:
    def refused(*args: Any, **others: Any) -> Any:
        if _present.simulator is not None:
            refuse(call, why)
        return real(*args, **others)

    return refused


#: What is refused: where it stands, its names there, what it is called, and why.
_REFUSED: Final[tuple[tuple[Any, str, str, str], ...]] = (
    (threading.Thread, "start", "threading.Thread.start", _THREAD),
    (_thread, "start_new_thread start_joinable_thread", "_thread.{}", _THREAD),
    (socket.socket, "connect connect_ex bind listen sendto sendmsg", "socket.{}", _SOCKET),
    (select, "poll epoll kqueue devpoll", "select.{}", _SOCKET),
    (socket, "getaddrinfo gethostbyname gethostbyname_ex gethostbyaddr getnameinfo", "socket.{}", _NAME),
    (subprocess.Popen, "__init__", "subprocess.Popen", _PROCESS),
    (sys.modules.get("_posixsubprocess"), "fork_exec", "a process by fork_exec (multiprocessing)", _PROCESS),
    (os, "fork forkpty posix_spawn posix_spawnp execv execve system", "os.{}", _PROCESS),
    (os, "_exit abort", "os.{}", _EXIT),
    (os, "kill killpg", "os.{}", _SIGNAL),
    (signal, "signal alarm setitimer pause sigwait sigwaitinfo sigtimedwait", "signal.{}", _SIGNAL),
    (signal, "set_wakeup_fd raise_signal pthread_kill", "signal.{}", _SIGNAL),
)
_SELECTORS: Final = ("SelectSelector", "PollSelector", "EpollSelector", "DevpollSelector", "KqueueSelector")


@contextlib.contextmanager
def simulated(simulator: Simulator) -> Iterator[None]:
    """Meanwhile the process has the simulator's time and chance, and no threads, processes and sockets. Raises ImportError without
    time-machine, and NotInAWorld in a world.
    """
    if _present.is_alive:
        refuse("a world", "the time of this process is that of one already: add hosts and brokers to it")
    with contextlib.ExitStack() as stack:
        _wall_clock(simulator, stack)
        _chance(simulator, stack)
        _no_threads_and_sockets(stack)
        yield


def _no_threads_and_sockets(stack: contextlib.ExitStack) -> None:
    for owner, names, call, why in _REFUSED:
        for name in names.split():
            if hasattr(owner, name):
                _set(stack, owner, name, _refusing(getattr(owner, name), call.format(name), why))
    _set(stack, threading.Condition, "wait", _wait(threading.Condition.wait))
    _set(stack, select, "select", _look(select.select, "select.select", 3))
    for kind in _SELECTORS:
        if (selector := getattr(selectors, kind, None)) is not None:
            _set(stack, selector, "select", _look(selector.select, f"selectors.{kind}.select", 1))
    _set(stack, queue, "SimpleQueue", queue._PySimpleQueue)  # type: ignore[attr-defined]  # noqa: SLF001 - it waits as a Queue does


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
        seed(self, rng.getrandbits(64) if a is None and _present.simulator is not None else a, version)

    _set(stack, random.Random, "seed", seeded)
    _set(stack, uuid, "_node", simulator.tape.randomness("uuid.getnode").getrandbits(48))
    for module, kind, name, value in _CARRIED:
        if module in sys.modules:
            owner = sys.modules[module] if kind is None else getattr(sys.modules[module], kind)
            if hasattr(owner, name):
                _set(stack, owner, name, value)
    stack.callback(_present.end)
    _present.begin(simulator, rng)
    for held, name, real in _names.places():
        held[name] = _ANSWERS[id(real)]
        stack.callback(held.__setitem__, name, real)


def _set(stack: contextlib.ExitStack, owner: Any, name: str, value: Any) -> None:
    """Have an attribute replaced until the end: one of its owner's, or one that it inherits."""
    if name in vars(owner):
        stack.callback(setattr, owner, name, vars(owner)[name])
    else:
        stack.callback(delattr, owner, name)
    setattr(owner, name, value)
