"""A broker's share coordinator: keeps the states of share partitions in ``__share_group_state`` for those who lead them (KIP-932).

It has one shard per partition of the topic that the broker leads. Leaders and group coordinators ask it by the
``ShareStatePort``; other brokers would by Initialize-, Read-, Write-, DeleteShareGroupState and ReadShareGroupStateSummary, whose
handlers come here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from pykbroker.coordination.outcome import CoordinatorRecord, Decision, Outcome, Part
from pykbroker.coordination.runtime import CoordinatorRuntime
from pykbroker.coordination.share import records
from pykbroker.coordination.share.settings import ShareCoordinatorSettings
from pykbroker.coordination.share.shard import ShareShard
from pykbroker.coordination.share.state import SharePartitionKey, ShareState
from pykbroker.metadata.names import SHARE_GROUP_STATE
from pykbroker.runtime.slices import independently
from pykbroker.runtime.waits import Deferred, as_wait
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.host import CoordinationHost
    from pykbroker.coordination.shards import Loaded
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.runtime.slices import Steps

T = TypeVar("T")

#: The weight of a record that housekeeping appends, and of looking at a shard (``runtime/slices.py``).
_RECORD_WEIGHT = 2
_SHARD_WEIGHT = 1


class ShareCoordinator:
    """See the module. Requests raise, or fail with, KafkaError NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE, and UNKNOWN_TOPIC_OR_PARTITION for a partition that does not exist, beside what the shard's
    decision of the same name raises.
    """

    def __init__(self, host: CoordinationHost) -> None:
        self._host = host
        self._settings = ShareCoordinatorSettings.from_config(host.config)
        self._runtime = CoordinatorRuntime(
            host,
            SHARE_GROUP_STATE,
            self._settings.partitions,
            codec=records,
            new_shard=lambda: ShareShard(self._settings),
            opened=self._opened,
        )
        self.shards = self._runtime.shards
        #: Calls of WriteShareGroupState.
        self.writes = 0
        self.partition_of = self._runtime.partition_of
        every = host.runtime.slices.every
        self._rounds = (
            every(self._settings.prune_interval_ms, self._prune),
            every(self._settings.cold_snapshot_interval_ms, self._snapshot_cold),
        )

    def close(self) -> None:
        """The broker has stopped."""
        for stop in self._rounds:
            stop()
        self._runtime.close()

    # Requests

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Deferred[None]:
        """InitializeShareGroupState."""
        return self._change(key, lambda shard, now_ms: shard.initialize(key, state_epoch, start_offset, now_ms))

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Deferred[ShareState]:
        """ReadShareGroupState."""
        self._check_exists(key)

        def step(shard: ShareShard) -> Decision[ShareState]:
            state, noted = shard.read(key, leader_epoch, self._host.runtime.clock.now_ms())
            return Decision(state, Outcome(noted))

        return as_wait(self._runtime.ask(str(key), step))

    def summary(self, key: SharePartitionKey) -> Deferred[ShareState]:
        """ReadShareGroupStateSummary."""
        self._check_exists(key)
        return as_wait(self._runtime.ask(str(key), lambda shard: shard.summary(key)))

    def write(self, key: SharePartitionKey, change: ShareState) -> Deferred[None]:
        """WriteShareGroupState: the batches, start offset and count of ``change``, under its epochs."""
        self.writes += 1
        return self._change(key, lambda shard, now_ms: shard.write(key, change, now_ms))

    def delete(self, key: SharePartitionKey) -> Deferred[None]:
        """DeleteShareGroupState."""
        return self._change(key, lambda shard, _: shard.delete(key))

    def _change(
        self, key: SharePartitionKey, decide: Callable[[ShareShard, int], list[CoordinatorRecord]]
    ) -> Deferred[None]:
        self._check_exists(key)

        def step(shard: ShareShard) -> Decision[None]:
            return Decision(None, Outcome(decide(shard, self._host.runtime.clock.now_ms())))

        return as_wait(self._runtime.ask(str(key), step))

    def _check_exists(self, key: SharePartitionKey) -> None:
        """Raises KafkaError UNKNOWN_TOPIC_OR_PARTITION. Numbers below zero are left to the shard, which says more."""
        topic = self._host.metadata.image.topic_by_id(key.topic_id)
        if key.partition >= 0 and (topic is None or key.partition >= len(topic.partitions)):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    # Metadata and housekeeping

    def _opened(self, loaded: Loaded[ShareShard]) -> None:
        self.shards.tell_loaded(loaded.partition, "share partition", len(loaded.shard.states))
        image = self._host.metadata.image
        gone = {key.topic_id for key in loaded.shard.states if image.topic_by_id(key.topic_id) is None}
        if gone:
            self._append(loaded, lambda shard: shard.of_topics(list(gone)))

    def follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """The metadata has changed: the states of deleted topics end."""
        self._runtime.follow(image, delta)
        gone = [topic.id for topic in delta.deleted_topics if topic.name != SHARE_GROUP_STATE]
        for loaded in list(self.shards.loaded.values()) if gone else ():
            self._append(loaded, lambda shard: shard.of_topics(gone))

    def _append(self, loaded: Loaded[ShareShard], found: Callable[[ShareShard], Iterator[CoordinatorRecord]]) -> None:
        self._host.runtime.slices.add(self._runtime.append_parts(loaded, _parts(found(loaded.shard))))

    def _snapshot_cold(self) -> Steps:
        now_ms = self._host.runtime.clock.now_ms()
        return independently(
            self._runtime.append_parts(loaded, _parts(loaded.shard.cold(now_ms)))
            for loaded in list(self.shards.loaded.values())
        )

    def _prune(self) -> Steps:
        """Remove what lies before the oldest snapshot in use, as Kafka does with DeleteRecords."""
        for loaded in list(self.shards.loaded.values()):
            if self.shards.is_in_use(loaded):
                partition = loaded.partition
                before = min(loaded.shard.redundant_before, partition.high_watermark)
                if before > partition.log_start_offset:
                    partition.log.delete_records_before(before)
                    partition.tell_changed()
            yield _SHARD_WEIGHT


def _parts(found: Iterator[CoordinatorRecord]) -> Iterator[Part]:
    return map(_part, found)


def _part(record: CoordinatorRecord) -> Part:
    return Part([record], _RECORD_WEIGHT)
