"""Metrics of share groups: what is in flight, what members say of it, dead letters, and the share coordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.coordinators import SHARES
from pykbroker.http.metrics.metric import counter, gauge
from pykbroker.share_partitions.states import Acknowledge

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.http.metrics.page import Page, Steps

MESSAGES = gauge(
    "kafka_server_sharepartitionmetrics_inflightmessagecount",
    "Offsets of a share partition that were delivered at least once and are not done with.",
    *("group", "topic", "partition"),
    moves="At share.partition.max.record.locks no more are delivered: one record holds up the start, or members are too slow.",
)
BATCHES = gauge(
    "kafka_server_sharepartitionmetrics_inflightbatchcount",
    "The same in runs of offsets that share a state.",
    *("group", "topic", "partition"),
    moves="As inflightmessagecount. Nearly as many: records are acknowledged one by one, in any order.",
)
TIMEOUTS = counter(
    "kafka_server_sharepartitionmetrics_acquisitionlocktimeout_total",
    "Records whose acquisition lock was over before their member said something of them.",
    *("group", "topic", "partition"),
    moves="Grows: members need longer than share.record.lock.duration.ms, or hang. They may renew their locks.",
)
ACKNOWLEDGEMENTS = counter(
    "kafka_server_sharegroupmetrics_recordacknowledgements_total",
    "Acknowledgements that members have sent, by type; one for a batch of records that share it.",
    "ackType",
    moves="Many of release and reject beside accept: members cannot do their work.",
)
LETTERS = counter(
    "kafka_server_sharegroupmetrics_deadletterqueuerecord_total",
    "Dead letters that were written.",
    "group",
    moves="Grows: records were rejected or delivered too often. The letters' headers say which and why.",
)
WRITES = counter(
    "kafka_server_share_coordinator_metrics_write_total",
    "Writes of the state of share partitions.",
    "broker",
    moves="With acknowledgements, and locks that are over.",
)


class ShareCollector:
    """The share partitions that members have read from since their broker began to lead them."""

    def collect(self, cluster: Cluster, page: Page) -> Steps:
        counts: dict[Acknowledge, int] = dict.fromkeys(Acknowledge, 0)
        letters: dict[str, int] = {}
        for node_id, broker in list(cluster.brokers.items()):
            coordinator = broker.coordinators.created.get(SHARES.topic)
            if coordinator is not None:
                page.add(WRITES, coordinator.writes, node_id)
            shared = broker.started_share_partitions
            if shared is None:
                continue
            for kind in Acknowledge:
                counts[kind] += shared.acknowledgements[kind]
            for group, count in list(shared.letters_of.items()):
                letters[group] = letters.get(group, 0) + count
            for group in shared.groups():
                for led in shared.led_of(group):
                    where = (group, led.partition.topic, led.partition.index)
                    if led.share is not None:
                        page.add(MESSAGES, led.share.in_flight_count, *where)
                        page.add(BATCHES, len(led.share.in_flight), *where)
                    page.add(TIMEOUTS, led.locks_over, *where)
                    yield None
        for kind, count in counts.items():
            page.add(ACKNOWLEDGEMENTS, count, kind.name.lower())
        for group, count in letters.items():
            page.add(LETTERS, count, group)
