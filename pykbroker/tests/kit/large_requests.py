"""Every API with as many things as a frame holds: the table of ``tests/handlers/test_longest_turn.py``, and the rows of
``scripts/bench --turns``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pykbroker.tests.kit.depth import of_depths
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.message import Message
from pykbroker.wire.messages import (
    add_partitions_to_txn,
    add_raft_voter,
    alter_client_quotas,
    alter_configs,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    alter_share_group_offsets,
    alter_user_scram_credentials,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_acls,
    create_delegation_token,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_records,
    delete_share_group_offsets,
    delete_share_group_state,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_configs,
    describe_delegation_token,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_share_group_offsets,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    elect_leaders,
    fetch,
    find_coordinator,
    incremental_alter_configs,
    initialize_share_group_state,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    push_telemetry,
    read_share_group_state,
    read_share_group_state_summary,
    share_acknowledge,
    share_fetch,
    share_group_describe,
    share_group_heartbeat,
    streams_group_describe,
    streams_group_heartbeat,
    streams_group_topology_description_update,
    sync_group,
    txn_offset_commit,
    update_features,
    write_share_group_state,
    write_txn_markers,
)

#: Things that a request names, of which half exist where they can.
MANY = of_depths(1500, 3000, 6000)
#: Topics, partitions of the wide one, groups, and transactional ids of the cluster.
TOPICS = of_depths(125, 250, 500)
WIDE = of_depths(125, 250, 500)
GROUPS = of_depths(300, 750, 1500)

Row = Callable[[], tuple[Message, int]]


def names(kind: str, existing: int) -> list[str]:
    """MANY names, of which the first exist."""
    return [f"{kind}-{number}" for number in range(existing)] + [f"no-{kind}-{n}" for n in range(MANY - existing)]


def topics() -> list[str]:
    return names("topic", TOPICS)


def groups() -> list[str]:
    return names("group", GROUPS)


def ids() -> list[str]:
    return names("id", GROUPS)


def of_wide(make: Callable[[int], Any]) -> list[Any]:
    """Partitions of the wide topic, each several times."""
    return [make(number % (2 * WIDE)) for number in range(MANY)]


SMALL = "of a size that its fields bound"


def acknowledgements() -> list[share_acknowledge.AcknowledgeTopic]:
    return [
        share_acknowledge.AcknowledgeTopic(
            bytes(16),
            [
                share_acknowledge.AcknowledgePartition(number, [share_acknowledge.AcknowledgementBatch(0, 9, [1])])
                for number in range(MANY)
            ],
        )
    ]


def of_share_states(request: Callable[..., Any], data: Callable[..., Any], partition: Callable[[int], Any]) -> Row:
    """A request to the share coordinator, for many partitions of one topic."""
    return lambda: (request("share-0", [data(bytes(16), [partition(number) for number in range(MANY)])]), 0)


ROWS: dict[ApiKey, Row | str] = {
    ApiKey.PRODUCE: lambda: (
        produce.ProduceRequest(
            None,
            1,
            1000,
            [produce.TopicProduceData("wide", partition_data=of_wide(lambda n: produce.PartitionProduceData(n, b"")))],
        ),
        9,
    ),
    ApiKey.FETCH: lambda: (
        fetch.FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            session_epoch=-1,
            topics=[fetch.FetchTopic("wide", partitions=[fetch.FetchPartition(n) for n in range(MANY)])],
        ),
        11,
    ),
    ApiKey.LIST_OFFSETS: lambda: (
        list_offsets.ListOffsetsRequest(
            -1,
            0,
            [
                list_offsets.ListOffsetsTopic(
                    "wide", [list_offsets.ListOffsetsPartition(n, -1, -1) for n in range(MANY)]
                )
            ],
        ),
        7,
    ),
    ApiKey.METADATA: lambda: (
        metadata.MetadataRequest([metadata.MetadataRequestTopic(name=name) for name in topics()], False),
        9,
    ),
    ApiKey.OFFSET_COMMIT: lambda: (
        offset_commit.OffsetCommitRequest(
            "group-0",
            topics=[
                offset_commit.OffsetCommitRequestTopic(
                    "wide", partitions=of_wide(lambda n: offset_commit.OffsetCommitRequestPartition(n, 5))
                )
            ],
        ),
        8,
    ),
    ApiKey.OFFSET_FETCH: lambda: (
        offset_fetch.OffsetFetchRequest(
            groups=[
                offset_fetch.OffsetFetchRequestGroup(
                    name,
                    topics=[offset_fetch.OffsetFetchRequestTopics("topic-0", partition_indexes=[0])] if odd else None,
                )
                for odd, name in enumerate(groups())
            ]
        ),
        8,
    ),
    ApiKey.FIND_COORDINATOR: lambda: (
        find_coordinator.FindCoordinatorRequest(key_type=0, coordinator_keys=groups()),
        4,
    ),
    ApiKey.JOIN_GROUP: lambda: (
        join_group.JoinGroupRequest(
            "group-0",
            60_000,
            60_000,
            protocol_type="consumer",
            protocols=[join_group.JoinGroupRequestProtocol(f"p{n}", b"") for n in range(MANY)],
        ),
        3,
    ),
    ApiKey.HEARTBEAT: SMALL,
    ApiKey.LEAVE_GROUP: lambda: (
        leave_group.LeaveGroupRequest("group-0", members=[leave_group.MemberIdentity(name) for name in topics()]),
        4,
    ),
    ApiKey.SYNC_GROUP: lambda: (
        sync_group.SyncGroupRequest(
            "group-0", 1, "m", assignments=[sync_group.SyncGroupRequestAssignment(name, b"") for name in topics()]
        ),
        3,
    ),
    ApiKey.DESCRIBE_GROUPS: lambda: (describe_groups.DescribeGroupsRequest(groups(), True), 5),
    ApiKey.LIST_GROUPS: lambda: (list_groups.ListGroupsRequest(), 4),
    ApiKey.SASL_HANDSHAKE: SMALL,
    ApiKey.API_VERSIONS: SMALL,
    ApiKey.CREATE_TOPICS: lambda: (
        create_topics.CreateTopicsRequest([create_topics.CreatableTopic(name, 1, 1) for name in topics()], 1000, True),
        7,
    ),
    ApiKey.DELETE_TOPICS: lambda: (delete_topics.DeleteTopicsRequest(topic_names=topics()), 5),
    ApiKey.DELETE_RECORDS: lambda: (
        delete_records.DeleteRecordsRequest(
            [delete_records.DeleteRecordsTopic("wide", of_wide(lambda n: delete_records.DeleteRecordsPartition(n, -1)))]
        ),
        2,
    ),
    ApiKey.INIT_PRODUCER_ID: SMALL,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: lambda: (
        offset_for_leader_epoch.OffsetForLeaderEpochRequest(
            -1,
            [
                offset_for_leader_epoch.OffsetForLeaderTopic(
                    "wide", of_wide(lambda n: offset_for_leader_epoch.OffsetForLeaderPartition(n, -1, 0))
                )
            ],
        ),
        4,
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: lambda: (
        add_partitions_to_txn.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="id-0",
            v3_and_below_topics=[add_partitions_to_txn.AddPartitionsToTxnTopic(name, [0]) for name in topics()],
        ),
        3,
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: SMALL,
    ApiKey.END_TXN: SMALL,
    ApiKey.WRITE_TXN_MARKERS: lambda: (
        write_txn_markers.WriteTxnMarkersRequest(
            [
                write_txn_markers.WritableTxnMarker(
                    1, 0, True, [write_txn_markers.WritableTxnMarkerTopic("wide", of_wide(int))], 0
                )
            ]
        ),
        1,
    ),
    ApiKey.TXN_OFFSET_COMMIT: lambda: (
        txn_offset_commit.TxnOffsetCommitRequest(
            "id-0",
            "group-0",
            1,
            0,
            topics=[
                txn_offset_commit.TxnOffsetCommitRequestTopic(
                    "wide", partitions=of_wide(lambda n: txn_offset_commit.TxnOffsetCommitRequestPartition(n, 5))
                )
            ],
        ),
        3,
    ),
    ApiKey.DESCRIBE_ACLS: lambda: (describe_acls.DescribeAclsRequest(1, None, 1, None, None, 1, 1), 2),
    ApiKey.CREATE_ACLS: lambda: (
        create_acls.CreateAclsRequest([create_acls.AclCreation(2, name, 3, "User:a", "*", 3, 3) for name in topics()]),
        2,
    ),
    ApiKey.DELETE_ACLS: lambda: (
        delete_acls.DeleteAclsRequest(
            [delete_acls.DeleteAclsFilter(2, name, 3, "User:a", "*", 3, 3) for name in topics()]
        ),
        2,
    ),
    ApiKey.DESCRIBE_CONFIGS: lambda: (
        describe_configs.DescribeConfigsRequest(
            [describe_configs.DescribeConfigsResource(2, name, None) for name in topics()]
        ),
        4,
    ),
    ApiKey.ALTER_CONFIGS: lambda: (
        alter_configs.AlterConfigsRequest(
            [
                alter_configs.AlterConfigsResource(2, name, [alter_configs.AlterableConfig("retention.ms", "1")])
                for name in topics()
            ]
        ),
        2,
    ),
    ApiKey.ALTER_REPLICA_LOG_DIRS: lambda: (
        alter_replica_log_dirs.AlterReplicaLogDirsRequest(
            [
                alter_replica_log_dirs.AlterReplicaLogDir(
                    "/data", [alter_replica_log_dirs.AlterReplicaLogDirTopic("wide", of_wide(int))]
                )
            ]
        ),
        2,
    ),
    ApiKey.DESCRIBE_LOG_DIRS: lambda: (
        describe_log_dirs.DescribeLogDirsRequest([describe_log_dirs.DescribableLogDirTopic("wide", of_wide(int))]),
        4,
    ),
    ApiKey.SASL_AUTHENTICATE: SMALL,
    ApiKey.CREATE_PARTITIONS: lambda: (
        create_partitions.CreatePartitionsRequest(
            [create_partitions.CreatePartitionsTopic(name, 2, None) for name in topics()], 1000, True
        ),
        3,
    ),
    ApiKey.CREATE_DELEGATION_TOKEN: lambda: (
        create_delegation_token.CreateDelegationTokenRequest(
            renewers=[create_delegation_token.CreatableRenewers("User", name) for name in topics()]
        ),
        3,
    ),
    ApiKey.RENEW_DELEGATION_TOKEN: SMALL,
    ApiKey.EXPIRE_DELEGATION_TOKEN: SMALL,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: lambda: (
        describe_delegation_token.DescribeDelegationTokenRequest(
            [describe_delegation_token.DescribeDelegationTokenOwner("User", name) for name in topics()]
        ),
        3,
    ),
    ApiKey.DELETE_GROUPS: lambda: (delete_groups.DeleteGroupsRequest(groups()), 2),
    ApiKey.ELECT_LEADERS: lambda: (
        elect_leaders.ElectLeadersRequest(0, [elect_leaders.TopicPartitions("wide", of_wide(int))], 1000),
        2,
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: lambda: (
        incremental_alter_configs.IncrementalAlterConfigsRequest(
            [
                incremental_alter_configs.AlterConfigsResource(
                    2, name, [incremental_alter_configs.AlterableConfig("retention.ms", 0, "1")]
                )
                for name in topics()
            ]
        ),
        1,
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: lambda: (
        alter_partition_reassignments.AlterPartitionReassignmentsRequest(
            topics=[
                alter_partition_reassignments.ReassignableTopic(
                    "wide", of_wide(lambda n: alter_partition_reassignments.ReassignablePartition(n, [1]))
                )
            ]
        ),
        0,
    ),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: lambda: (
        list_partition_reassignments.ListPartitionReassignmentsRequest(
            topics=[list_partition_reassignments.ListPartitionReassignmentsTopics(name, [0]) for name in topics()]
        ),
        0,
    ),
    ApiKey.OFFSET_DELETE: lambda: (
        offset_delete.OffsetDeleteRequest(
            "group-0",
            [offset_delete.OffsetDeleteRequestTopic("wide", of_wide(offset_delete.OffsetDeleteRequestPartition))],
        ),
        0,
    ),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: lambda: (
        describe_client_quotas.DescribeClientQuotasRequest(
            [describe_client_quotas.ComponentData("user", 0, name) for name in topics()]
        ),
        1,
    ),
    ApiKey.ALTER_CLIENT_QUOTAS: lambda: (
        alter_client_quotas.AlterClientQuotasRequest(
            [
                alter_client_quotas.AlterClientQuotasRequestEntryData(
                    [alter_client_quotas.EntityData("user", name)],
                    [alter_client_quotas.OpData("producer_byte_rate", 1e6, False)],
                )
                for name in topics()
            ]
        ),
        1,
    ),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: lambda: (
        describe_user_scram_credentials.DescribeUserScramCredentialsRequest(
            [describe_user_scram_credentials.UserName(name) for name in topics()]
        ),
        0,
    ),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: lambda: (
        alter_user_scram_credentials.AlterUserScramCredentialsRequest(
            [alter_user_scram_credentials.ScramCredentialDeletion(name, 1) for name in topics()]
        ),
        0,
    ),
    ApiKey.DESCRIBE_QUORUM: lambda: (
        describe_quorum.DescribeQuorumRequest(
            [
                describe_quorum.DescribeQuorumRequestTopicData(
                    name, [describe_quorum.DescribeQuorumRequestPartitionData(0)]
                )
                for name in topics()
            ]
        ),
        0,
    ),
    ApiKey.UPDATE_FEATURES: lambda: (
        update_features.UpdateFeaturesRequest(
            feature_updates=[update_features.FeatureUpdateKey(name, 1) for name in topics()]
        ),
        1,
    ),
    ApiKey.DESCRIBE_CLUSTER: SMALL,
    ApiKey.DESCRIBE_PRODUCERS: lambda: (
        describe_producers.DescribeProducersRequest([describe_producers.TopicRequest("wide", list(range(MANY)))]),
        0,
    ),
    ApiKey.UNREGISTER_BROKER: SMALL,
    ApiKey.UNREGISTER_CONTROLLER: SMALL,
    ApiKey.ADD_RAFT_VOTER: lambda: (
        add_raft_voter.AddRaftVoterRequest(
            None, 1000, 3, b"1" * 16, [add_raft_voter.Listener(name, "h", 1) for name in topics()]
        ),
        0,
    ),
    ApiKey.REMOVE_RAFT_VOTER: SMALL,
    ApiKey.DESCRIBE_TRANSACTIONS: lambda: (describe_transactions.DescribeTransactionsRequest(ids()), 0),
    ApiKey.LIST_TRANSACTIONS: lambda: (
        list_transactions.ListTransactionsRequest(["Empty", *topics()], list(range(MANY)), -1, "id-.*"),
        2,
    ),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: lambda: (
        consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
            "consumers",
            "m",
            0,
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=topics(),
            topic_partitions=[],
        ),
        1,
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: lambda: (consumer_group_describe.ConsumerGroupDescribeRequest(groups(), True), 1),
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: SMALL,
    ApiKey.PUSH_TELEMETRY: lambda: (push_telemetry.PushTelemetryRequest(b"x" * 16, 0, metrics=b"\n\0" * 500_000), 0),
    ApiKey.LIST_CONFIG_RESOURCES: lambda: (list_config_resources.ListConfigResourcesRequest([2] * 10), 1),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: lambda: (
        describe_topic_partitions.DescribeTopicPartitionsRequest(
            [describe_topic_partitions.TopicRequest(name) for name in [*topics(), "wide"]], 2000
        ),
        0,
    ),
    ApiKey.SHARE_GROUP_HEARTBEAT: lambda: (
        share_group_heartbeat.ShareGroupHeartbeatRequest("share-0", "m", 0, None, topics()),
        1,
    ),
    ApiKey.SHARE_GROUP_DESCRIBE: lambda: (share_group_describe.ShareGroupDescribeRequest(groups(), True), 1),
    ApiKey.STREAMS_GROUP_HEARTBEAT: lambda: (
        streams_group_heartbeat.StreamsGroupHeartbeatRequest(
            "streams",
            "m",
            rebalance_timeout_ms=1000,
            topology=streams_group_heartbeat.Topology(
                0,
                [
                    streams_group_heartbeat.Subtopology(
                        str(n),
                        [f"topic-{n % TOPICS}"],
                        state_changelog_topics=[streams_group_heartbeat.TopicInfo(f"changelog-{n}")],
                    )
                    for n in range(MANY)
                ],
            ),
            active_tasks=[],
            standby_tasks=[],
            warmup_tasks=[],
            process_id="process",
        ),
        1,
    ),
    ApiKey.STREAMS_GROUP_DESCRIBE: lambda: (streams_group_describe.StreamsGroupDescribeRequest(groups(), True), 1),
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: lambda: (
        streams_group_topology_description_update.StreamsGroupTopologyDescriptionUpdateRequest(
            "streams",
            "m",
            0,
            streams_group_topology_description_update.TopologyDescription(
                [
                    streams_group_topology_description_update.TopologyDescriptionSubtopology(
                        "0",
                        [
                            streams_group_topology_description_update.TopologyDescriptionNode(f"node-{n}")
                            for n in range(MANY)
                        ],
                    )
                ]
            ),
        ),
        0,
    ),
    ApiKey.SHARE_FETCH: lambda: (
        share_fetch.ShareFetchRequest(
            "share-0",
            "m",
            max_records=1,
            batch_size=1,
            topics=[share_fetch.FetchTopic(bytes(16), [share_fetch.FetchPartition(n) for n in range(MANY)])],
        ),
        2,
    ),
    ApiKey.SHARE_ACKNOWLEDGE: lambda: (
        share_acknowledge.ShareAcknowledgeRequest("share-0", "m", 1, topics=acknowledgements()),
        2,
    ),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: of_share_states(
        initialize_share_group_state.InitializeShareGroupStateRequest,
        initialize_share_group_state.InitializeStateData,
        initialize_share_group_state.PartitionData,
    ),
    ApiKey.READ_SHARE_GROUP_STATE: of_share_states(
        read_share_group_state.ReadShareGroupStateRequest,
        read_share_group_state.ReadStateData,
        read_share_group_state.PartitionData,
    ),
    ApiKey.WRITE_SHARE_GROUP_STATE: of_share_states(
        write_share_group_state.WriteShareGroupStateRequest,
        write_share_group_state.WriteStateData,
        write_share_group_state.PartitionData,
    ),
    ApiKey.DELETE_SHARE_GROUP_STATE: of_share_states(
        delete_share_group_state.DeleteShareGroupStateRequest,
        delete_share_group_state.DeleteStateData,
        delete_share_group_state.PartitionData,
    ),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: of_share_states(
        read_share_group_state_summary.ReadShareGroupStateSummaryRequest,
        read_share_group_state_summary.ReadStateSummaryData,
        read_share_group_state_summary.PartitionData,
    ),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: lambda: (
        describe_share_group_offsets.DescribeShareGroupOffsetsRequest(
            [describe_share_group_offsets.DescribeShareGroupOffsetsRequestGroup(name, None) for name in groups()]
        ),
        0,
    ),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: lambda: (
        alter_share_group_offsets.AlterShareGroupOffsetsRequest(
            "share-1",
            [
                alter_share_group_offsets.AlterShareGroupOffsetsRequestTopic(
                    "wide", of_wide(lambda n: alter_share_group_offsets.AlterShareGroupOffsetsRequestPartition(n, 0))
                )
            ],
        ),
        0,
    ),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: lambda: (
        delete_share_group_offsets.DeleteShareGroupOffsetsRequest(
            "share-2", [delete_share_group_offsets.DeleteShareGroupOffsetsRequestTopic(name) for name in topics()]
        ),
        0,
    ),
}

#: The APIs of which a request may name many things, in the order of the table.
LARGE = [key for key, row in ROWS.items() if row != SMALL]
