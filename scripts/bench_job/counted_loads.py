"""The loads whose instructions are counted: each prepares what it needs, then repeats one request."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from compat_tests.oracle.connection import Connection
from compat_tests.security.listeners import USERS, Listeners
from compat_tests.security.users import add_users
from pykbroker.client.connection import BrokerConnection
from pykbroker.security.client.settings import client_security
from pykbroker.tests.kit.groups import SUBSCRIBED_TO_T
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.message import Message
from pykbroker.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from pykbroker.wire.messages.create_acls import AclCreation, CreateAclsRequest
from pykbroker.wire.messages.end_txn import EndTxnRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from pykbroker.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from pykbroker.wire.records import Record, encode_batch
from scripts.bench_job.crowding import one_record
from scripts.bench_job.topics import led

RULES: Final = 1000
AUTHORIZER: Final = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",  # lists are created by an anonymous user
}
_TOPIC: Final = "counted"
#: Batches as large as those of a producer with ``batch.size=1000000``.
_LARGE_TOPIC: Final = "counted-large"
_LARGE: Final = 1_000_000
#: Of requests of several partitions.
_SIX_TOPIC: Final = "counted-six"
_SIX: Final = 6
_BATCH: Final = 16 * 1024
#: More batches of a partition than ``counted.py`` has requests of a kind.
_READ_ON: Final = 400
_TOPIC_TYPE, _LITERAL, _WRITE, _ALLOW = 2, 3, 4, 3
#: Of waiting fetches, which find one record each.
_WAITED_TOPIC: Final = "counted-waiting"
_FETCH_VERSION: Final = 11
_SESSION_MS = 1_800_000  # under valgrind everything is slow
_MANY: Final = 1000
_AGAIN: Final = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)

Ask = Callable[[], object]


class Load(NamedTuple):
    """``prepare`` returns, for a connection, the function that sends a request and receives its response.

    That function may also send ``also``, whose instructions are then not counted.
    """

    name: str
    prepare: Callable[[Connection], Ask]
    also: Load | None = None


def requests(connection: Connection, request: Message, version: int) -> Any:
    """Return the response, which must have no error."""
    answer = connection.ask(request, version)
    text = repr(answer)
    assert "error_code=" not in text.replace("error_code=0", "").replace("error_code=<ErrorCode.NONE: 0>", ""), text
    return answer


def _any(answer: Message) -> Any:
    return answer


def _produce(connection: Connection) -> Ask:
    led(connection, _TOPIC)
    return partial(requests, connection, one_record(_TOPIC, 100), 9)


def _produce_six(connection: Connection) -> Ask:
    return partial(requests, connection, _six_batches(connection), 9)


def _six_batches(connection: Connection) -> ProduceRequest:
    led(connection, _SIX_TOPIC, partitions=_SIX)
    request = one_record(_SIX_TOPIC, _BATCH)
    (data,) = request.topic_data[0].partition_data
    request.topic_data[0].partition_data = [PartitionProduceData(index, data.records) for index in range(_SIX)]
    return request


def _fetch_six(connection: Connection) -> Ask:
    requests(connection, _six_batches(connection), 9)
    request = _fetch_from(_SIX_TOPIC, 0, _SIX * 2 * _BATCH)
    request.topics[0].partitions = [FetchPartition(index, partition_max_bytes=_BATCH + 1024) for index in range(_SIX)]
    return partial(requests, connection, request, _FETCH_VERSION)


def _fetch_on(connection: Connection) -> Ask:
    """Of a consumer that reads on from the beginning, in a session; one batch of each partition at a time."""
    end = min(_base_offsets(requests(connection, _six_batches(connection), 9)))
    for _ in range(_READ_ON - end):
        requests(connection, _six_batches(connection), 9)
    request = _fetch_from(_SIX_TOPIC, 0, _SIX * 2 * _BATCH)
    request.topics[0].partitions = [FetchPartition(index, partition_max_bytes=_BATCH + 1024) for index in range(_SIX)]
    request.session_epoch = 0
    request.session_id = requests(connection, request, _FETCH_VERSION).session_id

    def go_on() -> None:
        request.session_epoch += 1
        for partition in request.topics[0].partitions:
            partition.fetch_offset += 1
        answer = requests(connection, request, _FETCH_VERSION)
        assert all(each.records for topic in answer.responses for each in topic.partitions)

    return go_on


def _base_offsets(answer: ProduceResponse) -> list[int]:
    return [each.base_offset for topic in answer.responses for each in topic.partition_responses]


def _produce_large(connection: Connection) -> Ask:
    led(connection, _LARGE_TOPIC)
    return partial(requests, connection, one_record(_LARGE_TOPIC, _LARGE), 9)


def _produce_among_rules(connection: Connection) -> Ask:
    led(connection, _TOPIC)
    requests(connection, CreateAclsRequest([_rule(number) for number in range(RULES)]), 3)
    return _produce(connection)


def _rule(number: int) -> AclCreation:
    """Return an access list for another user and topic; the last one lets everybody write to the measured topic."""
    last = number == RULES - 1
    topic, user = (_TOPIC, "ANONYMOUS") if last else (f"topic-{number}", f"user-{number}")
    return AclCreation(_TOPIC_TYPE, topic, _LITERAL, f"User:{user}", "*", _WRITE, _ALLOW)


def _fetch(connection: Connection) -> Ask:
    produce = _produce(connection)
    for _ in range(10):
        produce()
    return _fetched(connection, _TOPIC, 1500)


def _fetch_large(connection: Connection) -> Ask:
    _produce_large(connection)()
    return _fetched(connection, _LARGE_TOPIC, 1024 * 1024)


def _fetched(connection: Connection, topic: str, max_bytes: int) -> Ask:
    """Fetch from the beginning."""
    return partial(requests, connection, _fetch_from(topic, 0, max_bytes), _FETCH_VERSION)


def _fetch_from(topic: str, offset: int, max_bytes: int, max_wait_ms: int = 500) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        session_epoch=-1,
        topics=[FetchTopic(topic=topic, partitions=[partition])],
    )


def _fetch_waiting(connection: Connection) -> Ask:
    """Fetch from the end, which waits until a produce on another connection; the instructions are those of both.

    The request between them is answered in the turn of the loop in which the Fetch began to wait, or in a later one.
    """
    led(connection, _WAITED_TOPIC)
    fetching = Connection(connection.address, patience_s=_SESSION_MS / 1000)
    produce = partial(requests, connection, one_record(_WAITED_TOPIC, 100), 9)
    between = _init_producer_id(connection)

    def fetch_and_produce() -> None:
        offset = 1 + end.pop()
        fetch = _fetch_from(_WAITED_TOPIC, offset, _LARGE, _SESSION_MS)
        sent = fetching.send(fetch, _FETCH_VERSION)
        between()
        end.append(_base_offset(produce()))
        answer = fetching.receive(fetch.API_KEY, _FETCH_VERSION, sent)
        assert isinstance(answer, FetchResponse)
        assert answer.responses[0].partitions[0].records, answer

    end = [_base_offset(produce())]
    return fetch_and_produce


def _base_offset(answer: ProduceResponse) -> int:
    return answer.responses[0].partition_responses[0].base_offset


def _metadata_of_many(connection: Connection) -> Ask:
    names = [f"counted-many-{number}" for number in range(_MANY)]
    led(connection, *names)
    return partial(requests, connection, MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names]), 9)


def _metadata(connection: Connection) -> Ask:
    led(connection, _TOPIC)
    return partial(requests, connection, MetadataRequest(topics=[MetadataRequestTopic(name=_TOPIC)]), 9)


def _list_offsets(connection: Connection) -> Ask:
    led(connection, _TOPIC)
    asked_for = [ListOffsetsPartition(partition_index=0, timestamp=-1)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=_TOPIC, partitions=asked_for)])
    return partial(requests, connection, request, 7)


def _init_producer_id(connection: Connection) -> Ask:
    return partial(
        requests,
        connection,
        InitProducerIdRequest(None, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1),
        4,
    )


def _groups(connection: Connection) -> None:
    """Until the coordinator has loaded all partitions of its topic, which is created when FindCoordinator first asks for it."""
    connection.ask(FindCoordinatorRequest(coordinator_keys=["any"]), 4)
    asked = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(f"any-{number}") for number in range(_MANY)])
    while any(each.error_code in _AGAIN for each in _any(connection.ask(asked, 8)).groups):
        time.sleep(0.05)


def _new(group: str) -> str:
    """A group's name that no client has used: a member of a run before would hold up a new one."""
    return f"{group}-{uuid.uuid4().hex[:8]}"


