"""The partitions of a store and the settings of their logs, kept in line with the metadata.

A new partition is here, and its log can be opened, before any client learns of the topic; a deleted one is gone before the
deletion is answered.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pykbroker.brokers.discarding import Discards
from pykbroker.brokers.log_configs import LogConfigs
from pykbroker.config.consistency import ALL_LOG_DIRS
from pykbroker.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pykbroker.brokers.replica_manager import ReplicaManager
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.metadata.delta import MetadataDelta, PartitionChange
    from pykbroker.metadata.image import MetadataImage, PartitionImage, TopicImage
    from pykbroker.metadata.replay import MetadataRecord
    from pykbroker.metadata.source import MetadataSource
    from pykbroker.partitions.dormant_logs import DormantLogs
    from pykbroker.partitions.host import Replication
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.slices import Steps
    from pykbroker.storage.directories.manager import LogManager
    from pykbroker.storage.log.config import LogConfig
    from pykbroker.storage.log.log import Log

#: The weight of applying settings to a topic, and to each of its partitions (``runtime/slices.py``).
_TOPIC_WEIGHT = 2
_PARTITION_WEIGHT = 0.15
#: Partitions to which settings are applied together.
_AT_ONCE = 200
#: That of making a partition.
_NEW_WEIGHT = 0.3
_CORDONED = "cordoned.log.dirs"
#: The numbers of TopicRecord and PartitionRecord, whose classes are imported with the first topic. A VotersRecord has no number.
_TOPIC, _PARTITION = 2, 3


class _Ready:
    """The new partitions of a change, and the changes that are no new partition."""

    def __init__(self) -> None:
        self.by_name: dict[tuple[str, int], Partition] = {}
        self.by_id: dict[tuple[bytes, int], Partition] = {}
        self.others: list[PartitionChange] = []


class PartitionTable:
    """See the module. ``node_id`` is the broker whose replicas are here, None for one copy of all partitions; ``replication`` is that of a
    broker with copies of its own.
    """

    def __init__(
        self,
        config: BrokerConfig,
        logs: LogManager,
        metadata: MetadataSource,
        runtime: Runtime,
        dormant: DormantLogs,
        node_id: int | None = None,
        replication: ReplicaManager | None = None,
    ) -> None:
        self.runtime = runtime
        self.replication: Replication | None = replication
        self.dormant = dormant
        self._replicas = replication
        #: The partitions by topic name, and by topic id, with the index.
        self.by_name: dict[tuple[str, int], Partition] = {}
        self.by_id: dict[tuple[bytes, int], Partition] = {}
        self._config = config
        self._logs = logs
        self._metadata = metadata
        self._log_configs = LogConfigs(config, metadata)
        self._node_id = node_id
        #: What was made for the change that is to be published next.
        self._ready: _Ready | None = None
        self._discards = Discards(logs, runtime.slices)
        self._load(metadata.image)
        self._unsubscribe = metadata.subscribe(self._follow, self._make_ready)

    def end(self) -> None:
        """Follow the metadata no more: the files belong to another table now."""
        self._unsubscribe()

    def finish(self) -> None:
        """Discard the files of deleted partitions that are left."""
        self._discards.finish()

    def make_room(self, records: Sequence[MetadataRecord]) -> Callable[[], None] | None:
        """The work for a thread before new partitions are committed, None if there is none: no file of earlier partitions with
        their names may survive a crash.
        """
        new = [record for record in records if getattr(record, "API_KEY", None) == _PARTITION]
        if self._node_id is not None:
            new = [record for record in new if self._node_id in record.replicas]
        if not new:
            return None
        names = {record.topic_id: record.name for record in records if record.API_KEY == _TOPIC}
        for topic_id in {record.topic_id for record in new} - names.keys():
            names[topic_id] = self._name_of(topic_id)
        keys = [(names[record.topic_id], record.partition_id) for record in new]
        self._discards.make_room_for(keys)
        return self._logs.directories.plan_room(keys)

    def open_log(self, partition: Partition) -> Log:
        """The log of a partition, created if it is new. Raises KafkaError KAFKA_STORAGE_ERROR."""
        self.dormant.partitions.discard(partition)
        self.dormant.new.discard(partition)
        return self._logs.open(
            partition.topic,
            partition.topic_id,
            partition.index,
            self._log_configs.of(partition.topic),
            has_other_replicas=self._replicas is not None and len(partition.replicas) > 1,
        )

    def _load(self, image: MetadataImage) -> None:
        self._apply_broker_settings(image)
        for topic in image.topics.values():
            for state in topic.in_order():
                if self._is_here(state):
                    self._add(self._new(topic, state))

    def _is_here(self, state: PartitionImage) -> bool:
        return self._node_id is None or self._node_id in state.replicas

    def _new(self, topic: TopicImage, state: PartitionImage) -> Partition:
        from pykbroker.partitions.partition import Partition

        return Partition(self, topic.name, topic.id, state)

    def _add(self, partition: Partition) -> None:
        self.by_name[partition.topic, partition.index] = partition
        self.by_id[partition.topic_id, partition.index] = partition

    def _name_of(self, topic_id: bytes) -> str:
        topic = self._metadata.image.topic_by_id(topic_id)
        return "" if topic is None else topic.name

    def _follow(self, image: MetadataImage, delta: MetadataDelta) -> None:
        for topic in delta.deleted_topics:
            config = self._log_configs.of(topic.name)
            for index in range(len(topic.partitions)):
                self._remove(topic.name, topic.id, index, config)
        self._discards.begin()
        ready, self._ready = self._ready, None
        if ready is not None:
            self.by_name.update(ready.by_name)
            self.by_id.update(ready.by_id)
            self.dormant.new.update(ready.by_id.values())
        for change in delta.partitions if ready is None else ready.others:
            partition = self.by_id.get((change.topic.id, change.after.index))
            if partition is not None and not self._is_here(change.after):  # reassigned to others
                self._remove(
                    change.topic.name, change.topic.id, change.after.index, self._log_configs.of(change.topic.name)
                )
            elif partition is not None:
                partition.apply(change.after)
            elif change.topic.id in image.topics_by_id and self._is_here(change.after):
                key = change.topic.name, change.after.index
                self._discards.make_room(key)  # of a replica that was here until shortly before
                self._add(partition := self._new(change.topic, change.after))
                self.dormant.new.add(partition)
                self._logs.directories.place(key)
        self._discards.begin()
        if self._replicas is not None:
            self._replicas.throttles.changed(image, delta)
            self._open_replicated(delta)
        for kind, name in delta.configs:
            if kind == TOPIC_RESOURCE and name in image.topics:
                self.runtime.slices.begin(self._reconfigure(name))
            elif kind == BROKER_RESOURCE:
                self._apply_broker_settings(image)
                self.runtime.slices.begin(self._reconfigure_all())

    def _make_ready(self, changes: Sequence[PartitionChange]) -> Steps:
        """Make the partitions of new topics, which nobody sees yet."""
        ready = _Ready()
        for change in changes:
            topic, index = change.topic, change.after.index
            if change.before is None and (topic.id, index) not in self.by_id and self._is_here(change.after):
                self._discards.make_room((topic.name, index))
                partition = self._new(topic, change.after)
                ready.by_name[topic.name, index] = ready.by_id[topic.id, index] = partition
                self._logs.directories.place((topic.name, index))
            else:
                ready.others.append(change)
            yield _NEW_WEIGHT
        self._ready = ready

    def _open_replicated(self, delta: MetadataDelta) -> None:
        """Open the logs of partitions that have other replicas now: they lead or follow, unasked."""
        closed = [
            partition
            for change in delta.partitions
            if len(change.after.replicas) > 1
            and (partition := self.by_id.get((change.topic.id, change.after.index))) is not None
            and partition.opened_log is None
        ]
        if closed:
            self.dormant.open(closed).or_log("opening logs of new replicas")

    def _apply_broker_settings(self, image: MetadataImage) -> None:
        """Apply dynamic broker settings, which override those of the file (KIP-226)."""
        this_broker = str(self._config.node_id)
        self._config.apply_dynamic(image.config(BROKER_RESOURCE, ""), image.config(BROKER_RESOURCE, this_broker))
        self._cordon(image)

    def _cordon(self, image: MetadataImage) -> None:
        """``cordoned.log.dirs``, of the broker whose own the log directories are, or else of the process."""
        config, names = self._config, self._config[_CORDONED] or ()
        if self._node_id is not None and _CORDONED in config.definitions.broker:
            own = image.config(BROKER_RESOURCE, str(self._node_id)).get(_CORDONED)
            names = names if own is None else config.definitions.broker[_CORDONED].parse(own) or ()
        paths = {Path(name).absolute() for name in names}

        def is_cordoned(path: Path) -> bool:  # of brokers with own stores, each has a folder in each log directory
            is_named = path in paths or (self._node_id is not None and path.parent in paths)
            return is_named or ALL_LOG_DIRS in names

        self._logs.directories.cordon(is_cordoned)

    def _remove(self, topic: str, topic_id: bytes, index: int, config: LogConfig) -> None:
        """Remove the partition; its files are discarded afterwards."""
        partition = self.by_id.pop((topic_id, index), None)
        if partition is None:
            return
        if self.by_name.get((topic, index)) is partition:
            del self.by_name[topic, index]
        partition.mark_deleted()
        if self._replicas is not None:
            self._replicas.drop((topic_id, index))
        self.dormant.partitions.discard(partition)
        self.dormant.new.discard(partition)
        self._discards.add(partition, config)

    def _reconfigure(self, topic: str) -> Steps:
        """Apply changed settings to a topic, as they are when its slices come, or to nothing if it is deleted before."""
        begin = 0
        while (image := self._metadata.image.topic(topic)) is not None and begin < len(image.partitions):
            config = self._log_configs.of(topic)
            end = min(begin + _AT_ONCE, len(image.partitions))
            for index in range(begin, end):
                partition = self.by_name.get((topic, index))
                if partition is not None and partition.opened_log is not None:
                    partition.update_config(config)
            yield _TOPIC_WEIGHT + _PARTITION_WEIGHT * (end - begin)
            begin = end

    def _reconfigure_all(self) -> Steps:
        """Apply changed settings of the broker to all topics, which may be thousands."""
        for name in list(self._metadata.image.topics):
            yield from self._reconfigure(name)
