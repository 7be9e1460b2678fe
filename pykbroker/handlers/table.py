"""``SUPPORTED``, the one table of the APIs that are served: their versions, and the module of this room that serves them.

ApiVersions answers from it, requests are checked against it, and ``python -m pykbroker.handlers.table`` prints it for
docs/compatibility.md.
"""

from __future__ import annotations

from typing import NamedTuple

from pykbroker.wire.apis import ApiKey


class ServedApi(NamedTuple):
    """One row of the table: the versions served, and the module in ``handlers`` that serves them.

    ``listed_from`` is the lowest version that ApiVersions lists, if it is not the lowest one served.
    """

    key: ApiKey
    min_version: int
    max_version: int
    handler: str
    listed_from: int | None = None

    @property
    def listed_min(self) -> int:
        """The lowest version that ApiVersions lists."""
        return self.min_version if self.listed_from is None else self.listed_from


SUPPORTED: tuple[ServedApi, ...] = (
    # Versions 0 to 2 are not served, but librdkafka before 2.0 compresses only if they are listed (KIP-896).
    ServedApi(ApiKey.PRODUCE, 3, 13, "produce", listed_from=0),
    ServedApi(ApiKey.FETCH, 4, 18, "fetch"),
    ServedApi(ApiKey.LIST_OFFSETS, 1, 11, "list_offsets"),
    ServedApi(ApiKey.METADATA, 0, 13, "metadata"),
    ServedApi(ApiKey.OFFSET_COMMIT, 2, 10, "offset_commit"),
    ServedApi(ApiKey.OFFSET_FETCH, 1, 10, "offset_fetch"),
    ServedApi(ApiKey.FIND_COORDINATOR, 0, 6, "find_coordinator"),
    ServedApi(ApiKey.JOIN_GROUP, 0, 9, "join_group"),
    ServedApi(ApiKey.HEARTBEAT, 0, 4, "heartbeat"),
    ServedApi(ApiKey.LEAVE_GROUP, 0, 5, "leave_group"),
    ServedApi(ApiKey.SYNC_GROUP, 0, 5, "sync_group"),
    ServedApi(ApiKey.DESCRIBE_GROUPS, 0, 6, "describe_groups"),
    ServedApi(ApiKey.LIST_GROUPS, 0, 5, "list_groups"),
    ServedApi(ApiKey.SASL_HANDSHAKE, 0, 1, "sasl_handshake"),
    ServedApi(ApiKey.API_VERSIONS, 0, 5, "api_versions"),
    ServedApi(ApiKey.CREATE_TOPICS, 2, 7, "create_topics"),
    ServedApi(ApiKey.DELETE_TOPICS, 1, 6, "delete_topics"),
    ServedApi(ApiKey.DELETE_RECORDS, 0, 2, "delete_records"),
    ServedApi(ApiKey.INIT_PRODUCER_ID, 0, 5, "init_producer_id"),
    ServedApi(ApiKey.OFFSET_FOR_LEADER_EPOCH, 2, 4, "offset_for_leader_epoch"),
    ServedApi(ApiKey.ADD_PARTITIONS_TO_TXN, 0, 5, "add_partitions_to_txn"),
    ServedApi(ApiKey.ADD_OFFSETS_TO_TXN, 0, 4, "add_offsets_to_txn"),
    ServedApi(ApiKey.END_TXN, 0, 5, "end_txn"),
    ServedApi(ApiKey.WRITE_TXN_MARKERS, 1, 2, "write_txn_markers"),
    ServedApi(ApiKey.TXN_OFFSET_COMMIT, 0, 6, "txn_offset_commit"),
    ServedApi(ApiKey.DESCRIBE_ACLS, 1, 3, "describe_acls"),
    ServedApi(ApiKey.CREATE_ACLS, 1, 3, "create_acls"),
    ServedApi(ApiKey.DELETE_ACLS, 1, 3, "delete_acls"),
    ServedApi(ApiKey.DESCRIBE_CONFIGS, 1, 4, "describe_configs"),
    ServedApi(ApiKey.ALTER_CONFIGS, 0, 2, "alter_configs"),
    ServedApi(ApiKey.ALTER_REPLICA_LOG_DIRS, 1, 2, "alter_replica_log_dirs"),
    ServedApi(ApiKey.DESCRIBE_LOG_DIRS, 1, 5, "describe_log_dirs"),
    ServedApi(ApiKey.SASL_AUTHENTICATE, 0, 2, "sasl_authenticate"),
    ServedApi(ApiKey.CREATE_PARTITIONS, 0, 3, "create_partitions"),
    ServedApi(ApiKey.CREATE_DELEGATION_TOKEN, 1, 3, "create_delegation_token"),
    ServedApi(ApiKey.RENEW_DELEGATION_TOKEN, 1, 2, "renew_delegation_token"),
    ServedApi(ApiKey.EXPIRE_DELEGATION_TOKEN, 1, 2, "expire_delegation_token"),
    ServedApi(ApiKey.DESCRIBE_DELEGATION_TOKEN, 1, 3, "describe_delegation_token"),
    ServedApi(ApiKey.DELETE_GROUPS, 0, 3, "delete_groups"),
    ServedApi(ApiKey.ELECT_LEADERS, 0, 2, "elect_leaders"),
    ServedApi(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1, "incremental_alter_configs"),
    ServedApi(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, 1, "alter_partition_reassignments"),
    ServedApi(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0, "list_partition_reassignments"),
    ServedApi(ApiKey.OFFSET_DELETE, 0, 0, "offset_delete"),
    ServedApi(ApiKey.DESCRIBE_CLIENT_QUOTAS, 0, 1, "describe_client_quotas"),
    ServedApi(ApiKey.ALTER_CLIENT_QUOTAS, 0, 1, "alter_client_quotas"),
    ServedApi(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 0, "describe_user_scram_credentials"),
    ServedApi(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, 0, "alter_user_scram_credentials"),
    ServedApi(ApiKey.DESCRIBE_QUORUM, 0, 2, "describe_quorum"),
    ServedApi(ApiKey.UPDATE_FEATURES, 0, 2, "update_features"),
    ServedApi(ApiKey.DESCRIBE_CLUSTER, 0, 2, "describe_cluster"),
    ServedApi(ApiKey.DESCRIBE_PRODUCERS, 0, 0, "describe_producers"),
    ServedApi(ApiKey.UNREGISTER_BROKER, 0, 0, "unregister_broker"),
    ServedApi(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0, "describe_transactions"),
    ServedApi(ApiKey.LIST_TRANSACTIONS, 0, 2, "list_transactions"),
    ServedApi(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, 1, "consumer_group_heartbeat"),
    ServedApi(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, 1, "consumer_group_describe"),
    ServedApi(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, 0, 0, "get_telemetry_subscriptions"),
    ServedApi(ApiKey.PUSH_TELEMETRY, 0, 0, "push_telemetry"),
    ServedApi(ApiKey.LIST_CONFIG_RESOURCES, 0, 1, "list_config_resources"),
    ServedApi(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, 0, "describe_topic_partitions"),
    ServedApi(ApiKey.SHARE_GROUP_HEARTBEAT, 1, 1, "share_group_heartbeat"),
    ServedApi(ApiKey.SHARE_GROUP_DESCRIBE, 1, 1, "share_group_describe"),
    ServedApi(ApiKey.SHARE_FETCH, 1, 2, "share_fetch"),
    ServedApi(ApiKey.SHARE_ACKNOWLEDGE, 1, 2, "share_acknowledge"),
    ServedApi(ApiKey.ADD_RAFT_VOTER, 0, 1, "add_raft_voter"),
    ServedApi(ApiKey.REMOVE_RAFT_VOTER, 0, 0, "remove_raft_voter"),
    ServedApi(ApiKey.INITIALIZE_SHARE_GROUP_STATE, 0, 0, "initialize_share_group_state"),
    ServedApi(ApiKey.READ_SHARE_GROUP_STATE, 0, 0, "read_share_group_state"),
    ServedApi(ApiKey.WRITE_SHARE_GROUP_STATE, 0, 1, "write_share_group_state"),
    ServedApi(ApiKey.DELETE_SHARE_GROUP_STATE, 0, 0, "delete_share_group_state"),
    ServedApi(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, 0, 1, "read_share_group_state_summary"),
    ServedApi(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, 1, "streams_group_heartbeat"),
    ServedApi(ApiKey.STREAMS_GROUP_DESCRIBE, 0, 1, "streams_group_describe"),
    ServedApi(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 0, 1, "describe_share_group_offsets"),
    ServedApi(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, 0, "alter_share_group_offsets"),
    ServedApi(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, 0, "delete_share_group_offsets"),
    ServedApi(ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, 0, 0, "streams_group_topology_description_update"),
    ServedApi(ApiKey.UNREGISTER_CONTROLLER, 0, 0, "unregister_controller"),
)

_TABLE_WIDTH = 3


def table() -> str:
    """SUPPORTED as the Markdown table of docs/compatibility.md: three pairs of columns, each read downwards."""
    cells = [f"{api.key.name} ({int(api.key)}) | {_versions(api)}" for api in SUPPORTED]
    height = -(-len(cells) // _TABLE_WIDTH)
    cells += [" | "] * (height * _TABLE_WIDTH - len(cells))
    rows = [" | ".join(cells[row::height]) for row in range(height)]
    head = [" | ".join(["API | versions"] * _TABLE_WIDTH), "|".join(["---"] * 2 * _TABLE_WIDTH)]
    return "\n".join([f"| {head[0]} |", f"|{head[1]}|", *(f"| {row} |" for row in rows)])


def _versions(api: ServedApi) -> str:
    return f"{api.min_version} to {api.max_version}" if api.min_version < api.max_version else f"{api.max_version}"


if __name__ == "__main__":
    print(table())  # noqa: T201
