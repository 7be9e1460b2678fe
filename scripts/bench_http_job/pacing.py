"""Produces to several brokers at a steady pace, whether or not they have responded to what was sent before.

So a response that is late delays no other measurement: neither the next produce to the same broker, as a client that waits
for it would, nor the other brokers'.
"""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from compat_tests.oracle.connection import Connection

#: Between two produces to the same broker, in seconds.
EVERY_S: Final = 0.001
#: Type bits of a process's CPU clock, as clock_getcpuclockid(3) makes its id.
_SCHEDULED: Final = 2


class Sent(NamedTuple):
    """A produce: milliseconds until its response, and milliseconds of processor time that the broker used meanwhile."""

    took: float
    used: float


class Paced:
    """One broker, by its client and the id of its process."""

    def __init__(self, client: Connection, pid: int) -> None:
        self.client = client
        #: A CPU clock of another process is as fine as the wall clock, and unaffected by other load on the machine.
        self._clock = (~pid << 3) | _SCHEDULED
        self._waiting: deque[tuple[float, float]] = deque()
        self.found: list[Sent] = []

    def used_s(self) -> float:
        """Return the processor time of the broker so far."""
        return time.clock_gettime(self._clock)

    def send(self, frame: bytes) -> None:
        """Send a request. It counts from now on, since a late wake-up of this process is not the broker's."""
        self._waiting.append((time.perf_counter(), self.used_s()))
        self.client.send_raw(frame)

    def receive(self) -> None:
        """Receive the response to the first request that waits for one."""
        self.client.receive_raw()
        begun, used = self._waiting.popleft()
        self.found.append(Sent((time.perf_counter() - begun) * 1e3, (self.used_s() - used) * 1e3))


def produce(brokers: Sequence[Paced], frame: bytes, count: int) -> None:
    """Send a frame so many times to each broker, in turn, and receive the responses into ``found``."""
    for broker in brokers:
        broker.found = []
    now = time.perf_counter
    clients = {broker.client.fileno(): broker for broker in brokers}
    total, sent, received, due = count * len(brokers), 0, 0, now()
    while received < total:
        left_s = None if sent == total else due - now()
        if left_s is not None and left_s <= 0:
            brokers[sent % len(brokers)].send(frame)
            sent += 1
            due += EVERY_S / len(brokers)
        else:
            for client in select.select(clients, [], [], left_s)[0]:
                clients[client].receive()
                received += 1
