"""Connections against their limits, in a seed's own order: who may come in does, in order, and nobody else; who is gone leaves nothing.

Any seed can be run alone: ``pytest -k 'test_crowd[42]'``.
"""

from __future__ import annotations

import gc
import logging
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping

import pytest

from pykbroker.network import limited, sockets
from pykbroker.network.acceptor import ConnectionAcceptor
from pykbroker.network.connection import Connection
from pykbroker.quotas.connections import UNLIMITED, ConnectionLimits, ListenerLimits
from pykbroker.tests.network.virtual_loop import Wire
from pykbroker.tests.process.many_clients import ADDRESSES, LISTENERS, OVERRIDES, WINDOW_MS, WINDOWS, Crowd
from pykbroker.tests.storage.seeds import seeds

STEPS = 28
#: Nothing takes so long, and so many turns.
LONGEST_MS, MOST_TURNS = 2_000_000, 4_000
PROTECTED = "BROKERS"
#: Of fetches, that outlive who began them.
SESSIONS = 2
#: The coordinator's, of the group.
MORE_TIMERS = 4


class Watched(Crowd):
    """What is seen from outside, beside what the broker counts."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.loop.each_turn = self.look
        #: Accepted and not let in, in their order, and those inside.
        self.at_door: dict[Wire, None] = {}
        self.inside: dict[Wire, None] = {}
        self.on: Counter[str] = Counter()
        self.of: Counter[str] = Counter()
        #: How many were on each listener at the end of the turn before.
        self.were_on: Counter[str] = Counter()
        self.accepted_ms: dict[Wire, int] = {}
        #: Who came from an address that connects too often.
        self.too_fast: set[Wire] = set()
        #: Let in since the last turn.
        self.new: list[Wire] = []
        #: At doors since the last turn at least, and waiting for nothing but room.
        self.waiting: list[Wire] = []
        self.last_in: Counter[str] = Counter()
        self.limits: ConnectionLimits | None = None
        self.checked: ConnectionLimits | None = None
        #: When somebody came in, in milliseconds, by address.
        self.came_in: dict[str, list[int]] = {address: [] for address in ADDRESSES}
        self.connections: weakref.WeakSet[Connection] = weakref.WeakSet()
        self.turns = 0
        #: What the run came by.
        self.seen: Counter[str] = Counter()

    def note(self, wire: Wire, what: str) -> None:
        if what == "accepted":
            self.at_door[wire] = None
            self.accepted_ms[wire] = self.now_ms
        elif what == "entered":
            del self.at_door[wire]
            self.enter(wire)
        elif wire in self.inside:
            del self.inside[wire]
            self.on[wire.listener] -= 1
            self.of[wire.address] -= 1
        elif wire in self.at_door:
            del self.at_door[wire]
            self.sort()
            self.check_refused(wire)

    # ---- each turn ----------------------------------------------------------------------------------------------------

    def look(self, is_quiet: bool) -> None:
        assert not self.loop.errors, self.loop.errors
        if not hasattr(self, "sockets"):
            return
        assert self.now_ms < LONGEST_MS, "somebody waits for ever"
        self.turns += 1
        assert self.turns < MOST_TURNS, f"nobody comes to an end: {self.loop._ready}"
        self.connections.update(self.sockets.connections)
        before, self.limits = self.limits, self.present_limits()
        self.sort()
        if self.new:
            self.check_let_in(self.new, before)
            self.new = []
        self.check_too_fast(before)
        self.check_counts()
        self.waiting = [door._accepted[0].wire for door in self.doors() if door._accepted and not door._wait]
        self.were_on = self.on.copy()
        if is_quiet:
            self.check_quiet()

    def sort(self) -> None:
        """Who was at a door, and is not held there any more, is inside."""
        held = set(self.held())
        for wire in [wire for wire in self.at_door if wire not in held]:
            del self.at_door[wire]
            self.enter(wire)
            self.new.append(wire)
            self.count_rate(wire)

    def enter(self, wire: Wire) -> None:
        self.inside[wire] = None
        self.on[wire.listener] += 1
        self.of[wire.address] += 1

    def count_rate(self, wire: Wire) -> None:
        """Of an address whose rate is limited; those of others are not counted."""
        if self.limits is not None and _of(self.limits.rate_per_address, wire.address) != UNLIMITED:
            self.came_in[wire.address].append(self.now_ms)

    @property
    def now_ms(self) -> int:
        return round(self.loop.time() * 1000)

    def present_limits(self) -> ConnectionLimits | None:
        limiting = self.limiting.connections
        return None if limiting is None else limiting.brokers[1].quotas.limits

    def doors(self) -> list[ConnectionAcceptor]:
        return [] if self.sockets._limited is None else self.sockets._limited._acceptors

    def held(self) -> Iterator[Wire]:
        for door in self.doors():
            if door._accepted is not None:
                yield door._accepted[0].wire
            yield from (each.wire for each in door._refused)

    # ---- who comes in, and who does not ----------------------------------------------------------------------------------

    def check_let_in(self, new: list[Wire], before: ConnectionLimits | None) -> None:
        """There was room for them, by the limits at the beginning of this turn or at its end."""
        for wire in new:
            assert wire.port > self.last_in[wire.listener], "in the order in which they came"
            self.last_in[wire.listener] = wire.port
        if before is not None and self.limits is not None:
            assert any(self.fits(new, limits) for limits in (before, self.limits))
            for wire in new:
                self.check_rate(
                    wire, max(_of(limits.rate_per_address, wire.address) for limits in (before, self.limits))
                )
            self.check_order(new, before)

    def fits(self, new: list[Wire], limits: ConnectionLimits) -> bool:
        listeners = {wire.listener for wire in new}
        is_full = any(self.on[name] > limits.listeners[name].connections for name in listeners)
        if PROTECTED not in listeners:
            is_full = is_full or len(self.inside) > limits.connections
        return not (is_full or any(self.of[wire.address] > _of(limits.per_address, wire.address) for wire in new))

    def check_rate(self, wire: Wire, limit: int) -> None:
        """The rate is that of some time between all windows but one and one more than all."""
        assert self.came_lately(wire.address, WINDOWS - 1) <= limit * (WINDOWS + 1) * WINDOW_MS / 1000

    def came_lately(self, address: str, windows: int) -> int:
        return sum(self.now_ms - ms <= windows * WINDOW_MS for ms in self.came_in[address])

    def check_order(self, new: list[Wire], before: ConnectionLimits) -> None:
        """Of those who wait for room of the broker, and did so for the whole turn, whoever has waited longest is the first."""
        for wire in new:
            if wire.listener == PROTECTED:
                continue
            for other in self.waiting:
                if other in self.at_door and other.listener not in (PROTECTED, wire.listener):
                    rooms = (limits.listeners[other.listener].connections for limits in (before, self.limits))
                    waits_for_broker = max(self.on[other.listener], self.were_on[other.listener]) < min(rooms)
                    assert not waits_for_broker or self.accepted_ms[other] >= self.accepted_ms[wire]

    def check_refused(self, wire: Wire) -> None:
        """It was accepted, and closed at the door."""
        if self.is_changing or self.limits is None:
            return
        if len(self.inside) + len(self.at_door) >= self.most:
            self.seen["no descriptor"] += 1
        elif self.of[wire.address] >= _of(self.limits.per_address, wire.address):
            self.count_rate(wire)  # as Kafka, whose rates count it too
            self.seen["address is full"] += 1
        else:
            assert wire in self.too_fast, "why?"

    def check_too_fast(self, before: ConnectionLimits | None) -> None:
        """Who is to be closed after a while came from an address that connects too often."""
        for wire in (each.wire for door in self.doors() for each in door._refused):
            if wire not in self.too_fast:
                self.too_fast.add(wire)
                assert before is not None
                assert self.limits is not None
                rate = min(_of(limits.rate_per_address, wire.address) for limits in (before, self.limits))
                assert self.came_lately(wire.address, WINDOWS + 2) + 1 > rate * (WINDOWS - 1) * WINDOW_MS / 1000
                self.seen["address is too fast"] += 1

    # ---- what is counted ----------------------------------------------------------------------------------------------

    def check_counts(self) -> None:
        limiting = self.limiting.connections
        if limiting is None or self.is_changing:
            return
        quotas = limiting.brokers[1].quotas
        assert quotas._by_listener == self.on
        assert quotas._by_address == self.of
        assert self.sockets.count == len(self.inside) + len(self.at_door)

    def check_quiet(self) -> None:
        """Nothing is left to be done now."""
        assert not [wire for wire in self.held() if wire.is_ended]
        for door in self.doors():
            if door._accepted is not None and door._wait is None:
                assert not self.has_room(door.listener), "somebody waits, and there is room"
                self.seen["waits for room"] += 1
            if door._accepted is not None and door._wait is not None:
                self.seen["waits for a rate"] += 1
                waited_ms = self.now_ms - self.accepted_ms[door._accepted[0].wire]
                assert waited_ms <= WINDOW_MS + 2, "nobody waits longer for a rate"
            if door._accepted is None and door._wait is None:
                assert not door._listening.backlog, "somebody waits, and nobody looks"
        self.check_excess()
        self.check_wanted()
        self.check_forgotten()

    def has_room(self, listener: str) -> bool:
        assert self.limits is not None
        if self.on[listener] >= self.limits.listeners[listener].connections:
            return False
        return listener == PROTECTED or len(self.inside) < self.limits.connections

    def check_excess(self) -> None:
        """Those who are too many are asked to go, and of brokers nobody."""
        if self.limits is None or self.is_changing:
            return
        others = [each for each in self.sockets.connections if each.listener != PROTECTED]
        too_many = min(len(others), len(self.sockets.connections) - self.limits.connections)
        assert sum(each._transport is None for each in others) >= too_many
        self.seen["has to go"] += too_many > 0

    def check_wanted(self) -> None:
        """What was altered holds."""
        if self.altering or self.is_changing or self.threads or self.limits is None or self.limits is self.checked:
            return
        self.checked = self.limits
        get = self.wanted.get
        keys = ("max.connections", "max.connection.creation.rate")
        broker = [UNLIMITED if get(key) is None else get(key) for key in keys]
        assert [self.limits.connections, self.limits.rate] == broker
        for name in LISTENERS:
            own = [get(f"listener.name.{name.lower()}.{key}") for key in keys]
            expected = (most if each is None else each for each, most in zip(own, broker, strict=True))
            assert self.limits.listeners[name] == ListenerLimits(*expected)
        most = {None: UNLIMITED if get("max.connections.per.ip") is None else get("max.connections.per.ip")}
        for each in filter(None, (get(OVERRIDES) or "").split(",")):
            most[each.partition(":")[0]] = int(each.partition(":")[2])
        assert self.limits.per_address == most
        assert self.limits.rate_per_address == {name: rate for name, rate in self.rates.items() if rate is not None}

    def check_forgotten(self) -> None:
        """Who is gone is no object any more, unless the group counts on him, his refusal is delayed, or a stop looks at him."""
        doors = len(LISTENERS) + len(list(self.held()))
        assert self.loop.pending_timers <= doors + len(LISTENERS) + 3 + self.threads
        if self.is_changing:
            return
        gone = [each for each in self.connections if each not in self.sockets.connections]
        assert not [each for each in gone if each.port not in self.joined and each.listener != "SASL"]

    def check_empty(self) -> None:
        """Everybody has left."""
        assert not self.inside
        assert self.sockets.count == len(self.at_door), "who waits for room where there never is any"
        runtime = self.world.cluster.runtime
        assert not runtime.memory.unsent.held
        assert len(self.world.partition("t").watchers) <= SESSIONS
        # What another life has left is garbage as a whole.
        left = [each for each in self.connections if each.port not in self.joined and each.broker.runtime is runtime]
        assert not left, "what is gone is held by somebody"
        for name in LISTENERS if self.limits is not None else ():
            assert self.limiting.connections.brokers[1].has_room(name) == self.has_room(name)


def live_timers(crowd: Watched) -> int:
    return sum(not timer.cancelled for _, _, timer in crowd.world.cluster.runtime.timers._heap)


async def life(crowd: Watched) -> None:
    await crowd.open()
    before = live_timers(crowd)
    await crowd.work(STEPS)
    await crowd.all_leave()
    crowd.check_empty()
    assert live_timers(crowd) <= before + MORE_TIMERS
    crowd.loop.each_turn, crowd.limits = lambda _: None, None
    crowd.sockets.cut()


@pytest.fixture(autouse=True)
def simulated_sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Garbage is not looked for: what is gone goes by itself."""
    monkeypatch.setattr(limited, "taken_over", lambda server, _: server.hand_over())
    monkeypatch.setattr(sockets, "turn_away_waiting", lambda server, _: server.turn_away())
    monkeypatch.setattr(sockets, "bound_again", lambda _: [])  # no other program takes a port of this network
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("seed", seeds())
def test_crowd(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    crowd = Watched(seed)
    try:
        crowd.loop.run_until_complete(life(crowd))
    finally:
        crowd.loop.each_turn = lambda _: None
        crowd.loop.close()
    assert not caplog.records


def _of(limits: Mapping[str | None, int], address: str) -> int:
    return limits.get(address, limits.get(None, UNLIMITED))
