"""The replicas of brokers that share one store: whoever runs is in sync (``leaders.py``)."""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from pykbroker.controller.leaders import each_leader_change, leader_changes, preferred_leader_change
from pykbroker.controller.registrations import BrokerRegistration, fencing, leaving, registration
from pykbroker.metadata.features import Features
from pykbroker.metadata.image import BrokerImage, MetadataImage
from pykbroker.metadata.replay import MetadataRecord
from pykbroker.runtime.slices import Steps

if TYPE_CHECKING:
    from pykbroker.controller.commits import Records
    from pykbroker.controller.elections import ElectionType, Results
    from pykbroker.controller.reassignments import Reassignment
    from pykbroker.wire.errors import KafkaError

#: Preferred leaders that are elected in one change. Kafka's MAX_ELECTIONS_PER_IMBALANCE is 1000.
ELECTIONS_AT_ONCE = 250
#: The weight of looking at a partition (``runtime/slices.py``).
_PARTITION_WEIGHT = 0.4


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

    def start(
        self, broker: BrokerRegistration, offset: int
    ) -> Generator[float, None, tuple[list[MetadataRecord], int]]:
        """The records that register one broker, and its broker epoch; in slices, as all that looks at every partition."""
        records = [registration(broker, offset, self._rng, self._features)]
        yield from self._changed(records, self._alive() | {broker.id})
        return records, offset

    def begin_shutdown(self, broker: BrokerImage) -> Records:
        """The records of a controlled shutdown; none for a broker that is fenced."""
        if broker.fenced:
            return []
        records: list[MetadataRecord] = [leaving(broker)]
        yield from self._changed(records, self._alive() - {broker.id})
        return records

    def fence(self, broker: BrokerImage) -> Records:
        """The records that fence a broker, which leads nothing then; none if it is fenced."""
        if broker.fenced:
            return []
        records: list[MetadataRecord] = []
        yield from self._changed(records, self._alive() - {broker.id})
        return [*records, fencing(broker)]

    def unregister(self, broker: BrokerImage) -> Records:
        """The records that remove a registration."""
        from pykbroker.wire.internal.unregister_broker_record import UnregisterBrokerRecord

        records: list[MetadataRecord] = []
        yield from self._changed(records, self._alive() - {broker.id})
        return [*records, UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch)]

    def elect_preferred(self) -> Records:
        """The records that make preferred replicas leaders where they are in sync; ``ELECTIONS_AT_ONCE`` while there are more."""
        records: list[MetadataRecord] = []
        for topic in self._image.topics.values():
            for partition in topic.partitions.values():
                if (change := preferred_leader_change(self._image, topic, partition)) is not None:
                    records.append(change)
                    if len(records) == ELECTIONS_AT_ONCE:
                        return records
                yield _PARTITION_WEIGHT
        return records

    def elect(
        self, kind: ElectionType, wanted: Sequence[tuple[str, Sequence[int]]] | None
    ) -> Generator[float, None, tuple[Sequence[MetadataRecord], Results]]:
        """The records of elections that were asked for, and their results."""
        from pykbroker.controller.elections import plan_elections

        return plan_elections(self._image, kind, wanted)

    def reassign(
        self, wanted: Sequence[Reassignment], *, same_factor: bool
    ) -> tuple[Sequence[MetadataRecord], list[KafkaError | None]]:
        """The records of reassignments, each of another partition, and the error of each."""
        from pykbroker.controller.reassignments import plan_reassignments

        return plan_reassignments(self._image, wanted, same_factor=same_factor)

    def _changed(self, records: list[MetadataRecord], alive: set[int]) -> Steps:
        """Add the changes of leaders with the brokers in ``alive``."""
        for change in each_leader_change(self._image, alive):
            if change is not None:
                records.append(change)
            yield _PARTITION_WEIGHT

    def _alive(self) -> set[int]:
        return {broker.id for broker in self._image.brokers.values() if broker.active}
