"""Changes of partitions where each broker has a store of its own: brokers come and go, leaders alter their ISR, operators elect
and reassign.

Everything is planned on the image and returned as records; ``partition_changes.py`` has the rules of one partition. Rules and
messages: ReplicationControlManager of Kafka 4.4.0.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Final

from pykbroker.controller.assignments import directory_for_new
from pykbroker.controller.eligible_leaders import MIN_ISR, is_enabled
from pykbroker.controller.internal_topics import Settings
from pykbroker.controller.partition_changes import Circumstances, Election, Target, partition_change
from pykbroker.controller.registrations import losing
from pykbroker.metadata.features import METADATA_VERSION
from pykbroker.metadata.ids import MIGRATING
from pykbroker.metadata.image import BROKER_RESOURCE, NO_LEADER, BrokerImage, MetadataImage, PartitionImage, TopicImage
from pykbroker.metadata.replay import MetadataRecord
from pykbroker.wire.internal.partition_change_record import PartitionChangeRecord

log = logging.getLogger(__name__)

UNCLEAN: Final = "unclean.leader.election.enable"
_FIRST_WITHOUT_EPOCH_PER_SHRINK = 12  # metadata.version 3.6-IV0

#: The weight of a partition of which nothing is wanted, and of one whose change is planned (``runtime/slices.py``).
_LOOKED_AT, _PLANNED = 0.05, 1

Found = tuple[TopicImage, PartitionImage]
#: The records of changes of all partitions, and the steps to them: the image does not change meanwhile.
Changes = Generator[float, None, list[PartitionChangeRecord]]


class ReplicationControl:
    """Plans against one image. ``config`` has the settings of the controller's file, ``node_id`` names its own altered ones."""

    def __init__(self, image: MetadataImage, config: Settings, node_id: int) -> None:
        self.image = image
        self._config = config
        self._node_id = node_id

    # Brokers

    def without(self, broker_id: int) -> Changes:
        """The changes when a broker is fenced, stops cleanly or begins its controlled shutdown: it leaves each ISR, and leads nothing."""
        return self._without(broker_id, self._all(), lambda partition: broker_id in partition.isr)

    def forgotten(self, broker_id: int) -> Changes:
        """The changes when a broker is unregistered: it cannot lead from the ELR either."""
        changes = yield from self.without(broker_id)
        eligible = self._without(broker_id, self._all(), lambda each: broker_id in each.eligible_leader_replicas)
        return [*changes, *(yield from eligible)]

    def lost(self, broker_id: int) -> Changes:
        """The changes when a broker returns and did not stop cleanly: what it had in its caches may be gone, so it is in neither
        ISR nor ELR before it has caught up (KIP-966).
        """
        if not is_enabled(self.image):
            return self.without(broker_id)

        def target(partition: PartitionImage) -> Target | None:
            if broker_id not in partition.isr and broker_id not in partition.eligible_leader_replicas:
                return None
            target = Target.of(partition)
            target.isr = [replica for replica in partition.isr if replica != broker_id]
            target.after_unclean_shutdown = (broker_id,)
            return target

        return self._changed(self._all(), target, lambda each: each != broker_id and self._is_active(each))

    def unfenced(self, broker_id: int) -> Changes:
        """The changes when a broker is unfenced: it may lead what has no leader."""
        return self._changed(
            self._all(),
            lambda partition: Target.of(partition) if partition.leader == NO_LEADER else None,
            lambda replica: replica == broker_id or self._is_active(replica),
        )

    def leads(self, broker_id: int) -> bool:
        """Whether a broker leads any partition."""
        return next(self._found(lambda partition: partition.leader == broker_id), None) is not None

    def offline(
        self, broker: BrokerImage, directories: Iterable[bytes]
    ) -> Generator[float, None, list[MetadataRecord]]:
        """The records when some of these log directories of a broker have failed: their replicas leave each ISR (KIP-858)."""
        failed = set(directories).intersection(broker.log_dirs)
        if not failed:
            return []
        changes = yield from self._without(
            broker.id, self._all(), lambda partition: partition.directory_of(broker.id) in failed
        )
        return [*changes, losing(broker, failed)]

    def without_in(self, broker_id: int, some: Iterable[Found]) -> Changes:
        """The changes of these partitions when a broker's replicas of them fail."""
        return self._without(broker_id, some, lambda _: True)

    # Periodic elections

    def elect_preferred(self, at_most: int) -> Changes:
        """The changes that make preferred replicas leaders where they can be, and find leaders where there is none."""
        return self._elected(at_most, Election.PREFERRED, lambda _, each: each.leader != each.replicas[0])

    def elect_unclean(self, at_most: int) -> Changes:
        """The unclean elections of partitions without a leader whose topics allow them."""

        def is_wanted(topic: TopicImage, partition: PartitionImage) -> bool:
            return partition.leader == NO_LEADER and self.may_elect_unclean(topic.name)

        return self._elected(at_most, Election.UNCLEAN, is_wanted)

    def _elected(
        self, at_most: int, election: Election, is_wanted: Callable[[TopicImage, PartitionImage], bool]
    ) -> Changes:
        records: list[PartitionChangeRecord] = []
        for topic, partition in self._all():
            if not is_wanted(topic, partition):
                yield _LOOKED_AT
                continue
            record = self.change(topic, partition, Target.of(partition), election)
            if record is not None:
                records.append(record)
                if len(records) == at_most:
                    break
            yield _PLANNED
        return records

    # One partition

    def change(
        self,
        topic: TopicImage,
        partition: PartitionImage,
        target: Target,
        election: Election = Election.ONLINE,
        may_lead: Callable[[int], bool] | None = None,
    ) -> PartitionChangeRecord | None:
        """The record of one change; ``may_lead`` takes the place of "the broker is active"."""
        active = may_lead or self._is_active
        around = Circumstances(
            may_lead=lambda replica: active(replica) and self._has_online(replica, partition),
            min_isr=self.min_isr(topic),
            keeps_eligible=is_enabled(self.image),
            directory_for=lambda broker_id: directory_for_new(self.image.brokers.get(broker_id)),
            shrinking_needs_epoch=self.image.features.get(METADATA_VERSION, 0) < _FIRST_WITHOUT_EPOCH_PER_SHRINK,
        )
        return partition_change(partition, topic.id, target, around, election)

    def brought_to(
        self, topic: TopicImage, partition: PartitionImage, after: PartitionImage, *, automatic: bool
    ) -> PartitionChangeRecord | None:
        """The record that brings the lists of a partition to those of ``after``; an ``automatic`` change may elect uncleanly."""
        election = self.automatic_election(topic) if automatic else Election.ONLINE
        return self.change(topic, partition, Target.of(after), election)

    def min_isr(self, topic: TopicImage) -> int:
        """The topic's ``min.insync.replicas``, or the number of its replicas if that is less."""
        return min(int(self._setting(topic.name, MIN_ISR)), len(topic.partitions[0].replicas))

    def may_elect_unclean(self, topic: str) -> bool:
        """Whether an election of a topic's leader may lose records rather than find nobody."""
        return self._setting(topic, UNCLEAN).lower() == "true"

    def automatic_election(self, topic: TopicImage) -> Election:
        """The election that a change of the topic's partitions may need without anybody asking for one."""
        return Election.UNCLEAN if self.may_elect_unclean(topic.name) else Election.ONLINE

    def _without(self, broker_id: int, some: Iterable[Found], wanted: Callable[[PartitionImage], bool]) -> Changes:
        def target(partition: PartitionImage) -> Target | None:
            if not wanted(partition):
                return None
            target = Target.of(partition)
            target.isr = [replica for replica in partition.isr if replica != broker_id]
            return target

        return self._changed(some, target, lambda each: each != broker_id and self._is_active(each))

    def _changed(
        self, some: Iterable[Found], wanted: Callable[[PartitionImage], Target | None], may_lead: Callable[[int], bool]
    ) -> Changes:
        """The changes of the partitions of which something is ``wanted``."""
        records: list[PartitionChangeRecord] = []
        for topic, partition in some:
            target = wanted(partition)
            if target is None:
                yield _LOOKED_AT
                continue
            record = self.change(topic, partition, target, self.automatic_election(topic), may_lead)
            if record is not None:
                records.append(record)
            yield _PLANNED
        return records

    def _all(self) -> Iterator[Found]:
        return self._found(lambda _: True)

    def _found(self, wanted: Callable[[PartitionImage], bool]) -> Iterator[Found]:
        for topic in self.image.topics.values():
            for partition in topic.partitions.values():
                if wanted(partition):
                    yield topic, partition

    def _is_active(self, broker_id: int) -> bool:
        broker = self.image.brokers.get(broker_id)
        return broker is not None and broker.active

    def _has_online(self, broker_id: int, partition: PartitionImage) -> bool:
        broker = self.image.brokers.get(broker_id)
        return broker is not None and broker.has_online(partition.directory_of(broker_id) or MIGRATING)

    def _setting(self, topic: str, name: str) -> str:
        """A topic's setting, else that of the controller's node, of all brokers, or of the file."""
        for settings in (
            self.image.topic_config(topic),
            self.image.config(BROKER_RESOURCE, str(self._node_id)),
            self.image.config(BROKER_RESOURCE, ""),
        ):
            if name in settings:
                return settings[name]
        return str(self._config[name])
