"""ElectLeaders, partition reassignments, log directories, UpdateFeatures, UnregisterBroker, DescribeQuorum."""

from __future__ import annotations

from compat_tests.oracle.cases import case
from compat_tests.oracle.cases.configs import BROKER, DELETE, SET, change, describe
from compat_tests.oracle.cases.dynamic_configs import until_value
from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from pykbroker.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from pykbroker.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from pykbroker.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from pykbroker.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from pykbroker.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from pykbroker.wire.messages.unregister_broker import UnregisterBrokerRequest
from pykbroker.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

# ---- ElectLeaders


def elect_all(ask: Ask, topic: str, election_type: int = 0) -> None:
    """All partitions of the cluster: what is kept is the code, and what is said of the case's own topic."""
    answer = ask.quietly(ElectLeadersRequest(election_type, None), ask.version)
    ask.keep(answer.error_code)
    ask.keep([result for result in answer.replica_election_results if result.topic == topic])


@case(ApiKey.ELECT_LEADERS)
def needless_elections(ask: Ask) -> None:
    topic = ask.topic(partitions=2)
    ask(ElectLeadersRequest(topic_partitions=[TopicPartitions(topic, [0, 1])]))
    ask(ElectLeadersRequest(topic_partitions=[TopicPartitions(topic, [])]))
    ask(ElectLeadersRequest(topic_partitions=[]))
    elect_all(ask, topic)


@case(ApiKey.ELECT_LEADERS, since=1)
def needless_unclean_elections(ask: Ask) -> None:
    topic = ask.topic()
    ask(ElectLeadersRequest(1, [TopicPartitions(topic, [0])]))
    elect_all(ask, topic, 1)


@case(ApiKey.ELECT_LEADERS, since=1)
def an_unknown_kind_of_election(ask: Ask) -> None:
    topic = ask.topic()
    ask(ElectLeadersRequest(7, [TopicPartitions(topic, [0])]))
    ask(ElectLeadersRequest(7, None))


@case(ApiKey.ELECT_LEADERS)
def elections_of_what_is_not_there(ask: Ask) -> None:
    topic = ask.topic()
    ask(ElectLeadersRequest(topic_partitions=[TopicPartitions(ask.name("none"), [0, 1]), TopicPartitions(topic, [9])]))
    ask(ElectLeadersRequest(topic_partitions=[TopicPartitions(topic, [0, 0]), TopicPartitions("", [-1])]))


# ---- Reassignments


def reassign(
    *topics: tuple[str, list[tuple[int, list[int] | None]]], **options: bool
) -> AlterPartitionReassignmentsRequest:
    return AlterPartitionReassignmentsRequest(
        topics=[
            ReassignableTopic(name, [ReassignablePartition(index, replicas) for index, replicas in partitions])
            for name, partitions in topics
        ],
        **options,
    )


@case(ApiKey.ALTER_PARTITION_REASSIGNMENTS)
def to_where_it_is(ask: Ask) -> None:
    topic = ask.topic(partitions=2)
    ask(reassign((topic, [(0, [1]), (1, [1])])))
    ask(ListPartitionReassignmentsRequest(topics=None), 0)


@case(ApiKey.ALTER_PARTITION_REASSIGNMENTS)
def to_impossible_places(ask: Ask) -> None:
    topic = ask.topic()
    for replicas in ([], [1, 1], [9], [1, 9], [-1]):
        ask(reassign((topic, [(0, replicas)])))


@case(ApiKey.ALTER_PARTITION_REASSIGNMENTS, since=1)
def without_another_replication_factor(ask: Ask) -> None:
    topic = ask.topic()
    ask(reassign((topic, [(0, [1])]), allow_replication_factor_change=False))
    ask(reassign((topic, [(0, [1, 9])]), allow_replication_factor_change=False))


@case(ApiKey.ALTER_PARTITION_REASSIGNMENTS)
def cancelled_where_there_is_none(ask: Ask) -> None:
    topic = ask.topic()
    ask(reassign((topic, [(0, None)])))


