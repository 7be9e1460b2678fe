"""Ports that are chosen before they are listened on: each process that runs tests has ports of its own."""

from __future__ import annotations

import atexit
import contextlib
import random
import socket
import threading

#: Below the ephemeral ports: one of those could be taken meanwhile by a client that connects.
_FIRST, _LAST = 15_000, 32_000
#: Ports of a process are in blocks. A block is a process's as long as that holds a socket of its name, which needs no file.
_BLOCK = 100
_BLOCKS = (_LAST - _FIRST) // _BLOCK

_lock = threading.Lock()
_left: list[int] = []


def free_ports(count: int) -> list[int]:
    """Return consecutive ports of 127.0.0.1 that are free.

    None is returned twice, and none by two processes: a broker that starts, or starts again, finds its port free. Raises RuntimeError.
    """
    with _lock:
        while True:
            if len(_left) < count:
                _left[:] = _claimed_block()
            found, _left[:count] = _left[:count], []
            with contextlib.ExitStack() as held, contextlib.suppress(OSError):
                for port in found:
                    held.enter_context(socket.socket()).bind(("127.0.0.1", port))
                return found


def _claimed_block() -> range:
    for number in random.sample(range(_BLOCKS), _BLOCKS):
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0pykbroker tests: ports {number}")
        except OSError:
            claim.close()
            continue
        atexit.register(claim.close)
        first = _FIRST + number * _BLOCK
        return range(first, first + _BLOCK)
    raise RuntimeError("all ports are in use")
