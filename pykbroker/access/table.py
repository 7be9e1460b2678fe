"""The authorizations of each API, in Kafka's order.

An API that is not listed needs none. ``python -m pykbroker.access.table`` prints the table of docs/security_operations.md. Order and
errors: KafkaApis, AclApis and ControllerApis of Kafka 4.4.0; the oracle compares each row with Apache Kafka.
"""

from __future__ import annotations

from pykbroker.access.checks import Check
from pykbroker.access.items import AllOf, EachOf, OnlyPermitted
from pykbroker.access.rows import Row
from pykbroker.access.special import (
    CoordinatorKeys,
    DescribedTopology,
    IdempotentProducerIds,
    MembersTopics,
    NewTopics,
    TokensForOthers,
    TopologyTopics,
    TransactionalBatches,
    Within,
    lacks_protocol,
)
from pykbroker.access.whole import OfCluster, OfOne, Stated
from pykbroker.handlers import create_acls, delete_acls, describe_acls
from pykbroker.handlers.describe_producers import has_valid_name
from pykbroker.security.operations import (
    ALTER,
    ALTER_CONFIGS,
    CLUSTER_ACTION,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    DESCRIBE_TOKENS,
    OPERATION_NAMES,
    READ,
    WRITE,
)
from pykbroker.security.resources import CLUSTER, DELEGATION_TOKEN, GROUP, TOPIC, TRANSACTIONAL_ID, TYPE_TITLES, USER
from pykbroker.wire.apis import APIS, ApiKey
from pykbroker.wire.errors import ErrorCode

_NO_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_NO_GROUP = ErrorCode.GROUP_AUTHORIZATION_FAILED
_NO_CLUSTER = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def _configs(operation: int) -> Within:
    """The checks of settings: those of topics and groups on the resource, all others on the cluster."""
    return Within(
        Row(TOPIC, (operation,), "each resource of type topic", _NO_TOPIC, "the item"),
        Row(GROUP, (operation,), "each resource of type group", _NO_GROUP, "the item"),
        Row(CLUSTER, (operation,), "each other resource", _NO_CLUSTER, "the item"),
    )


