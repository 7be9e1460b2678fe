"""Kafka 2.8 over ZooKeeper, verified against 2.8.2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pykbroker.metadata.features import METADATA_VERSION, SUPPORTED_RANGES, Features
from pykbroker.metadata.image import CLIENT_METRICS_RESOURCE, GROUP_RESOURCE
from pykbroker.releases import over_zookeeper
from pykbroker.releases.amending import after, both
from pykbroker.releases.amendments import operations_on_groups, own_apis, without_resources
from pykbroker.releases.feature_updates import none_is_supported
from pykbroker.releases.kafka_2_8_settings import DEFINITIONS
from pykbroker.releases.release import Release, rows
from pykbroker.wire.apis import ApiKey

if TYPE_CHECKING:
    from pykbroker.requests.pipeline import Step

#: The highest version of each API.
_HIGHEST: Final = {
    ApiKey.PRODUCE: 9,
    ApiKey.FETCH: 12,
    ApiKey.LIST_OFFSETS: 6,
    ApiKey.METADATA: 11,
    ApiKey.OFFSET_COMMIT: 8,
    ApiKey.OFFSET_FETCH: 7,
    ApiKey.FIND_COORDINATOR: 3,
    ApiKey.JOIN_GROUP: 7,
    ApiKey.HEARTBEAT: 4,
    ApiKey.LEAVE_GROUP: 4,
    ApiKey.SYNC_GROUP: 5,
    ApiKey.DESCRIBE_GROUPS: 5,
    ApiKey.LIST_GROUPS: 4,
    ApiKey.SASL_HANDSHAKE: 1,
    ApiKey.API_VERSIONS: 3,
    ApiKey.CREATE_TOPICS: 7,
    ApiKey.DELETE_TOPICS: 6,
    ApiKey.DELETE_RECORDS: 2,
    ApiKey.INIT_PRODUCER_ID: 4,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 4,
    ApiKey.ADD_PARTITIONS_TO_TXN: 3,
    ApiKey.ADD_OFFSETS_TO_TXN: 3,
    ApiKey.END_TXN: 3,
    ApiKey.WRITE_TXN_MARKERS: 1,
    ApiKey.TXN_OFFSET_COMMIT: 3,
    ApiKey.DESCRIBE_ACLS: 2,
    ApiKey.CREATE_ACLS: 2,
    ApiKey.DELETE_ACLS: 2,
    ApiKey.DESCRIBE_CONFIGS: 4,
    ApiKey.ALTER_CONFIGS: 2,
    ApiKey.ALTER_REPLICA_LOG_DIRS: 2,
    ApiKey.DESCRIBE_LOG_DIRS: 2,
    ApiKey.SASL_AUTHENTICATE: 2,
    ApiKey.CREATE_PARTITIONS: 3,
    ApiKey.CREATE_DELEGATION_TOKEN: 2,
    ApiKey.RENEW_DELEGATION_TOKEN: 2,
    ApiKey.EXPIRE_DELEGATION_TOKEN: 2,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: 2,
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
    ApiKey.UPDATE_FEATURES: 0,
    ApiKey.DESCRIBE_CLUSTER: 0,
    ApiKey.DESCRIBE_PRODUCERS: 0,
}

_TABLE: Final = rows(_HIGHEST)
_LATER_RESOURCES: Final = (CLIENT_METRICS_RESOURCE, GROUP_RESOURCE)
_UNKNOWN_RESOURCE: Final = "Unexpected resource type UNKNOWN"

_AMENDMENTS: Final[dict[ApiKey, Step]] = {
    ApiKey.API_VERSIONS: both(own_apis(_TABLE), after(over_zookeeper.without_features)),
    ApiKey.METADATA: after(over_zookeeper.created_soon),
    ApiKey.LIST_OFFSETS: over_zookeeper.plain_times,
    ApiKey.LIST_GROUPS: over_zookeeper.case_sensitive_states,
    ApiKey.DESCRIBE_GROUPS: operations_on_groups,
    ApiKey.CREATE_TOPICS: after(over_zookeeper.without_id_when_validated),
    ApiKey.DELETE_TOPICS: after(over_zookeeper.without_ids_of_named),
    ApiKey.CREATE_ACLS: after(over_zookeeper.messages_without_authorizer),
    ApiKey.DELETE_ACLS: after(over_zookeeper.messages_without_authorizer),
    ApiKey.DESCRIBE_CONFIGS: without_resources(_LATER_RESOURCES, "describe_configs", None, "results"),
    ApiKey.ALTER_CONFIGS: both(
        without_resources(_LATER_RESOURCES, "alter_configs", _UNKNOWN_RESOURCE), after(over_zookeeper.refused_values)
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: both(
        without_resources(_LATER_RESOURCES, "incremental_alter_configs", _UNKNOWN_RESOURCE),
        after(over_zookeeper.refused_values),
    ),
    ApiKey.CREATE_DELEGATION_TOKEN: after(over_zookeeper.without_times),
    ApiKey.RENEW_DELEGATION_TOKEN: after(over_zookeeper.without_times),
    ApiKey.EXPIRE_DELEGATION_TOKEN: after(over_zookeeper.without_times),
    ApiKey.ELECT_LEADERS: after(over_zookeeper.topics_with_results),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: after(over_zookeeper.empty_messages),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: after(over_zookeeper.empty_messages),
    ApiKey.UPDATE_FEATURES: none_is_supported,
    ApiKey.DESCRIBE_PRODUCERS: after(over_zookeeper.unknown_partitions),
}

RELEASE: Final = Release(
    name="2.8",
    table=_TABLE,
    definitions=DEFINITIONS,
    # Clients do not see these levels, which switch off the protocols of later features.
    # Delegation tokens need no level: 2.8 keeps them in ZooKeeper.
    features=Features({METADATA_VERSION: 7}, {METADATA_VERSION: SUPPORTED_RANGES[METADATA_VERSION]}, tokens_since=0),
    amendments=_AMENDMENTS,
)
