"""The replicas of brokers that share one store: whoever runs is in sync (``leaders.py``)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from pykbroker.controller.leaders import leader_changes, preferred_leader_changes
from pykbroker.controller.reassignments import Reassignment, plan_reassignments
from pykbroker.controller.registrations import BrokerRegistration, fencing, leaving, registration
from pykbroker.metadata.features import Features
from pykbroker.metadata.image import BrokerImage, MetadataImage
from pykbroker.metadata.replay import MetadataRecord
from pykbroker.wire.internal.unregister_broker_record import UnregisterBrokerRecord

if TYPE_CHECKING:
    from pykbroker.controller.elections import ElectionType, Results
    from pykbroker.wire.errors import KafkaError

#: Preferred leaders that are elected in one change. Kafka's MAX_ELECTIONS_PER_IMBALANCE is 1000.
ELECTIONS_AT_ONCE = 250


class SharedStore:
    """Plans the changes of one image; ``own_stores.OwnStores`` has the same methods for brokers with a store each."""

    def __init__(self, image: MetadataImage, rng: random.Random, features: Features) -> None:
        self._image = image
        self._rng = rng
        self._features = features

    def start_all(
        self, registrations: Sequence[BrokerRegistration], offset: int, *, clean: bool
    ) -> tuple[list[MetadataRecord], dict[int, int]]:
        """The records, of which the first gets ``offset``, that register these brokers and fence all others, and the broker
        epochs by id. Unless ``clean``, what they lead starts a new leader epoch.
        """
        here = {broker.id for broker in registrations}
        records: list[MetadataRecord] = []
        epochs: dict[int, int] = {}
        for broker in registrations:
            epochs[broker.id] = offset + len(records)
            records.append(registration(broker, epochs[broker.id], self._rng, self._features))
        records += (fencing(known) for known in self._image.active_brokers() if known.id not in here)
        records += leader_changes(self._image, here, new_epoch_for=() if clean else here)
        return records, epochs

    def start(self, broker: BrokerRegistration, offset: int) -> tuple[list[MetadataRecord], int]:
        """The records that register one broker, and its broker epoch."""
        registered = registration(broker, offset, self._rng, self._features)
        return [registered, *leader_changes(self._image, self._alive() | {broker.id})], offset

    def begin_shutdown(self, broker: BrokerImage) -> list[MetadataRecord]:
        """The records of a controlled shutdown; none for a broker that is fenced."""
        return self._without(broker, leaving)

    def fence(self, broker: BrokerImage) -> list[MetadataRecord]:
        """The records that fence a broker; none if it is fenced."""
        return self._without(broker, fencing)

    def unregister(self, broker: BrokerImage) -> list[MetadataRecord]:
        """The records that remove a registration."""
        changes = leader_changes(self._image, self._alive() - {broker.id})
        return [*changes, UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch)]

    def elect_preferred(self) -> list[MetadataRecord]:
        """The records that make preferred replicas leaders where they are in sync; ``ELECTIONS_AT_ONCE`` while there are more."""
        partitions = ((topic, each) for topic in self._image.topics.values() for each in topic.partitions.values())
        return list(islice(preferred_leader_changes(self._image, partitions), ELECTIONS_AT_ONCE))

    def elect(
        self, kind: ElectionType, wanted: Sequence[tuple[str, Sequence[int]]] | None
    ) -> tuple[Sequence[MetadataRecord], Results]:
        """The records of elections that were asked for, and their results."""
        from pykbroker.controller.elections import plan_elections

        return plan_elections(self._image, kind, wanted)

    def reassign(
        self, wanted: Sequence[Reassignment], *, same_factor: bool
    ) -> tuple[Sequence[MetadataRecord], list[KafkaError | None]]:
        """The records of reassignments, each of another partition, and the error of each."""
        return plan_reassignments(self._image, wanted, same_factor=same_factor)

    def _without(self, broker: BrokerImage, record: Callable[[BrokerImage], MetadataRecord]) -> list[MetadataRecord]:
        if broker.fenced:
            return []
        return [record(broker), *leader_changes(self._image, self._alive() - {broker.id})]

    def _alive(self) -> set[int]:
        return {broker.id for broker in self._image.brokers.values() if broker.active}