@case(ApiKey.ALTER_PARTITION_REASSIGNMENTS)
def of_what_is_not_there(ask: Ask) -> None:
    topic = ask.topic()
    ask(reassign((ask.name("none"), [(0, [1]), (1, None)]), (topic, [(0, [1]), (9, [1]), (-1, None)])))


@case(ApiKey.ALTER_PARTITION_REASSIGNMENTS)
def of_nothing_and_of_the_same_twice(ask: Ask) -> None:
    topic = ask.topic()
    ask(reassign())
    ask(reassign((topic, [])))
    ask(reassign((topic, [(0, [1]), (0, [1])])))
    ask(reassign((topic, [(0, [1])]), (topic, [(0, [9])])))


@case(ApiKey.LIST_PARTITION_REASSIGNMENTS)
def none_is_under_way(ask: Ask) -> None:
    topic = ask.topic()
    ask(ListPartitionReassignmentsRequest(topics=None))
    ask(ListPartitionReassignmentsRequest(topics=[]))
    for name, indexes in ((topic, [0, 9]), (topic, []), (ask.name("none"), [0])):
        ask(ListPartitionReassignmentsRequest(topics=[ListPartitionReassignmentsTopics(name, indexes)]))


# ---- Log directories


@case(ApiKey.ALTER_REPLICA_LOG_DIRS)
def replicas_into_directories(ask: Ask) -> None:
    topic = ask.topic()
    described = ask.quietly(DescribeLogDirsRequest([DescribableLogDirTopic(topic, [0])]), 1)
    here = described.results[0].log_dir
    for path in (here, "/no/such/directory", "relative/path", ""):
        wanted = [AlterReplicaLogDirTopic(topic, [0, 9]), AlterReplicaLogDirTopic(ask.name("none"), [0])]
        ask(AlterReplicaLogDirsRequest([AlterReplicaLogDir(path, wanted)]))
    for length in (213, 214, 249, 250):  # with 214 the copy's directory would have a name of 256 characters
        for path in (here, "/no/such/directory"):
            long = [AlterReplicaLogDirTopic("x" * length, [0, 10])]
            ask(AlterReplicaLogDirsRequest([AlterReplicaLogDir(path, long)]))
    ask(AlterReplicaLogDirsRequest([]))
    ask(AlterReplicaLogDirsRequest([AlterReplicaLogDir(here, [AlterReplicaLogDirTopic(topic, [0, 0])])]))
    ask(
        AlterReplicaLogDirsRequest(
            [AlterReplicaLogDir(path, [AlterReplicaLogDirTopic(topic, [0])]) for path in (here, "/x")]
        )
    )


# ---- UpdateFeatures


@case(ApiKey.UPDATE_FEATURES)
def features_that_are_refused(ask: Ask) -> None:
    for feature, level in (("no.such.feature", 1), ("no.such.feature", 0), ("", 1), ("group.version", 9)):
        ask(UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey(feature, level)]))
    for level in (-1, 0, 1, 6, 7, 29, 31):
        ask(UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("metadata.version", level)]))
    for feature, level in (("group.version", -1), ("group.version", 0)):
        ask(UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey(feature, level)]))


@case(ApiKey.UPDATE_FEATURES, until=0)
def downgrades_that_are_refused(ask: Ask) -> None:
    for level in (-1, 0, 3, 7, 20, 29, 31):
        ask(UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("metadata.version", level, True)]))


@case(ApiKey.UPDATE_FEATURES, since=1)
def kinds_of_updates(ask: Ask) -> None:
    for kind in (0, 2, 3, 4):
        for feature, level in (
            ("metadata.version", 25),
            ("metadata.version", 29),
            ("metadata.version", 31),
            ("group.version", 9),
            ("no.such.feature", 0),
        ):
            update = FeatureUpdateKey(feature, level, upgrade_type=kind)
            ask(UpdateFeaturesRequest(feature_updates=[update], validate_only=True))


@case(ApiKey.UPDATE_FEATURES)
def no_update_at_all(ask: Ask) -> None:
    ask(UpdateFeaturesRequest(feature_updates=[]))


