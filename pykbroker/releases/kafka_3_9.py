"""Kafka 3.9 with its KRaft controller, verified against 3.9.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pykbroker.metadata.features import KRAFT_VERSION, METADATA_VERSION, Features
from pykbroker.metadata.image import GROUP_RESOURCE
from pykbroker.releases.amendments import operations_on_groups, own_apis, without_resources
from pykbroker.releases.feature_updates import one_by_one
from pykbroker.releases.kafka_3_9_settings import DEFINITIONS
from pykbroker.releases.release import Release, rows
from pykbroker.wire.apis import ApiKey

if TYPE_CHECKING:
    from pykbroker.requests.pipeline import Step

#: The highest version of each API.
_HIGHEST: Final = {
    ApiKey.PRODUCE: 11,
    ApiKey.FETCH: 17,
    ApiKey.LIST_OFFSETS: 9,
    ApiKey.METADATA: 12,
    ApiKey.OFFSET_COMMIT: 9,
    ApiKey.OFFSET_FETCH: 9,
    ApiKey.FIND_COORDINATOR: 6,
    ApiKey.JOIN_GROUP: 9,
    ApiKey.HEARTBEAT: 4,
    ApiKey.LEAVE_GROUP: 5,
    ApiKey.SYNC_GROUP: 5,
    ApiKey.DESCRIBE_GROUPS: 5,
    ApiKey.LIST_GROUPS: 5,
    ApiKey.SASL_HANDSHAKE: 1,
    ApiKey.API_VERSIONS: 4,
    ApiKey.CREATE_TOPICS: 7,
    ApiKey.DELETE_TOPICS: 6,
    ApiKey.DELETE_RECORDS: 2,
    ApiKey.INIT_PRODUCER_ID: 5,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 4,
    ApiKey.ADD_PARTITIONS_TO_TXN: 5,
    ApiKey.ADD_OFFSETS_TO_TXN: 4,
    ApiKey.END_TXN: 4,
    ApiKey.WRITE_TXN_MARKERS: 1,
    ApiKey.TXN_OFFSET_COMMIT: 4,
    ApiKey.DESCRIBE_ACLS: 3,
    ApiKey.CREATE_ACLS: 3,
    ApiKey.DELETE_ACLS: 3,
    ApiKey.DESCRIBE_CONFIGS: 4,
    ApiKey.ALTER_CONFIGS: 2,
    ApiKey.ALTER_REPLICA_LOG_DIRS: 2,
    ApiKey.DESCRIBE_LOG_DIRS: 4,
    ApiKey.SASL_AUTHENTICATE: 2,
    ApiKey.CREATE_PARTITIONS: 3,
    ApiKey.CREATE_DELEGATION_TOKEN: 3,
    ApiKey.RENEW_DELEGATION_TOKEN: 2,
    ApiKey.EXPIRE_DELEGATION_TOKEN: 2,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: 3,
    ApiKey.DELETE_GROUPS: 2,
    ApiKey.ELECT_LEADERS: 2,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: 1,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: 0,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: 0,
    ApiKey.OFFSET_DELETE: 0,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: 1,
    ApiKey.ALTER_CLIENT_QUOTAS: 1,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: 0,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: 0,
    ApiKey.DESCRIBE_QUORUM: 2,
    ApiKey.UPDATE_FEATURES: 1,
    ApiKey.DESCRIBE_CLUSTER: 1,
    ApiKey.DESCRIBE_PRODUCERS: 0,
    ApiKey.UNREGISTER_BROKER: 0,
    ApiKey.DESCRIBE_TRANSACTIONS: 0,
    ApiKey.LIST_TRANSACTIONS: 1,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: 0,
    ApiKey.CONSUMER_GROUP_DESCRIBE: 0,
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: 0,
    ApiKey.PUSH_TELEMETRY: 0,
    ApiKey.LIST_CONFIG_RESOURCES: 0,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: 0,
}

_TABLE: Final = rows(_HIGHEST)
_UNKNOWN_RESOURCE: Final = "Unknown resource type {}"

_AMENDMENTS: Final[dict[ApiKey, Step]] = {
    ApiKey.API_VERSIONS: own_apis(_TABLE),
    ApiKey.DESCRIBE_GROUPS: operations_on_groups,
    ApiKey.DESCRIBE_CONFIGS: without_resources((GROUP_RESOURCE,), "describe_configs", None, "results"),
    ApiKey.ALTER_CONFIGS: without_resources((GROUP_RESOURCE,), "alter_configs", _UNKNOWN_RESOURCE),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: without_resources(
        (GROUP_RESOURCE,), "incremental_alter_configs", _UNKNOWN_RESOURCE
    ),
    ApiKey.UPDATE_FEATURES: one_by_one,
}

RELEASE: Final = Release(
    name="3.9",
    table=_TABLE,
    definitions=DEFINITIONS,
    features=Features(bootstrap={METADATA_VERSION: 21}, ranges={METADATA_VERSION: (1, 21), KRAFT_VERSION: (0, 1)}),
    amendments=_AMENDMENTS,
)
