"""What is supported: the one place that says which APIs are served, in which versions, and by which module of this room.

ApiVersions answers from it, requests are checked against it, and the table in the documentation is printed from it
(``python -m pykbroker.handlers.table``).
"""

from __future__ import annotations

from typing import NamedTuple

from pykbroker.wire.apis import ApiKey


class Api(NamedTuple):
    """One row of the table: the versions served, and the module in ``handlers`` that serves them.

    ``listed_from`` is the lowest version ApiVersions names, where that is not the lowest one served.
    """

    key: ApiKey
    min_version: int
    max_version: int
    handler: str
    listed_from: int | None = None

    @property
    def listed_min(self) -> int:
        """The lowest version ApiVersions names."""
        return self.min_version if self.listed_from is None else self.listed_from


SUPPORTED: tuple[Api, ...] = (
    # Versions 0 to 2 are gone, but librdkafka before 2.0 compresses only when it sees them listed (KIP-896).
    Api(ApiKey.PRODUCE, 3, 13, "produce", listed_from=0),
    Api(ApiKey.FETCH, 4, 18, "fetch"),
    Api(ApiKey.LIST_OFFSETS, 1, 11, "list_offsets"),
    Api(ApiKey.METADATA, 0, 13, "metadata"),
    Api(ApiKey.OFFSET_COMMIT, 2, 10, "offset_commit"),
    Api(ApiKey.OFFSET_FETCH, 1, 10, "offset_fetch"),
    Api(ApiKey.FIND_COORDINATOR, 0, 6, "find_coordinator"),
    Api(ApiKey.JOIN_GROUP, 0, 9, "join_group"),
    Api(ApiKey.HEARTBEAT, 0, 4, "heartbeat"),
    Api(ApiKey.LEAVE_GROUP, 0, 5, "leave_group"),
    Api(ApiKey.SYNC_GROUP, 0, 5, "sync_group"),
    Api(ApiKey.DESCRIBE_GROUPS, 0, 6, "describe_groups"),
    Api(ApiKey.LIST_GROUPS, 0, 5, "list_groups"),
    Api(ApiKey.SASL_HANDSHAKE, 0, 1, "sasl_handshake"),
    Api(ApiKey.API_VERSIONS, 0, 4, "api_versions"),
    Api(ApiKey.CREATE_TOPICS, 2, 7, "create_topics"),
    Api(ApiKey.DELETE_TOPICS, 1, 6, "delete_topics"),
    Api(ApiKey.DELETE_RECORDS, 0, 2, "delete_records"),
    Api(ApiKey.INIT_PRODUCER_ID, 0, 5, "init_producer_id"),
    Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, 2, 4, "offset_for_leader_epoch"),
    Api(ApiKey.ADD_PARTITIONS_TO_TXN, 0, 5, "add_partitions_to_txn"),
    Api(ApiKey.ADD_OFFSETS_TO_TXN, 0, 4, "add_offsets_to_txn"),
    Api(ApiKey.END_TXN, 0, 5, "end_txn"),
    Api(ApiKey.WRITE_TXN_MARKERS, 1, 2, "write_txn_markers"),
    Api(ApiKey.TXN_OFFSET_COMMIT, 0, 5, "txn_offset_commit"),
    Api(ApiKey.DESCRIBE_ACLS, 1, 3, "describe_acls"),
    Api(ApiKey.CREATE_ACLS, 1, 3, "create_acls"),
    Api(ApiKey.DELETE_ACLS, 1, 3, "delete_acls"),
    Api(ApiKey.DESCRIBE_CONFIGS, 1, 4, "describe_configs"),
    Api(ApiKey.ALTER_CONFIGS, 0, 2, "alter_configs"),
    Api(ApiKey.ALTER_REPLICA_LOG_DIRS, 1, 2, "alter_replica_log_dirs"),
    Api(ApiKey.DESCRIBE_LOG_DIRS, 1, 5, "describe_log_dirs"),
    Api(ApiKey.SASL_AUTHENTICATE, 0, 2, "sasl_authenticate"),
    Api(ApiKey.CREATE_PARTITIONS, 0, 3, "create_partitions"),
    Api(ApiKey.CREATE_DELEGATION_TOKEN, 1, 3, "create_delegation_token"),
    Api(ApiKey.RENEW_DELEGATION_TOKEN, 1, 2, "renew_delegation_token"),
    Api(ApiKey.EXPIRE_DELEGATION_TOKEN, 1, 2, "expire_delegation_token"),
    Api(ApiKey.DESCRIBE_DELEGATION_TOKEN, 1, 3, "describe_delegation_token"),
    Api(ApiKey.DELETE_GROUPS, 0, 2, "delete_groups"),
    Api(ApiKey.ELECT_LEADERS, 0, 2, "elect_leaders"),
    Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1, "incremental_alter_configs"),
    Api(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, 1, "alter_partition_reassignments"),
    Api(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0, "list_partition_reassignments"),
    Api(ApiKey.OFFSET_DELETE, 0, 0, "offset_delete"),
    Api(ApiKey.DESCRIBE_CLIENT_QUOTAS, 0, 1, "describe_client_quotas"),
    Api(ApiKey.ALTER_CLIENT_QUOTAS, 0, 1, "alter_client_quotas"),
    Api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 0, "describe_user_scram_credentials"),
    Api(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, 0, "alter_user_scram_credentials"),
    Api(ApiKey.DESCRIBE_QUORUM, 0, 2, "describe_quorum"),
    Api(ApiKey.UPDATE_FEATURES, 0, 2, "update_features"),
    Api(ApiKey.DESCRIBE_CLUSTER, 0, 2, "describe_cluster"),
    Api(ApiKey.DESCRIBE_PRODUCERS, 0, 0, "describe_producers"),
    Api(ApiKey.UNREGISTER_BROKER, 0, 0, "unregister_broker"),
    Api(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0, "describe_transactions"),
    Api(ApiKey.LIST_TRANSACTIONS, 0, 2, "list_transactions"),
    Api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, 1, "consumer_group_heartbeat"),
    Api(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, 1, "consumer_group_describe"),
    Api(ApiKey.LIST_CONFIG_RESOURCES, 0, 1, "list_config_resources"),
    Api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, 0, "describe_topic_partitions"),
)

_TABLE_WIDTH = 3


def table() -> str:
    """SUPPORTED in Markdown, as it stands in docs/compatibility.md: three pairs of columns, each read downwards."""
    cells = [f"{api.key.name} ({int(api.key)}) | {_versions(api)}" for api in SUPPORTED]
    height = -(-len(cells) // _TABLE_WIDTH)
    cells += [" | "] * (height * _TABLE_WIDTH - len(cells))
    rows = [" | ".join(cells[row::height]) for row in range(height)]
    head = [" | ".join(["API | versions"] * _TABLE_WIDTH), "|".join(["---"] * 2 * _TABLE_WIDTH)]
    return "\n".join([f"| {head[0]} |", f"|{head[1]}|", *(f"| {row} |" for row in rows)])


def _versions(api: Api) -> str:
    return f"{api.min_version} to {api.max_version}" if api.min_version < api.max_version else f"{api.max_version}"


if __name__ == "__main__":
    print(table())  # noqa: T201
