"""Every place where pykbroker's answers differ from Apache Kafka 4.4.0's, and why. Nothing else may differ.

A difference names the cases and the path inside their answers, with shell patterns (``[`` and ``]`` stand for themselves), and where it
helps what each side says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from compat_tests.oracle.compare import Divergence

_ANY: Any = object()


@dataclass(frozen=True)
class Difference:
    """``cases`` is ``Api/case`` and ``path`` a path in its answers, both with ``*`` for anything."""

    cases: str
    path: str
    why: str
    kafka: Any = field(default=_ANY)
    ours: Any = field(default=_ANY)

    def explains(self, case: str, found: Divergence) -> bool:
        return (
            _matches(self.cases, case)
            and _matches(self.path, found.path)
            and self.kafka in (_ANY, found.kafka)
            and self.ours in (_ANY, found.ours)
        )


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text) is not None


#: Settings of a broker that say how the two were started, or that have another default here (docs/compatibility.md lists those).
STARTED_OTHERWISE = (
    "advertised.listeners",
    "broker.heartbeat.interval.ms",
    "broker.session.timeout.ms",
    "controller.listener.names",
    "controller.quorum.voters",
    "group.initial.rebalance.delay.ms",
    "group.streams.initial.rebalance.delay.ms",
    "listeners",
    "log.dirs",
    "metadata.log.max.record.bytes.between.snapshots",
    "metric.reporters",
    "node.id",
    "offsets.topic.num.partitions",
    "offsets.topic.replication.factor",
    "process.roles",
    "share.coordinator.state.topic.min.isr",
    "share.coordinator.state.topic.num.partitions",
    "share.coordinator.state.topic.replication.factor",
    "transaction.state.log.min.isr",
    "transaction.state.log.num.partitions",
    "transaction.state.log.replication.factor",
)


_OPAQUE = (
    "Apache Kafka decompresses every batch it is given; here a batch with a right checksum is not opened unless a setting of the "
    "topic asks for it, so one that says gzip and is not is stored as it came."
)

DIFFERENCES: tuple[Difference, ...] = (
    *(
        Difference(
            "ApiVersions/*",
            f"*.api_keys.[{key}]",
            "Client telemetry is listed while there are subscriptions; Apache Kafka lists it while it has a plug-in, as this one does.",
            ours="<missing>",
        )
        for key in (71, 72)
    ),
    Difference("*RaftVoter/*", "[1].error_message", "Each cluster has its own id, which the message repeats."),
    Difference("Produce/headers_that_lie", "[7].responses.*", _OPAQUE),
    Difference("Produce/headers_that_lie", "[12].responses.*", _OPAQUE),
    # ---- settings
    *(
        Difference(
            "DescribeConfigs/every_setting_of_a_broker",
            f"*.configs.[{name}].*",
            "The two brokers were started with different settings, or the default is made for one machine.",
        )
        for name in STARTED_OTHERWISE
    ),
    Difference("DescribeConfigs/with_documentation", "*.configs.[log.dirs].value", "Each has a folder of its own."),
    Difference(
        "DescribeConfigs/what_is_not_there",
        "*.configs.[streams.initial.rebalance.delay.ms].value",
        "The first rebalance waits less here: one machine's members come at once.",
    ),
    Difference(
        "IncrementalAlterConfigs/refused_changes_of_a_topic",
        "[6].responses.*",
        "An operation nobody defined is an INVALID_REQUEST with a sentence; Apache Kafka fails with UNKNOWN_SERVER_ERROR.",
    ),
    Difference(
        "IncrementalAlterConfigs/values_that_a_running_broker_refuses",
        "*.error_message",
        "Listeners are taken from the file at the start; Apache Kafka, too, refuses these, for another reason.",
        ours="This broker takes these configs from its file when it starts and cannot update them dynamically: [listeners]",
    ),
    Difference(
        "*AlterConfigs/refused_settings_of_a_group",
        "*.configs.[streams.initial.rebalance.delay.ms].value",
        "The first rebalance waits less here: one machine's members come at once.",
    ),
    # ---- topics
    Difference(
        "Metadata/neither_name_nor_id",
        "*error_code",
        "A topic without name and id is an INVALID_REQUEST; Apache Kafka fails with UNKNOWN_SERVER_ERROR.",
        kafka=-1,
        ours=42,
    ),
    # ---- groups
    Difference(
        "OffsetFetch/of_a_member",
        "*.error_code",
        "A member of a consumer group without an id is an UNKNOWN_MEMBER_ID; Apache Kafka fails with UNKNOWN_SERVER_ERROR.",
        kafka=-1,
        ours=25,
    ),
    # ---- records
    Difference(
        "Produce/headers_that_lie",
        "[6].responses.*",
        "A codec nobody defined is UNSUPPORTED_COMPRESSION_TYPE; Apache Kafka fails with UNKNOWN_SERVER_ERROR.",
    ),
    Difference(
        "Fetch/limits",
        "*.records.[1]",
        "Apache Kafka fills an answer up to the limit with part of a batch, which clients throw away; here only whole batches are sent.",
        kafka={"incomplete": True},
    ),
    Difference(
        "ShareFetch/sizes_below_one*",
        "*.acquired_records.*",
        "For a batch size below one Apache Kafka names ranges that end before they begin, besides the records; here it is taken for one.",
    ),
    # ---- the cluster
    Difference(
        "DescribeQuorum/the_quorum",
        "*.nodes.[1].listeners.[CONTROLLER]",
        "The controller inside pykbroker has no listener of its own: nobody can reach it but through the broker.",
    ),
)
