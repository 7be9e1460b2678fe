"""Limits on connections, tried on Apache Kafka 4.4.0 and on pykbroker: who is served, who waits, who is closed, and who late."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.cases.configs import BROKER, DELETE, SET, change, describe
from compat_tests.oracle.cases.quotas import alter
from compat_tests.oracle.connection import Closed, Connection
from pykbroker.tests.kit.ports import free_ports
from pykbroker.wire.messages.api_versions import ApiVersionsRequest

#: PLAINTEXT is the harness's own, and that of brokers among themselves.
LISTENERS: Final = ("PLAINTEXT", "FULL", "SLOW", "OTHER")
SETTINGS: Final = {
    "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in (*LISTENERS, "CONTROLLER")),
    "num.network.threads": "1",  # so that one of its connections is the one that was idle for longest
    "quota.window.num": "2",
    "max.connections.per.ip.overrides": "127.0.0.9:2,localhost:1000",
    "listener.name.full.max.connections": "2",
    "listener.name.slow.max.connection.creation.rate": "1",
}
RATE: Final = "connection_creation_rate"
#: What takes longer was made to wait.
LATE_S: Final = 0.35
#: Who is not answered for so long waits.
WAITS_S: Final = 1.0
LIMIT_S: Final = 60.0


class Place:
    """A broker, and those who connect to it. All is asked for over ``admin``, a connection of the brokers' listener."""

    def __init__(self, ports: dict[str, int]) -> None:
        self.ports = ports
        self.admin = Connection(f"127.0.0.1:{ports['PLAINTEXT']}")
        self._called: list[Caller] = []

    def call(self, listener: str, source: str = "127.0.0.1") -> Caller:
        self._called.append(Caller(self.ports[listener], source))
        return self._called[-1]

    def close(self) -> None:
        """Let everybody go."""
        for each in (*self._called, self.admin):
            each.close()

    def alter(self, name: str, value: str | None) -> None:
        """And wait until it holds."""
        self.admin.ask(change(BROKER, "", (name, DELETE if value is None else SET, value)), 1)
        deadline = time.monotonic() + LIMIT_S
        while self._described(name) != value and value is not None:
            assert time.monotonic() < deadline, f"{name} is not {value}"

    def _described(self, name: str) -> str | None:
        (described,) = self.admin.ask(describe(BROKER, "1", name), 4).results
        return next((each.value for each in described.configs), None)


class Caller:
    """A client that connects and asks one thing."""

    def __init__(self, port: int, source: str) -> None:
        self._began = time.monotonic()
        self._connection = Connection(f"127.0.0.1:{port}", source=source)
        self._requested: int | None = None

    def fares(self) -> str:
        """served, or closed; however long that takes."""
        try:
            self._ask()
            assert self._requested is not None
            self._connection.receive(ApiVersionsRequest.API_KEY, 0, self._requested)
            self._requested = None
        except (Closed, BrokenPipeError):
            return "closed"
        return "served"

    def fares_late(self) -> tuple[str, bool]:
        """And whether it was made to wait for that."""
        return self.fares(), time.monotonic() - self._began > LATE_S

    def waits(self) -> bool:
        """Whether it is neither served nor closed."""
        self._ask()
        return not self._connection.has_news(WAITS_S)

    def _ask(self) -> None:
        if self._requested is None:
            self._requested = self._connection.send(ApiVersionsRequest(), 0)

    def is_closed(self) -> bool:
        """By the broker, without another question."""
        with contextlib.suppress(Closed):
            self._connection.receive_raw()
            return False
        return True

    def close(self) -> None:
        self._connection.close()


def of_an_address(place: Place) -> Iterator[object]:
    first, second = place.call("OTHER", "127.0.0.9"), place.call("PLAINTEXT", "127.0.0.9")
    yield first.fares(), second.fares()
    yield place.call("OTHER", "127.0.0.9").fares()
    yield place.call("OTHER", "127.0.0.10").fares()
    first.close()
    while place.call("OTHER", "127.0.0.9").fares() == "closed":
        pass
    yield place.call("OTHER", "127.0.0.9").fares()


def of_a_listener(place: Place) -> Iterator[object]:
    first, second = place.call("FULL"), place.call("FULL")
    yield first.fares(), second.fares()
    third, fourth = place.call("FULL"), place.call("FULL")
    yield third.waits(), fourth.waits()
    yield place.call("OTHER").fares()
    first.close()
    yield third.fares()
    yield fourth.waits()
    second.close()
    yield fourth.fares()