def _offset_commit(connection: Connection, topic_name: str = _TOPIC, count: int = 1) -> Ask:
    led(connection, topic_name, partitions=count)
    _groups(connection)
    partitions = [
        OffsetCommitRequestPartition(index, committed_offset=1, committed_metadata="") for index in range(count)
    ]
    topic = OffsetCommitRequestTopic(name=topic_name, partitions=partitions)
    return partial(requests, connection, OffsetCommitRequest(group_id="offsets", topics=[topic]), 8)


def committed(connection: Connection, topic: str, groups: int) -> None:
    """So many groups with an offset each."""
    _groups(connection)
    parts = [OffsetCommitRequestPartition(0, committed_offset=1, committed_metadata="")]
    for number in range(groups):
        request = OffsetCommitRequest(f"committed-{number}", topics=[OffsetCommitRequestTopic(topic, partitions=parts)])
        requests(connection, request, 8)


def _offset_fetch(connection: Connection) -> Ask:
    _offset_commit(connection)()
    topics = [OffsetFetchRequestTopics(name=_TOPIC, partition_indexes=[0])]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="offsets", topics=topics)])
    return partial(requests, connection, request, 8)


def _heartbeat(connection: Connection) -> Ask:
    _groups(connection)
    group_id = _new("heartbeats")
    member_id, generation = _join(connection, group_id)
    request = HeartbeatRequest(group_id=group_id, generation_id=generation, member_id=member_id)
    return partial(requests, connection, request, 4)


