"""Loads of raw requests: one client that waits for each answer, and crowds of connections with requests in flight."""

from __future__ import annotations

import asyncio
import time
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import uvloop

from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.connection import Connection
from scripts.bench_job.counted_loads import COMMIT, COORDINATED, HEARTBEAT, PRODUCE, Load
from scripts.bench_job.crowding import framed
from scripts.bench_job.readings import Reading, per_second

_PATIENCE_S = 60.0


@dataclass(frozen=True)
class OneAfterAnother:
    """What clients do with a coordinator, by one client; as those whose instructions are counted."""

    times: int
    name: str = "one client of a coordinator"

    def run(self, broker: BrokerProcess, topic: str) -> list[Reading]:
        return [self._one(broker, load) for load in COORDINATED]

    def _one(self, broker: BrokerProcess, load: Load) -> Reading:
        with closing(Connection(broker.bootstrap, patience_s=_PATIENCE_S)) as connection:
            ask = load.prepare(connection)
            for _ in range(max(self.times // 10, 1)):
                ask()
            before, begun = broker.cpu_seconds(), time.perf_counter()
            for _ in range(self.times):
                ask()
            took = time.perf_counter() - begun
        return Reading(load.name, took / self.times, per_second, broker.cpu_seconds() - before)


@dataclass(frozen=True)
class Crowds:
    """Connections that send the same request again and again, and have ``in_flight`` of them without an answer at a time."""

    requests: int
    name: str = "crowds of small requests"

    def run(self, broker: BrokerProcess, topic: str) -> list[Reading]:
        return [
            self._one(broker, load, connections, in_flight)
            for load, connections, in_flight in (
                (PRODUCE, 50, 1),
                (PRODUCE, 1, 20),
                (PRODUCE, 50, 20),
                (COMMIT, 50, 1),
                (HEARTBEAT, 50, 1),
            )
        ]

    def _one(self, broker: BrokerProcess, load: Load, connections: int, in_flight: int) -> Reading:
        with closing(Connection(broker.bootstrap, patience_s=_PATIENCE_S)) as first:
            ask = load.prepare(first)
            assert isinstance(ask, partial)
            _, request, version = ask.args
            ask()
            each = self.requests // connections
            before = broker.cpu_seconds()
            took = uvloop.run(_crowd(broker, framed(request, version), connections, in_flight, each))
            cpu = broker.cpu_seconds() - before
            ask()  # which is answered without an error
        name = f"{load.name}: {connections} connection{'s' if connections > 1 else ''}, {in_flight} in flight"
        return Reading(name, took / (each * connections), per_second, cpu)


async def _crowd(broker: BrokerProcess, frame: bytes, connections: int, in_flight: int, each: int) -> float:
    """Return the seconds until all are answered; all have connected before."""
    loop = asyncio.get_running_loop()
    clients = [_Client(frame, in_flight, each, loop.create_future()) for _ in range(connections)]
    for client in clients:
        await loop.create_connection(lambda client=client: client, broker.host, broker.port)  # type: ignore[misc]
    begun = time.perf_counter()
    for client in clients:
        client.begin()
    await asyncio.wait_for(asyncio.gather(*(client.over for client in clients)), _PATIENCE_S)
    return time.perf_counter() - begun


class _Client(asyncio.Protocol):
    """Sends as many requests as are answered; answers are counted and not decoded."""

    def __init__(self, frame: bytes, in_flight: int, each: int, over: asyncio.Future[None]) -> None:
        self.over = over
        self._frame, self._in_flight = frame, in_flight
        self._unsent, self._unanswered = each, each
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def begin(self) -> None:
        self._send(self._in_flight)

    def data_received(self, data: bytes) -> None:
        self._received += data
        answered = 0
        while (end := 4 + int.from_bytes(self._received[:4], "big")) <= len(self._received) and end > 4:
            del self._received[:end]
            answered += 1
        self._unanswered -= answered
        if not self._unanswered:
            self._transport.close()
            self.over.set_result(None)
        else:
            self._send(answered)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.over.done():
            self.over.set_exception(exc or ConnectionResetError("the broker closed a connection of the bench"))

    def _send(self, count: int) -> None:
        count = min(count, self._unsent)
        self._unsent -= count
        self._transport.write(self._frame * count)  # type: ignore[attr-defined]