CHECKS: dict[int, tuple[Check, ...]] = {
    ApiKey.PRODUCE: (
        TransactionalBatches(),
        EachOf("topic_data", TOPIC, WRITE, name="name", ids_since=13, goes_on=True),
    ),
    ApiKey.FETCH: (
        Within(
            Row(TOPIC, (READ,), "each topic, also of the session", _NO_TOPIC, "the partitions"),
            Row(CLUSTER, (CLUSTER_ACTION,), "of a follower", _NO_TOPIC, "all partitions"),
        ),
    ),
    ApiKey.LIST_OFFSETS: (EachOf("topics", TOPIC, DESCRIBE, name="name"),),
    ApiKey.METADATA: (
        Within(
            Row(TOPIC, (DESCRIBE,), "each topic, when all are asked for", None, "left out"),
            Row(
                TOPIC, (DESCRIBE,), "each of `topics`, there or not", _NO_TOPIC, "the item, without its id or its name"
            ),
            Row(TOPIC, (CREATE,), "each that asking creates, unless CREATE on the cluster", _NO_TOPIC, "the item"),
            Row(CLUSTER, (DESCRIBE,), "when its operations are asked for", None, "no operations"),
        ),
    ),
    ApiKey.OFFSET_COMMIT: (
        OfOne(GROUP, READ, "group_id"),
        EachOf("topics", TOPIC, READ, name="name", ids_since=10),
    ),
    ApiKey.OFFSET_FETCH: (
        Within(
            Row(GROUP, (DESCRIBE,), "each group", _NO_GROUP, "the group, or its partitions before version 2"),
            Row(TOPIC, (DESCRIBE,), "each of `topics`", _NO_TOPIC, "the partitions"),
            Row(TOPIC, (DESCRIBE,), "each topic, when all are asked for", None, "left out"),
        ),
    ),
    ApiKey.FIND_COORDINATOR: (CoordinatorKeys(),),
    ApiKey.JOIN_GROUP: (OfOne(GROUP, READ, "group_id"),),
    ApiKey.HEARTBEAT: (OfOne(GROUP, READ, "group_id"),),
    ApiKey.LEAVE_GROUP: (OfOne(GROUP, READ, "group_id"),),
    ApiKey.SYNC_GROUP: (OfOne(GROUP, READ, "group_id", unless=lacks_protocol),),
    ApiKey.DESCRIBE_GROUPS: (EachOf("groups", GROUP, DESCRIBE),),
    ApiKey.LIST_GROUPS: (OnlyPermitted("groups", GROUP, DESCRIBE, "group_id", unless=DESCRIBE),),
    ApiKey.CREATE_TOPICS: (NewTopics(),),
    ApiKey.DELETE_TOPICS: (
        Within(
            Row(
                TOPIC,
                (DESCRIBE,),
                "each topic by its id, unless DELETE on the cluster",
                _NO_TOPIC,
                "the item, nameless",
            ),
            Row(TOPIC, (DELETE,), "each topic, unless DELETE on the cluster", _NO_TOPIC, "the item"),
        ),
    ),
    ApiKey.DELETE_RECORDS: (EachOf("topics", TOPIC, DELETE, name="name"),),
    ApiKey.INIT_PRODUCER_ID: (OfOne(TRANSACTIONAL_ID, WRITE, "transactional_id"), IdempotentProducerIds()),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (EachOf("topics", TOPIC, DESCRIBE, name="topic", unless=CLUSTER_ACTION),),
    ApiKey.ADD_PARTITIONS_TO_TXN: (
        OfCluster(CLUSTER_ACTION, versions=range(4, 0x8000)),
        OfOne(TRANSACTIONAL_ID, WRITE, "v3_and_below_transactional_id", versions=range(4)),
        Within(
            Row(
                TOPIC,
                (WRITE,),
                "each topic, up to version 3",
                _NO_TOPIC,
                "its partitions; all others OPERATION_NOT_ATTEMPTED",
            ),
        ),
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: (OfOne(TRANSACTIONAL_ID, WRITE, "transactional_id"), OfOne(GROUP, READ, "group_id")),
    ApiKey.END_TXN: (OfOne(TRANSACTIONAL_ID, WRITE, "transactional_id"),),
    ApiKey.WRITE_TXN_MARKERS: (OfCluster(CLUSTER_ACTION, other=ALTER),),
    ApiKey.TXN_OFFSET_COMMIT: (
        OfOne(TRANSACTIONAL_ID, WRITE, "transactional_id"),
        OfOne(GROUP, READ, "group_id"),
        EachOf("topics", TOPIC, READ, name="name", ids_since=6),
    ),
    ApiKey.DESCRIBE_ACLS: (Stated(describe_acls.check), OfCluster(DESCRIBE)),
    ApiKey.CREATE_ACLS: (Stated(create_acls.check), OfCluster(ALTER)),
    ApiKey.DELETE_ACLS: (Stated(delete_acls.check), OfCluster(ALTER)),
    ApiKey.DESCRIBE_CONFIGS: (_configs(DESCRIBE_CONFIGS),),
    ApiKey.ALTER_CONFIGS: (_configs(ALTER_CONFIGS),),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (OfCluster(ALTER),),
    ApiKey.DESCRIBE_LOG_DIRS: (OfCluster(DESCRIBE),),
    ApiKey.CREATE_PARTITIONS: (EachOf("topics", TOPIC, ALTER, name="name", unique=True),),
    ApiKey.CREATE_DELEGATION_TOKEN: (TokensForOthers(),),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: (
        Within(
            Row(
                DELEGATION_TOKEN,
                (DESCRIBE,),
                "each token that is not the asker's, by its id",
                None,
                "left out, unless the next",
            ),
            Row(USER, (DESCRIBE_TOKENS,), "the owner of the token", None, "left out"),
        ),
    ),
    ApiKey.DELETE_GROUPS: (EachOf("groups_names", GROUP, DELETE),),
    ApiKey.ELECT_LEADERS: (OfCluster(ALTER),),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (_configs(ALTER_CONFIGS),),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (OfCluster(ALTER),),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (OfCluster(DESCRIBE),),
    ApiKey.OFFSET_DELETE: (OfOne(GROUP, DELETE, "group_id"), EachOf("topics", TOPIC, READ, name="name", goes_on=True)),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: (OfCluster(DESCRIBE_CONFIGS, says_what=False),),
    ApiKey.ALTER_CLIENT_QUOTAS: (OfCluster(ALTER_CONFIGS, says_what=False),),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (OfCluster(DESCRIBE, says_what=False),),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (OfCluster(ALTER),),
    ApiKey.DESCRIBE_QUORUM: (OfCluster(DESCRIBE, says_what=False),),
    ApiKey.UPDATE_FEATURES: (OfCluster(ALTER),),
    ApiKey.DESCRIBE_CLUSTER: (
        Within(Row(CLUSTER, (DESCRIBE,), "when its operations are asked for", None, "no operations")),
    ),
    ApiKey.DESCRIBE_PRODUCERS: (EachOf("topics", TOPIC, READ, name="name", only=has_valid_name, worded=True),),
    ApiKey.UNREGISTER_BROKER: (OfCluster(ALTER),),
    ApiKey.ADD_RAFT_VOTER: (OfCluster(ALTER, says_what=False),),
    ApiKey.REMOVE_RAFT_VOTER: (OfCluster(ALTER, says_what=False),),
    ApiKey.UNREGISTER_CONTROLLER: (OfCluster(ALTER),),
    ApiKey.DESCRIBE_TRANSACTIONS: (
        EachOf("transactional_ids", TRANSACTIONAL_ID, DESCRIBE, answers="transaction_states"),
        OnlyPermitted("topics", TOPIC, DESCRIBE, "topic", within="transaction_states"),
    ),
    ApiKey.LIST_TRANSACTIONS: (OnlyPermitted("transaction_states", TRANSACTIONAL_ID, DESCRIBE, "transactional_id"),),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (
        OfOne(GROUP, READ, "group_id"),
        AllOf("subscribed_topic_names", TOPIC, DESCRIBE),
        Within(Row(TOPIC, (DESCRIBE,), "each that a pattern stands for", None, "not assigned")),
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (EachOf("group_ids", GROUP, DESCRIBE), MembersTopics()),
    ApiKey.SHARE_GROUP_HEARTBEAT: (OfOne(GROUP, READ, "group_id"), AllOf("subscribed_topic_names", TOPIC, DESCRIBE)),
    ApiKey.SHARE_GROUP_DESCRIBE: (EachOf("group_ids", GROUP, DESCRIBE), MembersTopics()),
    ApiKey.SHARE_FETCH: (
        OfOne(GROUP, READ, "group_id"),
        Within(Row(TOPIC, (READ,), "each topic, also of the session", _NO_TOPIC, "the partitions")),
    ),
    ApiKey.SHARE_ACKNOWLEDGE: (
        OfOne(GROUP, READ, "group_id"),
        Within(Row(TOPIC, (READ,), "each of `topics`", _NO_TOPIC, "the partitions")),
    ),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: (OfCluster(CLUSTER_ACTION),),
    ApiKey.READ_SHARE_GROUP_STATE: (OfCluster(CLUSTER_ACTION),),
    ApiKey.WRITE_SHARE_GROUP_STATE: (OfCluster(CLUSTER_ACTION),),
    ApiKey.DELETE_SHARE_GROUP_STATE: (OfCluster(CLUSTER_ACTION),),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: (OfCluster(CLUSTER_ACTION),),
    ApiKey.STREAMS_GROUP_HEARTBEAT: (
        OfOne(GROUP, READ, "group_id"),
        TopologyTopics(),
        Within(
            Row(
                TOPIC,
                (CREATE,),
                "each internal topic that is missing, unless CREATE on the cluster",
                None,
                "said in its status, and none is created",
            ),
        ),
    ),
    ApiKey.STREAMS_GROUP_DESCRIBE: (EachOf("group_ids", GROUP, DESCRIBE), DescribedTopology()),
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: (OfOne(GROUP, READ, "group_id"),),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (
        EachOf("groups", GROUP, DESCRIBE, name="group_id", answers="groups"),
        Within(Row(TOPIC, (DESCRIBE,), "each topic of a group", _NO_TOPIC, "the partitions, or left out")),
    ),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: (
        OfOne(GROUP, READ, "group_id"),
        Within(Row(TOPIC, (READ,), "each of `topics`", _NO_TOPIC, "its partitions")),
    ),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: (
        OfOne(GROUP, DELETE, "group_id"),
        EachOf("topics", TOPIC, READ, name="topic_name", worded=True),
    ),
    ApiKey.LIST_CONFIG_RESOURCES: (OfCluster(DESCRIBE_CONFIGS),),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (
        Within(
            Row(TOPIC, (DESCRIBE,), "each topic, when all are asked for", None, "left out"),
            Row(TOPIC, (DESCRIBE,), "each of `topics`, there or not", _NO_TOPIC, "the item"),
        ),
    ),
}


def table() -> str:
    """The checks in Markdown."""
    lines = ["| API | resource | operation | which | otherwise | where |", "|---|---|---|---|---|---|"]
    for key, checks in sorted(CHECKS.items()):
        for row in (row for check in checks for row in check.rows):
            operations = " or ".join(OPERATION_NAMES[operation] for operation in row.operations)
            error = "" if row.error is None else f"{row.error.name} ({int(row.error)})"
            title = TYPE_TITLES[row.resource_type]
            lines.append(f"| {APIS[key].name} | {title} | {operations} | {row.which} | {error} | {row.where} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())  # noqa: T201
