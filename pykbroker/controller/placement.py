"""Placement of new partitions: replicas are striped over racks and brokers, from a random start.

The rules are Kafka's (StripedReplicaPlacer, KIP-36 and KIP-631): replicas of a partition lie on different brokers
and, as far as possible, racks; leaders are spread evenly; the first replica is on an unfenced broker; where brokers
or racks differ in number the order is moved on by one for every partition, and shuffled once every broker has
led, so that the same sets do not repeat.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from pykbroker.metadata.image import BrokerImage
from pykbroker.wire.errors import ErrorCode, KafkaError


class _BrokerRing:
    """The brokers of one rack in turn. Each partition (``turn``) starts one further on."""

    def __init__(self, ids: list[int], rng: random.Random) -> None:
        self.ids = sorted(ids)
        self._taken = 0
        self._start = rng.randrange(len(ids)) if ids else 0
        self._turn = 0

    def next(self, turn: int) -> int | None:
        """The next broker for this partition; None if it already uses all of them."""
        count = len(self.ids)
        if not count:
            return None
        if self._turn != turn:
            self._turn = turn
            self._taken = 0
            self._start = (self._start + 1) % count
        if self._taken >= count:
            return None
        self._taken += 1
        return self.ids[(self._start + self._taken - 1) % count]


class _Rack:
    def __init__(self, brokers: list[BrokerImage], rng: random.Random) -> None:
        self.fenced = _BrokerRing([broker.id for broker in brokers if broker.fenced], rng)
        self.unfenced = _BrokerRing([broker.id for broker in brokers if not broker.fenced], rng)

    def next(self, turn: int) -> int | None:
        """The next unfenced broker for this partition, then the next fenced one."""
        found = self.unfenced.next(turn)
        return self.fenced.next(turn) if found is None else found


class _Racks:
    """All racks in turn; each partition starts with the next rack."""

    def __init__(self, brokers: Iterable[BrokerImage], rng: random.Random) -> None:
        self._rng = rng
        by_rack: dict[str, list[BrokerImage]] = {}
        for broker in brokers:
            if broker.takes_replicas:
                by_rack.setdefault(broker.rack or "", []).append(broker)
        self._racks = [_Rack(by_rack[name], rng) for name in sorted(by_rack)]
        self.total = sum(map(len, by_rack.values()))
        self.unfenced = sum(len(rack.unfenced.ids) for rack in self._racks)
        self._turn = 0
        self._first = rng.randrange(len(self._racks)) if self._racks else 0

    def place(self, replication_factor: int) -> list[int]:
        """Brokers for the next partition, the preferred leader first."""
        if self._turn == self.unfenced > 1:
            self._shuffle()
            self._turn = 0
        racks = self._racks
        start = self._first % len(racks)
        leader_rack, leader = self._leader(start)
        replicas = [leader]
        position = start
        skip: int | None = leader_rack  # the leader's rack is skipped once
        while len(replicas) < replication_factor:
            if position == skip:
                skip = None
            else:
                found = racks[position].next(self._turn)
                if found is not None:
                    replicas.append(found)
            position = (position + 1) % len(racks)
        self._turn += 1
        self._first = start + 1
        return replicas

    def _leader(self, start: int) -> tuple[int, int]:
        racks = self._racks
        for step in range(len(racks)):
            position = (start + step) % len(racks)
            found = racks[position].unfenced.next(self._turn)
            if found is not None:
                return position, found
        raise AssertionError("there is an unfenced broker: place_partitions made sure")

    def _shuffle(self) -> None:
        self._rng.shuffle(self._racks)
        for rack in self._racks:
            self._rng.shuffle(rack.fenced.ids)
            self._rng.shuffle(rack.unfenced.ids)


def place_partitions(
    brokers: Iterable[BrokerImage], count: int, replication_factor: int, rng: random.Random
) -> list[list[int]]:
    """The list of ``placements``; raises as it does."""
    return list(placements(brokers, count, replication_factor, rng))


def placements(
    brokers: Iterable[BrokerImage], count: int, replication_factor: int, rng: random.Random
) -> Iterator[list[int]]:
    """Replica lists for ``count`` new partitions, each with its preferred leader first, worked out as they are taken.

    Raises KafkaError INVALID_REPLICATION_FACTOR when there are too few brokers, or none unfenced.
    """
    racks = _Racks(brokers, rng)
    if racks.unfenced == 0:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "All brokers are currently fenced, or have all their log directories cordoned.",
        )
    if replication_factor > racks.total:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The target replication factor of {replication_factor} cannot be reached because only "
            f"{racks.total} broker(s) are registered or some brokers have all their log directories cordoned.",
        )
    return (racks.place(replication_factor) for _ in range(count))
