"""Metrics of partitions: leaders, replicas, offsets and sizes of their logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pykbroker.http.metrics.metric import gauge
from pykbroker.http.metrics.page import labels
from pykbroker.metadata.image import NO_LEADER

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.http.metrics.page import Page, Steps
    from pykbroker.partitions.partition import Partition
    from pykbroker.storage.log.log import Log

_OF = ("topic", "partition")

TOPIC_PARTITIONS = gauge("kafka_topic_partitions", "Partitions of a topic.", "topic", moves="Somebody added some.")
CURRENT_OFFSET = gauge(
    "kafka_topic_partition_current_offset",
    "The high watermark: the offset after the last record that readers may see.",
    *_OF,
    moves="Its rate is records per second. It stands still while producers write: see failedproducerequests.",
)
OLDEST_OFFSET = gauge(
    "kafka_topic_partition_oldest_offset",
    "The log start offset.",
    *_OF,
    moves="Retention, compaction or DeleteRecords. A group whose committed offset is below it has lost records.",
)
LEADER = gauge(
    "kafka_topic_partition_leader",
    "The broker that leads; -1 for none.",
    *_OF,
    moves="A broker was stopped, or leadership went back. -1: every replica is on a broker that is stopped.",
)
PREFERRED = gauge(
    "kafka_topic_partition_leader_is_preferred",
    "1 if the preferred replica leads.",
    *_OF,
    moves="0 after a broker was stopped, until the next election (auto.leader.rebalance.enable).",
)
REPLICAS = gauge(
    "kafka_topic_partition_replicas",
    "Replicas.",
    *_OF,
    moves="A reassignment: kafka-reassign-partitions --list shows those under way.",
)
IN_SYNC = gauge(
    "kafka_topic_partition_in_sync_replica",
    "Replicas that are in sync: those on brokers that run.",
    *_OF,
    moves="A broker was stopped: pykbroker brokers list.",
)
UNDER_REPLICATED = gauge(
    "kafka_topic_partition_under_replicated_partition",
    "1 if not all replicas are in sync.",
    *_OF,
    moves="As kafka_topic_partition_in_sync_replica.",
)
LOG_SIZE = gauge(
    "kafka_log_log_size",
    "Bytes of a partition's segments.",
    *_OF,
    moves="Grows until retention.bytes or retention.ms take the oldest segments, or compaction has its turn.",
)
LOG_START = gauge(
    "kafka_log_log_logstartoffset",
    "The log start offset.",
    *_OF,
    moves="Retention, compaction or DeleteRecords: as kafka_topic_partition_oldest_offset.",
)
LOG_END = gauge(
    "kafka_log_log_logendoffset",
    "The log end offset: that of the next record.",
    *_OF,
    moves="More than kafka_topic_partition_current_offset for long: the disk is slow to sync (flush.messages).",
)
SEGMENTS = gauge(
    "kafka_log_log_numlogsegments",
    "Segments of a partition.",
    *_OF,
    moves="Thousands cost memory and descriptors: raise segment.bytes or segment.ms.",
)
UNDER_MIN = gauge(
    "kafka_cluster_partition_underminisr",
    "1 if fewer replicas are in sync than min.insync.replicas: acks=all is refused.",
    *_OF,
    moves="Start the brokers that are stopped, or lower min.insync.replicas.",
)
AT_MIN = gauge(
    "kafka_cluster_partition_atminisr",
    "1 if just as many replicas are in sync as min.insync.replicas.",
    *_OF,
    moves="With one replica that is so always. Else one more broker that stops refuses acks=all.",
)
REPLICAS_COUNT = gauge(
    "kafka_cluster_partition_replicascount",
    "Replicas.",
    *_OF,
    moves="A reassignment: kafka-reassign-partitions --list shows those under way.",
)
STABLE_LAG = gauge(
    "kafka_cluster_partition_laststableoffsetlag",
    "Offsets between the last stable offset and the high watermark, which read_committed consumers cannot read yet.",
    *_OF,
    moves="A transaction is open: pykbroker transactions list --state ongoing; aborted when its timeout is over.",
)

_OF_LOG: Final = (CURRENT_OFFSET, OLDEST_OFFSET, LOG_SIZE, LOG_START, LOG_END, SEGMENTS, STABLE_LAG)
_OF_METADATA: Final = (
    *(LEADER, PREFERRED, REPLICAS, REPLICAS_COUNT, IN_SYNC, UNDER_REPLICATED),
    *(UNDER_MIN, AT_MIN),
)
#: Partitions per step: a few tens of microseconds.
_IN_A_STEP: Final = 8
_TOPICS_IN_A_STEP: Final = 50


class PartitionCollector:
    """Collects all partitions. Offsets and size are missing for logs that are closed since the start."""

    def __init__(self) -> None:
        #: Labels of the partitions of the last scrape.
        self._labels: dict[Partition, str] = {}

    def collect(self, cluster: Cluster, page: Page) -> Steps:
        for number, topic in enumerate(list(cluster.metadata.image.topics.values())):
            page.add(TOPIC_PARTITIONS, len(topic.partitions), topic.name)
            if not number % _TOPICS_IN_A_STEP:
                yield None
        before, self._labels = self._labels, {}
        of_metadata = [page.lines(metric).append for metric in _OF_METADATA]
        of_log = [page.lines(metric).append for metric in _OF_LOG]
        min_in_sync = MinInSync(cluster)
        for number, each in enumerate(list(cluster.partitions())):
            if each.deleted:
                continue
            here = before.get(each)
            if here is None:
                here = labels(_OF, (each.topic, each.index))
            self._labels[each] = here
            for add, value in zip(of_metadata, _placing(each, min_in_sync(each)), strict=True):
                add(f"{here} {value}")
            log = each.opened_log
            if log is not None or not cluster.is_closed(each):
                for add, value in zip(of_log, _NOTHING if log is None else _measures(log), strict=True):
                    add(f"{here} {value}")
            if not number % _IN_A_STEP:
                yield None


_NOTHING: Final = (0,) * len(_OF_LOG)


def _measures(log: Log) -> tuple[int, ...]:
    """Return the values of a log, in the order of ``_OF_LOG``."""
    high, start, end = log.high_watermark, log.log_start_offset, log.log_end_offset
    return high, start, log.size_bytes, start, end, len(log.segments), high - log.last_stable_offset


def _placing(partition: Partition, wanted: int) -> tuple[int, ...]:
    """Return the values of the metadata, in the order of ``_OF_METADATA``."""
    replicas, in_sync, leader = partition.replicas, len(partition.isr), partition.leader
    led = leader != NO_LEADER
    return (
        *(leader, int(leader == replicas[0]), len(replicas), len(replicas), in_sync, int(in_sync < len(replicas))),
        *(int(not led or in_sync < wanted), int(led and in_sync == wanted)),
    )


class MinInSync:
    """min.insync.replicas of partitions, without opening their logs."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._of_topics: dict[str, int] = {}

    def __call__(self, partition: Partition) -> int:
        """Return the number of replicas that must be in sync; at most the replication factor."""
        found = self._of_topics.get(partition.topic)
        if found is None:
            found = self._of_topics[partition.topic] = self._of_topic(partition.topic)
        return min(found, len(partition.replicas))

    def _of_topic(self, topic: str) -> int:
        name = "min.insync.replicas"
        return int(self._cluster.metadata.image.topic_config(topic).get(name) or self._cluster.config[name])