def of_a_rate(place: Place) -> Iterator[object]:
    first, *others = [place.call("SLOW") for _ in range(3)]
    yield first.fares()
    yield [each.fares_late() for each in others]
    yield place.call("OTHER").fares()


def of_an_address_rate(place: Place) -> Iterator[object]:
    for address, sentinel, own in (("127.0.0.21", "127.0.0.22", True), ("127.0.0.23", "127.0.0.24", False)):
        yield place.call("OTHER", address).fares()
        for limited in (address, sentinel) if own else (None,):
            place.admin.ask(alter(([("ip", limited)], [(RATE, 1.0)])), 1)
        while place.call("OTHER", sentinel).fares() == "served":
            pass
        first, *others = [place.call("OTHER", address) for _ in range(3)]
        yield first.fares()
        yield [each.fares_late() for each in others]
    for limited in ("127.0.0.21", "127.0.0.22", None):
        place.admin.ask(alter(([("ip", limited)], [(RATE, None)])), 1)
    while "closed" in [place.call("OTHER", sentinel).fares() for _ in range(3)]:
        pass


def of_a_broker(place: Place) -> Iterator[object]:
    """Its controller has connections of its own that count, so a limit of a few would leave Apache Kafka speechless."""
    place.alter("max.connections", "6")
    idle, *busy = [place.call("OTHER") for _ in range(5)]
    yield [each.fares() for each in (idle, *busy)]
    waiting = place.call("OTHER")
    yield waiting.waits()
    inner = place.call("PLAINTEXT")
    yield inner.fares()
    yield idle.is_closed()
    yield [each.fares() for each in busy]
    yield waiting.waits()
    inner.close()
    yield waiting.fares()
    place.alter("max.connections", "4")
    yield [each.is_closed() for each in busy[:2]]
    yield [each.fares() for each in (*busy[2:], waiting)]
    place.alter("max.connections", None)
    yield place.call("OTHER").fares()


Scenario = Callable[[Place], Iterator[object]]
#: Those of a group are in each other's way nowhere, and most of them wait. A rate that is the default of addresses, and a
#: limit of the broker, hold for all.
SCENARIOS: Final[tuple[tuple[Scenario, ...], ...]] = (
    (of_an_address, of_a_listener, of_a_rate),
    (of_an_address_rate,),
    (of_a_broker,),
)
Seen = dict[str, list[object]]


class LimitedKafka(ApacheKafka):
    """Apache Kafka with the listeners of ``ports``."""

    ports: dict[str, int]

    def _roles(self, controller: str) -> dict[str, str]:
        listeners = addresses(self.ports)
        return {
            **super()._roles(controller),
            "listeners": f"{listeners},CONTROLLER://{controller}",
            "advertised.listeners": listeners,
        }


def some_ports() -> dict[str, int]:
    return dict(zip(LISTENERS, free_ports(len(LISTENERS)), strict=True))


def addresses(ports: dict[str, int]) -> str:
    return ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())


def played(ports: dict[str, int], scenario: Scenario) -> list[object]:
    with contextlib.closing(Place(ports)) as place:
        return list(scenario(place))


def seen_of(broker: BrokerProcess, ports: dict[str, int]) -> Seen:
    broker.port = ports["PLAINTEXT"]
    broker.start()
    seen: Seen = {}
    try:
        for group in SCENARIOS:
            with ThreadPoolExecutor(len(group)) as pool:
                played_all = pool.map(partial(played, ports), group)
                seen |= zip((each.__name__ for each in group), played_all, strict=True)
        return seen
    finally:
        broker.stop()


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Seen, Seen]:
    folder: Path = tmp_path_factory.mktemp("limited")
    theirs, ours = some_ports(), some_ports()
    kafka = LimitedKafka(folder / "kafka", SETTINGS)
    kafka.ports = theirs
    pykbroker = Pykbroker(folder / "pykbroker", {**SETTINGS, "listeners": addresses(ours)})
    with ThreadPoolExecutor(2) as pool:
        both = pool.map(seen_of, (kafka, pykbroker), (theirs, ours))
        return tuple(both)  # type: ignore[return-value]


@pytest.mark.parametrize("scenario", [each.__name__ for group in SCENARIOS for each in group])
def test_same(seen: tuple[Seen, Seen], scenario: str) -> None:
    kafka, ours = seen
    assert ours[scenario] == kafka[scenario]
