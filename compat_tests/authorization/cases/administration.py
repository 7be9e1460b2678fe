"""Topics, settings, access lists, quotas, credentials, and the cluster itself."""

from __future__ import annotations

from compat_tests.authorization.cases import case
from compat_tests.authorization.signing import SignedAsk
from pykbroker.security.operations import (
    ALTER,
    ALTER_CONFIGS,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
)
from pykbroker.security.resources import CLUSTER, GROUP, TOPIC
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.messages.add_raft_voter import AddRaftVoterRequest, Listener
from pykbroker.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from pykbroker.wire.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
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
from pykbroker.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from pykbroker.wire.messages.create_acls import AclCreation, CreateAclsRequest
from pykbroker.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pykbroker.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from pykbroker.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pykbroker.wire.messages.describe_acls import DescribeAclsRequest
from pykbroker.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from pykbroker.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pykbroker.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from pykbroker.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from pykbroker.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from pykbroker.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from pykbroker.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from pykbroker.wire.messages.incremental_alter_configs import AlterableConfig as Altered
from pykbroker.wire.messages.incremental_alter_configs import AlterConfigsResource as AlteredResource
from pykbroker.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from pykbroker.wire.messages.list_config_resources import ListConfigResourcesRequest
from pykbroker.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from pykbroker.wire.messages.push_telemetry import PushTelemetryRequest
from pykbroker.wire.messages.remove_raft_voter import RemoveRaftVoterRequest
from pykbroker.wire.messages.unregister_broker import UnregisterBrokerRequest
from pykbroker.wire.messages.unregister_controller import UnregisterControllerRequest
from pykbroker.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

_GOOD = (TOPIC, "t", 3, "User:bob", "*", 3, 3)
#: The id of somebody's log directory, or of a client.
_ID = b"somebody's id..."


@case(
    ApiKey.CREATE_TOPICS,
    (TOPIC, "t", CREATE),
    (CLUSTER, None, CREATE),
    (TOPIC, "t", DESCRIBE_CONFIGS),
    (TOPIC, "u", ALTER_CONFIGS),
    versions=(2, 5, 7),
)
def topics_are_created(ask: SignedAsk) -> None:
    names = [ask.name(what) for what in ("t", "u", "twice", "twice")]
    topics = [
        CreatableTopic(name, 1, 1, [], [CreatableTopicConfig("retention.ms", "1000")])
        for name in [*names, "__cluster_metadata", "no/topic"]
    ]
    ask(CreateTopicsRequest(topics, 10_000, True))
    ask(CreateTopicsRequest(topics[:2], 10_000))
    ask(CreateTopicsRequest(topics[:2], 10_000))


