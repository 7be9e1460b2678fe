"""No request holds the loop: every API with as many things as a frame holds, and its longest turn in executed lines.

Lines are counted, not time: they are the same on every machine. A turn is what the loop does between two polls: the dispatcher
with a frame, or what is due and what was left for the next turn. A new API without a row fails.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pykbroker.access.step import authorise
from pykbroker.controller.topics import NewTopic
from pykbroker.faults.fault import Fault
from pykbroker.faults.injector import Injector
from pykbroker.handlers.contract import CloseConnection
from pykbroker.handlers.table import SUPPORTED
from pykbroker.requests.pipeline import Place
from pykbroker.security.acl import ALLOW, Acl
from pykbroker.security.authorizer import STANDARD_AUTHORIZER, Authorizer
from pykbroker.security.operations import ALL, READ
from pykbroker.security.resources import LITERAL, TOPIC
from pykbroker.tests.kit.cluster import GROUP_KEY, TRANSACTION_KEY, MemoryCluster
from pykbroker.tests.kit.depth import of_depths
from pykbroker.tests.kit.share_groups import ShareCluster, ShareMember
from pykbroker.tests.kit.transactions import Producer
from pykbroker.tests.kit.turns import MOST, Counted, in_a_thread
from pykbroker.wire.apis import APIS, ApiKey
from pykbroker.wire.errors import ErrorCode
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
    init_producer_id,
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
#: Access lists of the cluster that has them.
LISTS = 6000
#: The most bytes of memory for a byte of the request and its answer: a partition that takes four bytes in a frame is an object of
#: a hundred, with another one for its result.
MOST_MEMORY = 36

#: APIs that take more, with the reason.
MORE_MEMORY = {
    ApiKey.SHARE_GROUP_HEARTBEAT: 64,  # each partition of its topics gets its state
    ApiKey.STREAMS_GROUP_HEARTBEAT: 48,  # the topology stays with the group, and its topics are created
    ApiKey.UPDATE_FEATURES: 64,  # a request and an update for each, in tables by name, for an answer of one error
}

#: The most objects that a request leaves in cycles: a full collection of garbage, which finds them, is a long turn.
MOST_IN_CYCLES = 3000

#: APIs that leave more, with the reason.
MORE_IN_CYCLES = {
    ApiKey.UPDATE_FEATURES: 20_000,  # its updates, by a decision that begins itself again
    ApiKey.SHARE_FETCH: 40_000,  # its partitions and their answers, by what it waits with
}

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
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: lambda: (
        initialize_share_group_state.InitializeShareGroupStateRequest(
            "share-0",
            [
                initialize_share_group_state.InitializeStateData(
                    bytes(16), [initialize_share_group_state.PartitionData(n) for n in range(MANY)]
                )
            ],
        ),
        0,
    ),
    ApiKey.READ_SHARE_GROUP_STATE: lambda: (
        read_share_group_state.ReadShareGroupStateRequest(
            "share-0",
            [
                read_share_group_state.ReadStateData(
                    bytes(16), [read_share_group_state.PartitionData(n) for n in range(MANY)]
                )
            ],
        ),
        0,
    ),
    ApiKey.WRITE_SHARE_GROUP_STATE: lambda: (
        write_share_group_state.WriteShareGroupStateRequest(
            "share-0",
            [
                write_share_group_state.WriteStateData(
                    bytes(16), [write_share_group_state.PartitionData(n) for n in range(MANY)]
                )
            ],
        ),
        0,
    ),
    ApiKey.DELETE_SHARE_GROUP_STATE: lambda: (
        delete_share_group_state.DeleteShareGroupStateRequest(
            "share-0",
            [
                delete_share_group_state.DeleteStateData(
                    bytes(16), [delete_share_group_state.PartitionData(n) for n in range(MANY)]
                )
            ],
        ),
        0,
    ),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: lambda: (
        read_share_group_state_summary.ReadShareGroupStateSummaryRequest(
            "share-0",
            [
                read_share_group_state_summary.ReadStateSummaryData(
                    bytes(16), [read_share_group_state_summary.PartitionData(n) for n in range(MANY)]
                )
            ],
        ),
        0,
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


@pytest.fixture(scope="module")
def world() -> Counted:
    return _cluster()


@pytest.fixture(scope="module")
def measured() -> Counted:
    """Another one: requests that were asked of the first have made members and topics there."""
    return _cluster()


@pytest.fixture(scope="module")
def faulty() -> Counted:
    """One for injected errors: a second member of a group that joins waits for the first, which does not come back."""
    return _cluster()


def _cluster(groups: int = GROUPS, **settings: str) -> Counted:
    """A cluster with many topics, partitions, groups and transactional ids."""
    made = Counted(auto_create_topics_enable="false", **settings)
    made.traced = False
    made.create(NewTopic("wide", WIDE, 1))
    made.create(*(NewTopic(f"topic-{number}", 1, 1) for number in range(TOPICS)))
    made.coordinator("g", GROUP_KEY)
    made.coordinator("i", TRANSACTION_KEY)
    for number in range(groups):
        partitions = [offset_commit.OffsetCommitRequestPartition(0, 1)]
        commit = offset_commit.OffsetCommitRequestTopic(f"topic-{number % TOPICS}", partitions=partitions)
        MemoryCluster.ask(made, offset_commit.OffsetCommitRequest(f"group-{number}", topics=[commit]), 8)
        MemoryCluster.ask(made, init_producer_id.InitProducerIdRequest(f"id-{number}", 60_000), 4)
    for index in range(WIDE):
        _ = made.partition("wide", index).log  # opened once, by a thread where it exists since before the start
    made.counts = made.traced = True
    made.cluster.runtime.offload_read = made.cluster.runtime.offload = partial(in_a_thread, made.cluster.runtime)
    return made


LARGE = [key for key, row in ROWS.items() if row != SMALL]


def test_every_api_has_a_row() -> None:
    assert set(ROWS) == {api.key for api in SUPPORTED}


@pytest.mark.parametrize("key", LARGE, ids=lambda key: key.name)
def test_no_turn_is_long(world: Counted, key: ApiKey) -> None:
    gc.collect()
    gc.disable()
    try:
        assert _longest(world, key)[0] <= MOST
        assert gc.collect() <= MORE_IN_CYCLES.get(key, MOST_IN_CYCLES)
    finally:
        gc.enable()


def _longest(world: Counted, key: ApiKey) -> tuple[int, Any]:
    """The lines of the longest turn of an API, and the answer."""
    row = ROWS[key]
    assert not isinstance(row, str)
    request, version = row()
    _warm(world, request, version)
    world.longest = 0
    answer = world.post(request, version)
    for _ in range(20_000):
        if answer.done:
            break
        world.run_turn()
    assert answer.done
    assert answer.value
    return world.longest, answer.value


@pytest.mark.deep
@pytest.mark.parametrize("key", LARGE, ids=lambda key: key.name)
def test_no_request_takes_much_memory(measured: Counted, key: ApiKey, monkeypatch: pytest.MonkeyPatch) -> None:
    """The peak, over the bytes that come and go. A cluster that keeps what is committed or created counts as well."""
    world = measured
    monkeypatch.setattr(world, "traced", False)
    row = ROWS[key]
    assert not isinstance(row, str)
    request, version = row()
    _warm(world, request, version)
    frame = bytearray()
    request.encode(frame, version)
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        answer = world.post(request, version)
        for _ in range(20_000):
            if answer.done:
                break
            world.run_turn()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert answer.done
    both = len(frame) + sum(map(len, answer.value))
    assert peak - before <= 16 * 1024 + MORE_MEMORY.get(key, MOST_MEMORY) * both


@pytest.fixture(scope="module")
def denying() -> Counted:
    """A cluster with thousands of access lists, none of which allows anything."""
    made = _guarded(allows=False)
    made.counts = True
    return made


@pytest.fixture(scope="module")
def allowing() -> Counted:
    """One with as many access lists that allow all: some of names of the requests, the others of all names to other users."""
    return _guarded(allows=True)


def _guarded(*, allows: bool) -> Counted:
    made = _cluster(
        300 if allows else 0, authorizer_class_name=STANDARD_AUTHORIZER, allow_everyone_if_no_acl_found="true"
    )
    everyone = [Acl(TOPIC, name, LITERAL, "User:*", "*", ALL, ALLOW) for name in topics()[: LISTS // 3]]
    others = [Acl(TOPIC, name, LITERAL, "User:a", "*", READ, ALLOW) for name in topics()[: LISTS // 3]]
    wildcards = [Acl(TOPIC, "*", LITERAL, f"User:{number}", "*", ALL, ALLOW) for number in range(LISTS // 3)]
    for_all = [Acl(TOPIC, "*", LITERAL, "User:*", "*", ALL, ALLOW)] if allows else []
    created = made.controller.create_acls([*(everyone if allows else ()), *others, *wildcards, *for_all])
    assert not any(made.finished(created))
    broker = made.cluster.brokers[1]
    assert broker.authorizer is not None
    if not allows:
        broker.authorizer = Authorizer(now=made.clock.monotonic)
        broker.authorizer.load(made.image)
    made.dispatcher.places.fill(Place.AUTHORISE, authorise)
    return made


@pytest.mark.deep
@pytest.mark.parametrize("key", LARGE, ids=lambda key: key.name)
def test_no_turn_is_long_with_access_lists(allowing: Counted, key: ApiKey) -> None:
    assert _longest(allowing, key)[0] <= MOST


@pytest.mark.deep
@pytest.mark.parametrize("key", LARGE, ids=lambda key: key.name)
def test_no_turn_is_long_for_who_is_denied(denying: Counted, key: ApiKey) -> None:
    assert _longest(denying, key)[0] <= MOST


@pytest.mark.deep
@pytest.mark.parametrize("key", LARGE, ids=lambda key: key.name)
@pytest.mark.parametrize("fault", [{}, {"after": True}], ids=str)
def test_no_turn_is_long_under_an_injected_error(faulty: Counted, key: ApiKey, fault: dict[str, Any]) -> None:
    """Its error stands at each item that is meant, among the answers to the others."""
    injector = Injector(faulty.dispatcher, lambda: faulty.cluster)
    injector.add(Fault(APIS[key].name, error="UNKNOWN_SERVER_ERROR", **fault))
    try:
        assert _longest(faulty, key)[0] <= MOST
    finally:
        injector.clear()


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        (ApiKey.METADATA, {"leader": 7}),
        (ApiKey.METADATA, {"error": "LEADER_NOT_AVAILABLE", "topic": "*1"}),
        (ApiKey.FETCH, {"error": "NOT_LEADER_OR_FOLLOWER", "topic": "w*"}),
        (ApiKey.FETCH, {"corrupt": True, "topic": "w*"}),
        (ApiKey.PRODUCE, {"duplicate": True, "topic": "w*"}),
        (ApiKey.DESCRIBE_GROUPS, {"error": "NOT_COORDINATOR", "group": "no-group-1*"}),
    ],
    ids=str,
)
def test_no_turn_is_long_under_a_fault(world: Counted, key: ApiKey, fault: dict[str, Any]) -> None:
    injector = Injector(world.dispatcher, lambda: world.cluster)
    injector.add(Fault(APIS[key].name, **fault))
    try:
        assert _longest(world, key)[0] <= MOST
    finally:
        injector.clear()


def test_an_answer_of_many_items_is_cut_off_in_slices(world: Counted) -> None:
    injector = Injector(world.dispatcher, lambda: world.cluster)
    injector.add(Fault("Metadata", truncate=100))
    try:
        with pytest.raises(CloseConnection):
            _longest(world, ApiKey.METADATA)
        assert world.longest <= MOST
    finally:
        injector.clear()


def _warm(world: Counted, request: Message, version: int) -> None:
    """Imports and caches of the API."""
    empty = type(request)()
    try:
        MemoryCluster.post(world, empty, version)
    except Exception:  # noqa: BLE001 - its fields may be required
        return
    world.settle()


def test_no_turn_is_long_where_topics_are_created_because_they_are_asked_for() -> None:
    """The first five hundred are; the client asks again for the others."""
    world = Counted()
    world.ask(metadata.MetadataRequest([metadata.MetadataRequestTopic(name="first")], True), 9)
    world.counts, world.longest = True, 0
    world.cluster.runtime.offload = partial(in_a_thread, world.cluster.runtime)
    missing = [metadata.MetadataRequestTopic(name=f"missing-{number}") for number in range(20_000)]
    answer = world.post(metadata.MetadataRequest(missing, True), 9)
    while not answer.done:
        world.run_turn()
    for _ in range(50):  # the topics are some changes of the metadata
        world.run_turn()
    assert len(world.image.topics) == 501
    assert world.longest <= MOST


def test_full_collections_of_garbage_are_put_off_while_a_large_request_is_worked_on() -> None:
    world = MemoryCluster()
    world.coordinator("g")
    before = gc.get_threshold()
    answer = world.post(describe_groups.DescribeGroupsRequest([f"g{number}" for number in range(20_000)]), 5)
    assert gc.get_threshold()[2] > before[2]
    while not answer.done:
        world.run_turn()
    assert gc.get_threshold() == before


def test_full_collections_are_put_off_until_the_last_of_two_brokers_is_done() -> None:
    before = gc.get_threshold()
    first, second = MemoryCluster(), MemoryCluster()
    answers = []
    for world in (first, second):
        world.coordinator("g")
        answers.append(world.post(describe_groups.DescribeGroupsRequest([f"g{n}" for n in range(20_000)]), 5))
    for world, answer, after in ((first, answers[0], 1 << 30), (second, answers[1], before[2])):
        while not answer.done:
            world.run_turn()
        assert gc.get_threshold()[2] == after
    assert gc.get_threshold() == before


@pytest.mark.parametrize("version", [8, 10])
def test_no_turn_is_long_where_a_group_has_many_offsets(version: int) -> None:
    """All are fetched, without topics that are named."""
    world = Counted()
    world.create(NewTopic("wide", 6_000, 1), NewTopic("other", 1, 1))
    world.coordinator("g")
    commits = [
        offset_commit.OffsetCommitRequestTopic(
            name, partitions=[offset_commit.OffsetCommitRequestPartition(index, 7) for index in range(count)]
        )
        for name, count in (("wide", 6_000), ("other", 1))
    ]
    _answered(world, offset_commit.OffsetCommitRequest("g", topics=commits), 8)
    everything = offset_fetch.OffsetFetchRequest(groups=[offset_fetch.OffsetFetchRequestGroup("g", topics=None)])
    (group,) = _answered(world, everything, version).groups
    ids = {(each.id if version >= 10 else each.name): len(each.partitions) for each in world.image.topics.values()}
    assert {each.topic_id if version >= 10 else each.name: len(each.partitions) for each in group.topics} == {
        key: count for key, count in ids.items() if count in (6_000, 1)
    }
    assert {each.committed_offset for topic in group.topics for each in topic.partitions} == {7}
    world.counts, world.longest = True, 0
    _answered(world, everything, version)
    assert 0 < world.longest < MOST // 2


@pytest.mark.parametrize("kind", ["consumer", "share"])
def test_no_turn_is_long_where_a_member_names_many_topics_that_are_not_there(kind: str) -> None:
    """As many as its record has room for: two members join with them, one names fewer, and both leave."""
    world = Counted()
    world.coordinator("g")
    names = [f"no-{number}" for number in range(60_000)]

    def beat(member: str, epoch: int, topics: list[str] | None) -> None:
        request: Message
        if kind == "share":
            request = share_group_heartbeat.ShareGroupHeartbeatRequest("g", member, epoch, None, topics)
        else:
            request = consumer_group_heartbeat.ConsumerGroupHeartbeatRequest(
                "g",
                member,
                epoch,
                rebalance_timeout_ms=-1 if epoch else 60_000,
                subscribed_topic_names=topics,
                topic_partitions=None if epoch else [],
            )
        world.longest = 0
        _answered(world, request, 1)

    beat("first", 0, ["a"])
    world.counts = True
    for member, topics in (("m", names), ("n", names), ("m", names[:30_000])):
        beat(member, 0, topics)
        assert 0 < world.longest < MOST // 2
    for member in ("n", "m"):
        beat(member, -1, None)
        assert 0 < world.longest < MOST // 2


def _answered(world: MemoryCluster, request: Message, version: int) -> Any:
    answer = world.post(request, version)
    while not answer.done:
        world.run_turn()
    return answer.value


def test_no_turn_is_long_where_a_share_session_acknowledges_much() -> None:
    """The row of ShareAcknowledge has no session, and is refused as a whole."""
    world = Counted()
    world.coordinator("g")
    _answered(world, share_fetch.ShareFetchRequest("g", "m", max_records=1, batch_size=1), 2)
    world.counts, world.longest = True, 0
    request = share_acknowledge.ShareAcknowledgeRequest("g", "m", 1, topics=acknowledgements())
    _answered(world, request, 2)
    assert 0 < world.longest < MOST


class CountedShares(Counted, ShareCluster):
    """Of a share group."""


@pytest.mark.parametrize("batch_size", [1, 2000])
def test_a_share_group_reads_past_aborted_transactions_in_a_turn_that_grows_with_their_number(batch_size: int) -> None:
    few, many = (_past_aborted(count, batch_size) for count in (100, 400))
    assert few < MOST
    assert many <= 4.5 * few


def _past_aborted(count: int, batch_size: int) -> int:
    """The lines of the longest turn."""
    world = CountedShares()
    world.traced = False
    world.configure("share.isolation.level", "read_committed")
    world.joined()
    producer = Producer(world, "id").started()
    for _ in range(count):
        assert producer.send(b"") is ErrorCode.NONE
        assert producer.abort() is ErrorCode.NONE
    member = ShareMember(world)
    world.traced, world.longest = True, 0
    answer = member.fetch(max_records=2000, batch_size=batch_size)
    assert answer.responses[0].partitions[0].acquired_records
    return world.longest
