"""Metrics of groups: states, members, committed offsets, and lag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pykbroker.http.metrics.metric import gauge
from pykbroker.metadata.names import CONSUMER_OFFSETS
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.coordination.groups.offsets import CommittedOffset
    from pykbroker.coordination.groups.shard import GroupShard
    from pykbroker.http.metrics.page import Page, Steps

CURRENT_OFFSET = gauge(
    "kafka_consumergroup_current_offset",
    "The offset that a group has committed.",
    *("consumergroup", "topic", "partition"),
    moves="It stands still while records come: the consumer hangs, or fails on one record. It goes back: a reset.",
)
CURRENT_SUM = gauge(
    "kafka_consumergroup_current_offset_sum",
    "The offsets that a group has committed, over the partitions of a topic.",
    *("consumergroup", "topic"),
    moves="As kafka_consumergroup_current_offset.",
)
LAG = gauge(
    "kafka_consumergroup_lag",
    "Offsets between what a group has committed and the high watermark.",
    *("consumergroup", "topic", "partition"),
    moves="Grows for minutes: consumers are too slow, or away. Of one partition alone: one consumer hangs, or keys are "
    "uneven. pykbroker groups describe GROUP.",
)
LAG_SUM = gauge(
    "kafka_consumergroup_lag_sum",
    "The same over the partitions of a topic.",
    *("consumergroup", "topic"),
    moves="As kafka_consumergroup_lag. The one to be alerted by.",
)
MEMBERS = gauge(
    "kafka_consumergroup_members",
    "Members of a group.",
    "consumergroup",
    moves="0 while lag grows: no consumer is running. Up and down: members that miss heartbeats (max.poll.interval.ms).",
)
STATE = gauge(
    "pykbroker_group_state",
    "1 for the state that a group is in, with its type.",
    *("consumergroup", "type", "state"),
    moves="PreparingRebalance, or Reconciling, for minutes: a member does not come back from its work to poll.",
)
GROUPS = gauge(
    "pykbroker_groups",
    "Groups by type and state.",
    *("type", "state"),
    moves="As pykbroker_group_state. Many that are Empty: names that are made up anew with each start of a consumer.",
)
NUM_GROUPS = gauge(
    "kafka_coordinator_group_groupmetadatamanager_numgroups",
    "Groups of any kind.",
    moves="As pykbroker_groups.",
)
NUM_OFFSETS = gauge(
    "kafka_coordinator_group_groupmetadatamanager_numoffsets",
    "Committed offsets.",
    moves="Grows with groups and partitions; offsets.retention.minutes forgets those of empty groups.",
)
_BY_STATE: Final = {
    state: gauge(
        f"kafka_coordinator_group_groupmetadatamanager_numgroups{state.lower()}",
        f"Classic groups in the state {state}.",
        moves="As pykbroker_group_state.",
    )
    for state in ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead")
}
#: As a list for the catalogue, which finds a module's metrics by name.
NUM_BY_STATE: Final = tuple(_BY_STATE.values())

BY_PROTOCOL = gauge(
    "kafka_server_group_coordinator_metrics_group_count",
    "Groups by protocol: classic, consumer, share, streams.",
    "protocol",
    moves="As pykbroker_groups.",
)
_STATES: Final = {
    "consumer": ("Empty", "Assigning", "Reconciling", "Stable", "Dead"),
    "share": ("Empty", "Stable", "Dead"),
    "streams": ("Empty", "NotReady", "Assigning", "Reconciling", "Stable", "Dead"),
}
_OF_PROTOCOL: Final = {
    protocol: gauge(
        f"kafka_server_group_coordinator_metrics_{protocol}_group_count",
        f"{protocol.capitalize()} groups by state.",
        "state",
        moves="As pykbroker_group_state.",
    )
    for protocol in _STATES
}
NUM_OF_PROTOCOL: Final = tuple(_OF_PROTOCOL.values())

_IN_A_STEP: Final = 8


class GroupCollector:
    """All groups of the partitions of ``__consumer_offsets`` that are loaded; the others are loaded from now on."""

    def collect(self, cluster: Cluster, page: Page) -> Steps:
        counts: Counter[tuple[str, str]] = Counter()
        committed = 0
        for shard in _shards(cluster):
            for group in list(shard.groups.values()):
                name, state = group.group_id, group.state.value
                counts[group.type_name, state] += 1
                page.add(MEMBERS, len(group.members), name)
                page.add(STATE, 1, name, group.type_name, state)
                yield None
            for name in list(shard.committed.offsets.groups()):
                for topic, offsets in list(shard.committed.offsets.of_group(name).items()):
                    committed += len(offsets)
                    yield from _topic(cluster, page, name, topic, offsets)
        _count(page, counts, committed)


def _shards(cluster: Cluster) -> Iterator[GroupShard]:
    if cluster.metadata.image.topic(CONSUMER_OFFSETS) is None:
        return
    for broker in list(cluster.brokers.values()):
        shards = broker.groups.shards
        for index in shards.led_partitions():
            try:
                yield shards.at(index).shard
            except KafkaError:  # still loading: the next scrape has it
                continue


def _topic(cluster: Cluster, page: Page, group: str, topic: str, offsets: dict[int, CommittedOffset]) -> Steps:
    total = behind = 0
    all_known = True
    for number, (index, committed) in enumerate(sorted(offsets.items())):
        offset = committed.offset
        total += offset
        page.add(CURRENT_OFFSET, offset, group, topic, index)
        end = _end(cluster, topic, index)
        if end is None:
            all_known = False
        else:
            lag = max(end - offset, 0)
            behind += lag
            page.add(LAG, lag, group, topic, index)
        if not number % _IN_A_STEP:
            yield None
    page.add(CURRENT_SUM, total, group, topic)
    if all_known:
        page.add(LAG_SUM, behind, group, topic)


def _end(cluster: Cluster, topic: str, index: int) -> int | None:
    """Return the high watermark; None for a deleted partition, or one whose log is closed since the start."""
    partition = cluster.partition(topic, index)
    if partition is None or cluster.is_closed(partition):
        return None
    log = partition.opened_log
    return 0 if log is None else log.high_watermark


def _count(page: Page, counts: Counter[tuple[str, str]], committed: int) -> None:
    for (kind, state), count in sorted(counts.items()):
        page.add(GROUPS, count, kind, state)
    for protocol in ("classic", *_STATES):
        page.add(BY_PROTOCOL, sum(count for (kind, _), count in counts.items() if kind == protocol), protocol)
    for protocol, states in _STATES.items():
        for state in states:
            page.add(_OF_PROTOCOL[protocol], counts[protocol, state], state)
    page.add(NUM_GROUPS, sum(counts.values()))
    page.add(NUM_OFFSETS, committed)
    for state, metric in _BY_STATE.items():
        page.add(metric, counts["classic", state])