@case(
    ApiKey.DELETE_TOPICS,
    (TOPIC, "t", DELETE),
    (TOPIC, "u", DESCRIBE),
    (CLUSTER, None, DELETE),
    (TOPIC, "missing", DELETE),
    versions=(1, 5, 6),
)
def topics_are_deleted(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u"), ask.topic("v"), ask.name("missing"), ask.name("twice"), ask.name("twice")]
    if ask.version < 6:
        ask(DeleteTopicsRequest(topic_names=names, timeout_ms=10_000))
        return
    by_name = [DeleteTopicState(name) for name in names[1:]]
    by_id = [DeleteTopicState(None, ask.topic_ids[name]) for name in names[:2]]
    ask(DeleteTopicsRequest([*by_id, DeleteTopicState(None, bytes(range(16)))], timeout_ms=10_000))
    ask(DeleteTopicsRequest(by_name, timeout_ms=10_000))


@case(ApiKey.CREATE_PARTITIONS, (TOPIC, "t", ALTER), (TOPIC, "u", DESCRIBE))
def partitions_are_created(ask: SignedAsk) -> None:
    names = [ask.topic("t"), ask.topic("u"), ask.name("missing"), ask.name("twice"), ask.name("twice")]
    ask(CreatePartitionsRequest([CreatePartitionsTopic(name, 2, None) for name in names], 10_000, False))


_RESOURCES = (
    *((2, "t"), (2, "u"), (2, "missing"), (4, "1"), (4, ""), (8, "1"), (16, "metrics"), (32, "g"), (32, "h"), (4, "7")),
)


def _name(ask: SignedAsk, kind: int, what: str) -> str:
    return ask.name(what) if kind in (2, 16, 32) else what


@case(
    ApiKey.DESCRIBE_CONFIGS, (TOPIC, "t", DESCRIBE_CONFIGS), (TOPIC, "u", ALTER_CONFIGS), (GROUP, "g", DESCRIBE_CONFIGS),
    (CLUSTER, None, DESCRIBE_CONFIGS),
)  # fmt: skip
def settings_are_described(ask: SignedAsk) -> None:
    for what in ("t", "u"):
        ask.topic(what)
    keys = ["max.message.bytes", "consumer.session.timeout.ms", "message.max.bytes", "interval.ms"]
    ask(
        DescribeConfigsRequest(
            [DescribeConfigsResource(kind, _name(ask, kind, what), keys) for kind, what in _RESOURCES]
        )
    )
    ask(
        DescribeConfigsRequest(
            [DescribeConfigsResource(2, ask.name("t"), keys), DescribeConfigsResource(99, "x", keys)]
        )
    )


_ALTERED = (
    (2, "t", "retention.ms", "1000"),
    (2, "u", "retention.ms", "1000"),
    (2, "u2", "retention.ms", "nonsense"),
    (2, "missing", "retention.ms", "1000"),
    (4, "1", "log.retention.ms", "nonsense"),
    (4, "", "log.retention.ms", "604800000"),
    (16, "metrics", "interval.ms", "60000"),
    (32, "g", "consumer.session.timeout.ms", "45000"),
    (32, "h", "consumer.session.timeout.ms", "45000"),
    (4, "7", "log.retention.ms", "1000"),
    (99, "x", "a", "b"),
)


@case(
    ApiKey.ALTER_CONFIGS, (TOPIC, "t", ALTER_CONFIGS), (TOPIC, "u", ALTER), (GROUP, "g", ALTER_CONFIGS),
    (CLUSTER, None, ALTER_CONFIGS),
)  # fmt: skip
def settings_are_replaced(ask: SignedAsk) -> None:
    for what in ("t", "u", "u2"):
        ask.topic(what)
    resources = [
        AlterConfigsResource(kind, _name(ask, kind, what), [AlterableConfig(key, value)])
        for kind, what, key, value in _ALTERED
    ]
    ask(AlterConfigsRequest(resources, True))


@case(
    ApiKey.INCREMENTAL_ALTER_CONFIGS, (TOPIC, "t", ALTER_CONFIGS), (TOPIC, "u", ALTER), (GROUP, "g", ALTER_CONFIGS),
    (CLUSTER, None, ALTER_CONFIGS),
)  # fmt: skip
def settings_are_altered(ask: SignedAsk) -> None:
    for what in ("t", "u", "u2"):
        ask.topic(what)
    logger = (8, "1", "no.such.logger", "INFO")
    resources = [
        AlteredResource(kind, _name(ask, kind, what), [Altered(key, 0, value)])
        for kind, what, key, value in (*_ALTERED, logger)
    ]
    ask(IncrementalAlterConfigsRequest(resources, True))
    ask(IncrementalAlterConfigsRequest([resources[0], resources[1], resources[1]], True))


@case(ApiKey.LIST_CONFIG_RESOURCES, (CLUSTER, None, DESCRIBE_CONFIGS), (CLUSTER, None, DESCRIBE))
def resources_are_listed(ask: SignedAsk) -> None:
    if ask.version >= 1:
        ask(ListConfigResourcesRequest([4]))
    else:
        ask(ListConfigResourcesRequest())


@case(ApiKey.DESCRIBE_ACLS, (CLUSTER, None, DESCRIBE), (CLUSTER, None, ALTER))
def access_lists_are_described(ask: SignedAsk) -> None:
    ask(DescribeAclsRequest(TOPIC, ask.name("t"), 1, None, None, 1, 1))
    ask(DescribeAclsRequest(TOPIC, ask.name("t"), 1, None, None, 0, 1))


@case(ApiKey.CREATE_ACLS, (CLUSTER, None, ALTER), (CLUSTER, None, CREATE))
def access_lists_are_created(ask: SignedAsk) -> None:
    ask(CreateAclsRequest([AclCreation(*_GOOD), AclCreation(TOPIC, "", *_GOOD[2:])]))
    ask(CreateAclsRequest([AclCreation(0, *_GOOD[1:])]))


@case(ApiKey.DELETE_ACLS, (CLUSTER, None, ALTER), (CLUSTER, None, DELETE))
def access_lists_are_deleted(ask: SignedAsk) -> None:
    ask(DeleteAclsRequest([DeleteAclsFilter(*_GOOD), DeleteAclsFilter(99, *_GOOD[1:])]))
    ask(DeleteAclsRequest([DeleteAclsFilter(0, *_GOOD[1:])]))


@case(ApiKey.ALTER_REPLICA_LOG_DIRS, (CLUSTER, None, ALTER), (CLUSTER, None, ALTER_CONFIGS))
def replicas_are_moved(ask: SignedAsk) -> None:
    ask(AlterReplicaLogDirsRequest([AlterReplicaLogDir("/nowhere", [AlterReplicaLogDirTopic(ask.topic("t"), [0, 7])])]))


@case(ApiKey.DESCRIBE_LOG_DIRS, (CLUSTER, None, DESCRIBE), (CLUSTER, None, CREATE), versions=(1, 2, 3, 4))
def log_directories_are_described(ask: SignedAsk) -> None:
    ask(DescribeLogDirsRequest([DescribableLogDirTopic(ask.topic("t"), [0])]))


@case(ApiKey.ELECT_LEADERS, (CLUSTER, None, ALTER), (CLUSTER, None, DESCRIBE), versions=(0, 1, 2))
def leaders_are_elected(ask: SignedAsk) -> None:
    ask(ElectLeadersRequest(0, [TopicPartitions(ask.topic("t"), [0, 7])], 10_000))


@case(ApiKey.ALTER_PARTITION_REASSIGNMENTS, (CLUSTER, None, ALTER), (CLUSTER, None, DESCRIBE))
def partitions_are_moved(ask: SignedAsk) -> None:
    topics = [ReassignableTopic(ask.topic("t"), [ReassignablePartition(0, None), ReassignablePartition(7, [1])])]
    ask(AlterPartitionReassignmentsRequest(10_000, topics=topics))


@case(ApiKey.LIST_PARTITION_REASSIGNMENTS, (CLUSTER, None, DESCRIBE), (CLUSTER, None, CREATE))
def moves_are_listed(ask: SignedAsk) -> None:
    ask(ListPartitionReassignmentsRequest(10_000, [ListPartitionReassignmentsTopics(ask.topic("t"), [0, 7])]))
    ask(ListPartitionReassignmentsRequest(10_000, None))


@case(ApiKey.DESCRIBE_CLIENT_QUOTAS, (CLUSTER, None, DESCRIBE_CONFIGS), (CLUSTER, None, DESCRIBE))
def quotas_are_described(ask: SignedAsk) -> None:
    ask(DescribeClientQuotasRequest([ComponentData("user", 0, ask.name("u"))], False))
    ask(DescribeClientQuotasRequest([ComponentData("nonsense", 0, "x")], False))


@case(ApiKey.ALTER_CLIENT_QUOTAS, (CLUSTER, None, ALTER_CONFIGS), (CLUSTER, None, ALTER))
def quotas_are_altered(ask: SignedAsk) -> None:
    entry = AlterClientQuotasRequestEntryData(
        [EntityData("user", ask.name("u"))], [OpData("producer_byte_rate", 1e6, False)]
    )
    ask(AlterClientQuotasRequest([entry], True))


@case(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, (CLUSTER, None, DESCRIBE), (CLUSTER, None, ALTER_CONFIGS))
def credentials_are_described(ask: SignedAsk) -> None:
    ask(DescribeUserScramCredentialsRequest([UserName(ask.name("u"))] * 2))
    ask(DescribeUserScramCredentialsRequest([]))


@case(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, (CLUSTER, None, ALTER), (CLUSTER, None, ALTER_CONFIGS))
def credentials_are_altered(ask: SignedAsk) -> None:
    ask(
        AlterUserScramCredentialsRequest(
            [ScramCredentialDeletion(ask.name("u"), 1), ScramCredentialDeletion("", 9)], []
        )
    )


@case(ApiKey.DESCRIBE_QUORUM, (CLUSTER, None, DESCRIBE), (CLUSTER, None, CREATE), versions=(0, 1, 2))
def the_quorum_is_described(ask: SignedAsk) -> None:
    ask(DescribeQuorumRequest([DescribeQuorumRequestTopicData(ask.name("t"), [DescribeQuorumRequestPartitionData(0)])]))


@case(ApiKey.UPDATE_FEATURES, (CLUSTER, None, ALTER), (CLUSTER, None, ALTER_CONFIGS), versions=(0, 1, 2))
def features_are_updated(ask: SignedAsk) -> None:
    ask(UpdateFeaturesRequest(10_000, [FeatureUpdateKey("nonsense", 1)]))


@case(ApiKey.UNREGISTER_BROKER, (CLUSTER, None, ALTER), (CLUSTER, None, DELETE))
def a_broker_is_unregistered(ask: SignedAsk) -> None:
    ask(UnregisterBrokerRequest(77))


@case(ApiKey.ADD_RAFT_VOTER, (CLUSTER, None, ALTER), (CLUSTER, None, ALTER_CONFIGS))
def a_voter_is_added(ask: SignedAsk) -> None:
    ask(AddRaftVoterRequest(None, 1000, 2, _ID, [Listener("CONTROLLER", "localhost", 9)]))
    ask(AddRaftVoterRequest(None, 1000, -1, _ID, []))


@case(ApiKey.REMOVE_RAFT_VOTER, (CLUSTER, None, ALTER), (CLUSTER, None, DELETE))
def a_voter_is_removed(ask: SignedAsk) -> None:
    ask(RemoveRaftVoterRequest(None, 2, _ID))
    ask(RemoveRaftVoterRequest(None, -1, _ID))


@case(ApiKey.UNREGISTER_CONTROLLER, (CLUSTER, None, ALTER), (CLUSTER, None, DELETE))
def a_controller_is_unregistered(ask: SignedAsk) -> None:
    ask(UnregisterControllerRequest(77))


@case(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS)
def anybody_asks_which_metrics_are_wanted(ask: SignedAsk) -> None:
    answer = ask.quietly_as_user(GetTelemetrySubscriptionsRequest(_ID))
    ask.keep([answer.error_code, answer.push_interval_ms, answer.requested_metrics])


@case(ApiKey.PUSH_TELEMETRY)
def anybody_pushes_metrics(ask: SignedAsk) -> None:
    ask(PushTelemetryRequest(_ID, 7, False, 0, b""))
    ask(PushTelemetryRequest(bytes(16), 7, False, 0, b""))