@case(ApiKey.UPDATE_FEATURES)
def updates_to_where_it_is(ask: Ask) -> None:
    ask(UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("metadata.version", 30)]))
    ask(UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("group.version", 1)]))
    ask(UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("kraft.version", 0)]))


@case(ApiKey.UPDATE_FEATURES)
def a_good_update_and_a_bad_one(ask: Ask) -> None:
    updates = [FeatureUpdateKey("group.version", 1), FeatureUpdateKey("no.such.feature", 1)]
    ask(UpdateFeaturesRequest(feature_updates=updates))
    ask(UpdateFeaturesRequest(feature_updates=[*updates, FeatureUpdateKey("metadata.version", 1)]))


@case(ApiKey.UPDATE_FEATURES)
def the_same_feature_twice(ask: Ask) -> None:
    updates = [FeatureUpdateKey("group.version", 1), FeatureUpdateKey("group.version", 0)]
    ask(UpdateFeaturesRequest(feature_updates=updates))


@case(ApiKey.UPDATE_FEATURES, since=1)
def eligible_leaders_down_and_up_again(ask: Ask) -> None:
    feature, setting = "eligible.leader.replicas.version", "min.insync.replicas"
    ask(UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey(feature, 0)]))
    ask(UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey(feature, 0, upgrade_type=2)], validate_only=True))
    ask(UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey(feature, 0, upgrade_type=2)]))
    until_value(ask, BROKER, "1", setting, "1")
    ask(change(BROKER, "", (setting, DELETE, None)), 1)
    ask(change(BROKER, "1", (setting, SET, "2")), 1)
    until_value(ask, BROKER, "1", setting, "2")
    ask(UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey(feature, 1, upgrade_type=1)]))
    # The cluster's value comes at another moment than the broker's goes.
    settled = describe(BROKER, "1", setting, include_synonyms=True)
    ask.until(
        lambda answer: [(each.value, each.config_source) for each in answer.results[0].configs] == [("1", 3)],
        settled,
        4,
    )


@case(ApiKey.UPDATE_FEATURES, since=1)
def down_and_up_again(ask: Ask) -> None:
    ask(
        UpdateFeaturesRequest(
            feature_updates=[FeatureUpdateKey("group.version", 0, upgrade_type=2)], validate_only=True
        )
    )
    ask(UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("group.version", 0, upgrade_type=2)]))
    ask(UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("group.version", 1)]))


# ---- Brokers and the quorum


@case(ApiKey.UNREGISTER_BROKER)
def an_unknown_broker(ask: Ask) -> None:
    ask(UnregisterBrokerRequest(broker_id=77))
    ask(UnregisterBrokerRequest(broker_id=-1))


def quorum(topic: str, *partitions: int) -> DescribeQuorumRequest:
    asked = [DescribeQuorumRequestPartitionData(partition) for partition in partitions]
    return DescribeQuorumRequest([DescribeQuorumRequestTopicData(topic, asked)])


@case(ApiKey.DESCRIBE_QUORUM)
def the_quorum(ask: Ask) -> None:
    """Offsets grow by themselves in Apache Kafka: of them only what they must be to each other is kept."""
    answer = ask.quietly(quorum("__cluster_metadata", 0), ask.version)
    (partition,) = answer.topics[0].partitions
    ask.keep(partition.high_watermark > 0)
    ask.keep(all(replica.log_end_offset > 0 for replica in partition.current_voters + partition.observers))
    ask.keep(partition.leader_epoch > 0)
    partition.high_watermark = partition.leader_epoch = 0
    for replica in partition.current_voters + partition.observers:
        replica.log_end_offset = 0
    for node in answer.nodes:
        for listener in node.listeners:
            listener.port = 0
    ask.keep(answer)


@case(ApiKey.DESCRIBE_QUORUM)
def quorums_that_do_not_exist(ask: Ask) -> None:
    ask(quorum("__cluster_metadata", 1))
    ask(quorum("__cluster_metadata", 0, 1))
    ask(quorum("__cluster_metadata"))
    ask(quorum(ask.topic(), 0))
    ask(quorum(""))
    ask(DescribeQuorumRequest([]))
