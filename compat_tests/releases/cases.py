"""Which of the oracle's cases a release is asked, and why not the others. Each is asked at the release's highest version."""

from __future__ import annotations

from collections.abc import Iterator

from compat_tests.oracle.cases import Case, all_cases
from compat_tests.releases.brokers import highest

#: Of these nothing is asked of 2.8 and 3.9.
_LEFT_OUT = {
    "consumer groups, which both releases are without; test_apis.py asks for them": (
        "ConsumerGroupDescribe/", "ConsumerGroupHeartbeat/", "DeleteGroups/consumer_groups_with_offsets",
        "JoinGroup/of_a_consumer_group", "LeaveGroup/of_a_mixed_group", "ListGroups/consumer_groups",
        "OffsetCommit/by_member_epoch", "OffsetCommit/of_an_empty_consumer_group",
        "OffsetCommit/while_partitions_are_given_back", "OffsetDelete/of_topics_that_are_read", "OffsetFetch/of_a_member",
        "TxnOffsetCommit/of_a_consumer_group",
    ),
    "levels of loggers, which need a library that these releases do not bring": (
        "AlterConfigs/replaced_levels_of_loggers", "DescribeConfigs/the_root_logger",
        "IncrementalAlterConfigs/levels_of_loggers", "IncrementalAlterConfigs/several_resources_in_one_request",
    ),
    "subscriptions of client metrics, which 2.8 does not know; of 3.9 the plug-in is not there": (
        "IncrementalAlterConfigs/metrics_subscriptions_and_their_refusals",
        "ApiVersions/what_is_listed_while_there_are_subscriptions", "GetTelemetrySubscriptions/", "PushTelemetry/",
    ),
    "settings of groups again and again; the case of refused ones tells that there are none": (
        "AlterConfigs/replaced_settings_of_a_group", "IncrementalAlterConfigs/settings_of_a_group",
    ),
    "share groups, which came with 4.0": (
        "AlterShareGroupOffsets/", "DeleteShareGroupOffsets/", "DescribeShareGroupOffsets/",
        "FindCoordinator/of_a_share_partition", "ShareAcknowledge/", "ShareFetch/", "ShareGroupDescribe/",
        "ShareGroupHeartbeat/", "WriteShareGroupState/",
    ),
    "a setting of topics that came with 4.4": ("Produce/records_that_are_too_large_decompressed",),
    "eligible leader replicas, which both releases are without": (
        "IncrementalAlterConfigs/in_sync_replicas_while_eligible_leaders_are_kept",
        "UpdateFeatures/eligible_leaders_down_and_up_again",
    ),
    "a dozen settings of a broker, each waited for; one of them is in another case": (
        "IncrementalAlterConfigs/dynamic_settings_of_a_broker",
    ),
    "folders with the topics of all other cases": ("DescribeLogDirs/folders",),
    "versions of other APIs than the release has": ("ApiVersions/apis_that_no_broker_lists",),
    "ten seconds of waiting for a broker that is slow to delete": (
        "Metadata/a_deleted_topic_comes_back_after_the_answer", "OffsetFetch/of_several_groups",
    ),
}  # fmt: skip
_LEFT_OUT_OF = {
    # Quotas, credentials and placement by hand are administered by the rules of today, whatever the release.
    "2.8": (
        "AlterClientQuotas/", "AlterPartitionReassignments/", "AlterUserScramCredentials/",
        "CreateTopics/assigned_by_hand", "CreateTopics/internal_names", "DescribeClientQuotas/",
        "DescribeUserScramCredentials/", "ElectLeaders/an_unknown_kind_of_election",
        "IncrementalAlterConfigs/values_that_a_running_broker_refuses", "Produce/timestamps_out_of_bounds",
    ),
    # Since 4.4 quotas are finite numbers, whatever the release.
    "3.9": ("AlterClientQuotas/keys_and_values",),
    # Three wait long for a broker that is slow to delete or to change, one asks versions that the release has not; dead
    # letters and tags of racks came with 4.4, and of client metrics the plug-in is not there.
    "4.3": (
        "AlterClientQuotas/keys_and_values", "ApiVersions/apis_that_no_broker_lists", "DescribeLogDirs/folders",
        "Metadata/a_deleted_topic_comes_back_after_the_answer", "OffsetFetch/of_several_groups",
        "Produce/records_that_are_too_large_decompressed",
        "ApiVersions/what_is_listed_while_there_are_subscriptions", "PushTelemetry/pushes",
        "IncrementalAlterConfigs/dynamic_settings_of_a_broker", "StreamsGroupHeartbeat/tags_of_racks_are_missing",
        "ShareAcknowledge/letters_without_the_records", "ShareAcknowledge/letters_with_the_records",
        "ShareAcknowledge/no_letters_where_the_topic_is_not_for_them",
        "ShareAcknowledge/no_letters_without_a_topic", "ShareFetch/a_session_that_ends_counts_as_a_delivery",
        "ShareAcknowledge/states_of_what_is_acknowledged_in_parts",
    ),
}  # fmt: skip


def cases(release: str) -> Iterator[tuple[Case, int]]:
    """The cases, each with its version."""
    left_out = _LEFT_OUT_OF[release]
    if release != "4.3":
        left_out = (*(each for names in _LEFT_OUT.values() for each in names), *left_out)
    highest_of = highest(release)
    for case in all_cases():
        served = [version for version in case.versions if version <= highest_of.get(case.api, -1)]
        if served and not case.name.startswith(left_out):
            yield case, served[-1]