def _consumer_heartbeat(connection: Connection) -> Ask:
    """Of the only member of a group of the consumer protocol, which has all that it is to have and nothing to report."""
    led(connection, _TOPIC)
    _groups(connection)
    group_id = _new("consumers")
    request = ConsumerGroupHeartbeatRequest(
        group_id=group_id,
        member_id="member",
        rebalance_timeout_ms=_SESSION_MS,
        subscribed_topic_names=[_TOPIC],
        topic_partitions=[],
    )
    for _ in range(4):
        answer = requests(connection, request, 1)
        request.member_epoch = answer.member_epoch
        assigned = answer.assignment.topic_partitions
        request.topic_partitions = [TopicPartitions(each.topic_id, each.partitions) for each in assigned]
    alive = ConsumerGroupHeartbeatRequest(group_id, "member", answer.member_epoch)
    return partial(requests, connection, alive, 1)


def _whole_membership(connection: Connection) -> Ask:
    """Each time with another group."""
    _groups(connection)
    numbers = itertools.count()

    def come_and_go() -> None:
        group_id = f"group-{next(numbers)}"
        member_id, _ = _join(connection, group_id)
        requests(connection, LeaveGroupRequest(group_id=group_id, members=[MemberIdentity(member_id=member_id)]), 4)

    return come_and_go


def _join(connection: Connection, group_id: str) -> tuple[str, int]:
    """Join as the only member of a group and assign; returns member id and generation."""
    join = JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=_SESSION_MS,
        rebalance_timeout_ms=_SESSION_MS,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=SUBSCRIBED_TO_T)],
    )
    joined = requests(connection, join, 3)
    mine = [SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"")]
    sync = SyncGroupRequest(
        group_id=group_id, generation_id=joined.generation_id, member_id=joined.member_id, assignments=mine
    )
    requests(connection, sync, 3)
    return joined.member_id, joined.generation_id


def _first_record(connection: Connection) -> Ask:
    """Each time of a consumer in a group of its own, from FindCoordinator to the record that it fetches first."""
    _produce(connection)()
    _groups(connection)
    earliest = ListOffsetsPartition(partition_index=0, timestamp=-2)
    begins = ListOffsetsRequest(-1, topics=[ListOffsetsTopic(name=_TOPIC, partitions=[earliest])])

    def consume() -> None:
        group_id = _new("first")
        requests(connection, FindCoordinatorRequest(coordinator_keys=[group_id]), 4)
        _join(connection, group_id)
        wanted = [OffsetFetchRequestGroup(group_id, topics=[OffsetFetchRequestTopics(_TOPIC, [0])])]
        requests(connection, OffsetFetchRequest(groups=wanted), 8)
        offset = requests(connection, begins, 7).topics[0].partitions[0].offset
        answer = requests(connection, _fetch_from(_TOPIC, offset, 1500), _FETCH_VERSION)
        assert answer.responses[0].partitions[0].records

    return consume


