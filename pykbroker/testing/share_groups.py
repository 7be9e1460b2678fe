"""Share groups (KIP-932) as plain objects: where a group is in each partition, and who has acquired what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.share import offsets
from pykbroker.coordination.share.state import UNINITIALIZED, SharePartitionKey
from pykbroker.runtime.waits import attempt
from pykbroker.testing.groups import Member, group, of_coordinator
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.coordination.groups.shard import GroupShard


@dataclass(frozen=True, slots=True)
class DeliveredRange:
    """Offsets ``first`` to ``last`` (inclusive) in one state: ``available``, ``acquired`` by ``member``, ``acknowledged``, ``archiving``
    or ``archived``. ``deliveries`` counts the present one.
    """

    first: int
    last: int
    state: str
    deliveries: int
    member: str


@dataclass(frozen=True, slots=True)
class ShareGroupPartition:
    """A partition of a share group. ``start_offset`` and ``lag`` are None until a member has read from it; ``in_flight`` is what was
    acquired since the broker began to serve the partition to the group.
    """

    start_offset: int | None
    lag: int | None
    in_flight: tuple[DeliveredRange, ...] = ()

    @property
    def acquired(self) -> int:
        """How many records members have acquired now."""
        return sum(each.last - each.first + 1 for each in self.in_flight if each.state == "acquired")


@dataclass(frozen=True, slots=True)
class ShareGroupStatus:
    """A share group. ``state`` is Kafka's name: ``Stable``, ``Empty``, or ``Dead`` if the group does not exist."""

    group_id: str
    state: str
    members: tuple[Member, ...] = ()
    #: By topic and partition.
    partitions: Mapping[tuple[str, int], ShareGroupPartition] = field(default_factory=dict)

    @property
    def lag(self) -> int:
        """Records that are neither acknowledged nor given up, of all partitions that were read from."""
        return sum(each.lag or 0 for each in self.partitions.values())


def share_group(cluster: Cluster, group_id: str) -> ShareGroupStatus:
    """A share group by its id; other groups are ``Dead``, as clients of share groups are told."""
    found = group(cluster, group_id)
    if found.type != "share":
        return ShareGroupStatus(group_id, "Dead")

    def initialized(shard: GroupShard) -> dict[bytes, frozenset[int]]:
        return offsets.initialized(shard, group_id)

    known = of_coordinator(cluster, lambda broker: broker.groups.ask(group_id, initialized)) or {}
    keys = [SharePartitionKey(group_id, topic, index) for topic, some in known.items() for index in sorted(some)]
    names = {topic: image.name for topic in known if (image := cluster.metadata.image.topic_by_id(topic)) is not None}
    partitions = {
        (names[key.topic_id], key.partition): _partition(cluster, key, names[key.topic_id])
        for key in keys
        if key.topic_id in names
    }
    return ShareGroupStatus(group_id, found.state, found.members, dict(sorted(partitions.items())))


def _partition(cluster: Cluster, key: SharePartitionKey, topic: str) -> ShareGroupPartition:
    """As its leader has it, else as it was persisted."""
    partition = cluster.partition(topic, key.partition)
    if partition is None:
        return ShareGroupPartition(None, None)
    for broker in cluster.brokers.values():
        found = broker.share_partitions.known(key)
        if found is not None:
            lag = partition.high_watermark - found.start_offset - found.delivery_complete_count
            runs = tuple(
                DeliveredRange(run.first, run.last, run.state.name.lower(), run.count, run.member)
                for run in found.in_flight
            )
            return ShareGroupPartition(found.start_offset, lag, runs)
    broker = next(iter(cluster.brokers.values()))
    kept = attempt(broker.share_states.summary, key)
    if not kept.done or isinstance(kept.error, KafkaError) or kept.value.start_offset == UNINITIALIZED:
        return ShareGroupPartition(None, None)
    start, complete = kept.value.start_offset, max(kept.value.delivery_complete_count, 0)
    return ShareGroupPartition(start, partition.high_watermark - start - complete)
