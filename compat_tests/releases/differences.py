"""Every place where pykbroker taken for a release answers otherwise than Apache Kafka of that release, and why.

What is in the oracle's own list, for today's release, is not said again.
"""

from __future__ import annotations

from compat_tests.oracle.differences import Difference

_RANGES = (
    "Versions that Kafka 4.0 gave up (KIP-896) are not served: their layouts are not in the schemas that wire is generated from, "
    "and Produce 0 to 2 and Fetch 0 to 3 carry the message formats 0 and 1."
)
_WORDS = "What is wrong is said in the words of today; the code is the release's."
_CODES = "A bad value is refused by both, at times with another code; a name given twice is refused here alone."
_LISTS = "Several settings were texts and became lists with 4.0; the values are the same."
_STARTED = "The two brokers were started otherwise, or the setting says what this broker is made of."
_TWICE = "Who names the same twice was not told so, and is now."


def _unlisted(*keys: int) -> tuple[Difference, ...]:
    """APIs that a listener of the release lists and this broker does not serve for it (docs/compatibility.md)."""
    why = "Requests between brokers and of voters are not listed."
    return tuple(Difference("ApiVersions/*", f"*.api_keys.[{key}]", why, ours="<missing>") for key in keys)


_BOTH = (
    Difference("ApiVersions/what_is_served", "*.api_keys.*.min_version", _RANGES, kafka=0),
    Difference("DescribeConfigs/*", "*.config_type", _LISTS),
    Difference(
        "DescribeConfigs/with_documentation",
        "*.documentation",
        "Nobody wrote down what a setting of then is for.",
        ours=None,
    ),
    Difference("ListOffsets/the_same_partition_twice", "*.partitions.[0#1]", _TWICE, ours="<missing>"),
    Difference(
        "OffsetDelete/deleted",
        "[2]*",
        "A group without members was gone with its last offset; now it goes a little later.",
    ),
)

_OF_3_9 = (
    *_unlisted(80, 81),
    *(
        Difference("DescribeConfigs/every_setting_of_a_broker", f"*.[{name}]*", why)
        for name, why in {
            "group.consumer.assignors": "The assignors of a protocol that is switched off had their classes' names.",
            "remote.log.manager.copier.thread.pool.size": "Threads of tiered storage could not be changed at run time.",
            "remote.log.manager.expiration.thread.pool.size": "Threads of tiered storage could not be changed at run time.",
            "remote.log.reader.threads": "Threads of tiered storage could not be changed at run time.",
            "share.coordinator.state.topic.min.isr": _STARTED,
            "share.coordinator.state.topic.num.partitions": _STARTED,
            "share.coordinator.state.topic.replication.factor": _STARTED,
        }.items()
    ),
    Difference(
        "DescribeConfigs/what_is_not_there",
        "*-metrics].configs*",
        "Of a subscription of client metrics only what was set was told; here all are.",
        kafka="<missing>",
    ),
    Difference("*AlterConfigs/*", "*.error_message", _WORDS),
    Difference("UnregisterBroker/an_unknown_broker", "*.error_message", _WORDS),
    Difference("CreateTopics/validated_only", "*.error_message", _WORDS),
    Difference("CreateTopics/refused_numbers", "*.error_message", _WORDS),
    *(
        Difference(case, path, "Which epochs and members may write into a transaction is decided as today.")
        for case, path in (
            ("Produce/batches_of_a_transaction", "[4]*"),
            ("TxnOffsetCommit/offset_commits_are_refused", "*.error_code"),
        )
    ),
    Difference("TxnOffsetCommit/*", "[0].topics.*", "A topic that is named twice was answered once.", ours="<missing>"),
    Difference(
        "TxnOffsetCommit/*", "[0].topics.*", "A topic that is named twice was answered once.", kafka="<missing>"
    ),
    Difference(
        "InitProducerId/while_a_transaction_is_open",
        "[2].*.transaction_start_time_ms",
        "The time of a transaction that was given up stayed.",
    ),
)

_OF_2_8 = (
    *_unlisted(4, 5, 6, 7, 56),
    *(
        Difference("DescribeConfigs/every_setting_of_a_broker", f"*.[{name}]*", _STARTED)
        for name in ("log.initial.task.delay.ms", "node.id", "zookeeper.connect")
    ),
    Difference("*", "*error_message", _WORDS),
    Difference("*AlterConfigs/refused_*", "*.error_code", _CODES),
    Difference("CreateTopics/refused_settings", "[3].*.error_code", _CODES, kafka=42, ours=40),
    *(
        Difference(case, "*", _TWICE)
        for case in (
            "CreateTopics/the_same_name_twice_in_one_request",
            "DeleteTopics/the_same_twice",
            "DeleteTopics/deleted_by_id",
            "IncrementalAlterConfigs/the_same_resource_twice",
        )
    ),
    Difference(
        "Produce/lengths_of_records_that_lie",
        "[18].*.error_code",
        "A length that reaches over all records behind it was an unknown error.",
        kafka=-1,
        ours=87,
    ),
    Difference(
        "ElectLeaders/elections_of_what_is_not_there", "[1].*", "Of a topic beside one without a name nothing was said."
    ),
    Difference(
        "OffsetCommit/by_static_members",
        "[2].*.error_code",
        "An instance id that nobody has was passed over where the member's id was right.",
        kafka=0,
    ),
    Difference(
        "Fetch/*",
        "*.aborted_transactions",
        "A list without elements was sometimes no list; clients read both alike.",
        kafka=None,
    ),
)

_TARGETS = "The target of a group whose last member leaves has its epoch, as since 4.4; then it stayed behind."
_STREAMS = "Members of streams groups are answered by the rules of today: the interval of their offsets, codes, and what has no tasks."
_OF_4_3 = (
    Difference("WriteShareGroupState/the_state_of_a_share_partition", "*.error_message", _WORDS),
    Difference("ShareAcknowledge/what_is_acquired_when_the_group_is_altered", "*.error_message", _WORDS),
    Difference("*Group*/*", "*.assignment_epoch", _TARGETS),
    Difference("StreamsGroupHeartbeat/*", "*.task_offset_interval_ms", _STREAMS, kafka=0),
    Difference("StreamsGroupHeartbeat/heartbeats_refused", "*.error_*", _STREAMS),
    Difference("StreamsGroupHeartbeat/a_member_enters_beats_and_leaves", "[13].written*", _TARGETS),
    Difference("StreamsGroupHeartbeat/standby_tasks", "*tasks.*", "Tasks are assigned as the assignor of today does."),
    Difference(
        "StreamsGroupHeartbeat/standby_tasks", "[10].written*", "Tasks are assigned as the assignor of today does."
    ),
)

DIFFERENCES: dict[str, tuple[Difference, ...]] = {
    "2.8": (*_BOTH, *_OF_2_8),
    "3.9": (*_BOTH, *_OF_3_9),
    "4.3": _OF_4_3,
}