def _transaction(connection: Connection) -> Ask:
    """Of one record: AddPartitionsToTxn, Produce and EndTxn, which is asked again until the transaction before has its markers."""
    name = "counted-transaction"
    led(connection, _TOPIC)
    connection.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=[name]), 4)  # creates the coordinator's topic
    begun = _settled(connection, InitProducerIdRequest(name, 600_000, -1, -1), 4)
    producer = (begun.producer_id, begun.producer_epoch)
    adding = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=begun.producer_id,
        v3_and_below_producer_epoch=begun.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(_TOPIC, [0])],
    )
    sequences = itertools.count()

    def transact() -> None:
        _settled(connection, adding, 3)
        batch = encode_batch(
            [Record(timestamp=int(time.time() * 1000), value=bytes(100))],
            producer_id=begun.producer_id,
            producer_epoch=begun.producer_epoch,
            base_sequence=next(sequences),
            transactional=True,
        )
        data = [TopicProduceData(_TOPIC, partition_data=[PartitionProduceData(0, batch)])]
        requests(connection, ProduceRequest(name, -1, 60_000, data), 9)
        requests(connection, EndTxnRequest(name, *producer, committed=True), 3)

    return transact


def _settled(connection: Connection, request: Message, version: int) -> Any:
    """Ask until the coordinator is there, and the transaction before has ended."""
    while True:
        answer: Any = connection.ask(request, version)
        results = getattr(answer, "results_by_topic_v3_and_below", None)
        code = answer.error_code if results is None else results[0].results_by_partition[0].partition_error_code
        if code not in _AGAIN:
            assert not code, answer
            return answer


def signed_in(listeners: Listeners, connection: Connection) -> Ask:
    """A connection each time: handshake of TLS, ApiVersions, SCRAM, and its end."""
    name, word = "alice", USERS["alice"]
    add_users(connection.address, {name: word})
    login = f'org.apache.kafka.common.security.scram.ScramLoginModule required username="{name}" password="{word}";'
    settings = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": login,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(listeners.files.authority),
    }
    security = client_security(settings, lambda: int(time.time() * 1000), lambda: uuid.uuid4().hex)
    host, port = listeners.address("SASL_SSL").rsplit(":", 1)

    def sign_in() -> None:
        BrokerConnection(host, int(port), timeout_s=_SESSION_MS / 1000, client_id="bench", security=security).close()

    return sign_in


_INIT_PRODUCER_ID: Final = Load("InitProducerId", _init_producer_id)
PRODUCE: Final = Load("Produce, one record", _produce)
COMMIT: Final = Load("OffsetCommit of one partition", _offset_commit)
HEARTBEAT: Final = Load("Heartbeat", _heartbeat)
#: What clients do with a coordinator, beside small requests.
COORDINATED: Final = (
    HEARTBEAT,
    Load("ConsumerGroupHeartbeat", _consumer_heartbeat),
    COMMIT,
    Load("OffsetCommit of six partitions", partial(_offset_commit, topic_name=_SIX_TOPIC, count=_SIX)),
    Load("JoinGroup, SyncGroup, LeaveGroup", _whole_membership),
    Load("consumer in a new group, from FindCoordinator to its first record", _first_record),
    Load("transaction of one record, from begin to commit", _transaction),
)
PLAIN: Final = (
    PRODUCE,
    Load("Produce, six batches of 16 KiB", _produce_six),
    Load("Fetch, ten records", _fetch),
    Load("Fetch, six partitions of 16 KiB", _fetch_six),
    Load("Fetch, six partitions of 16 KiB, reading on in a session", _fetch_on),
    Load("Fetch that waits, and the produce that ends it", _fetch_waiting, _INIT_PRODUCER_ID),
    Load("Produce, 1 MB", _produce_large),
    Load("Fetch, 1 MB", _fetch_large),
    Load("Metadata of one topic", _metadata),
    Load("ListOffsets of one partition", _list_offsets),
    _INIT_PRODUCER_ID,
    Load("OffsetFetch of one partition", _offset_fetch),
    *COORDINATED,
    Load(f"Metadata of {_MANY:,} topics", _metadata_of_many),
)
AUTHORISED: Final = Load(f"Produce, one record, {RULES} access lists", _produce_among_rules)
