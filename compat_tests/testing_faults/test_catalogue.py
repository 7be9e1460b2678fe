"""Each kind of chaos beside Apache Kafka 4.4.0, to which the same happens by real means: the same answers, and a stock client goes on.

The means are a process that gets no turn (SIGSTOP), is stopped or killed, quotas, reassignments with elections, an idle connection, small
segments, and a network that loses an answer. Kinds that need other brokers are in test_apart.py, which says that none is left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from compat_tests.conftest import takes_long
from compat_tests.oracle.connection import Closed, Connection
from compat_tests.oracle.requests import Ask, records
from compat_tests.oracle.transacting import NOT_YET, Transacting, quiet_until
from compat_tests.testing_faults.sides import IDLE_MS, STOCK, Apache, Ours, Side, wait_until
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.api_versions import ApiVersionsRequest
from pykbroker.wire.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.describe_transactions import DescribeTransactionsRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import encode_batch

#: Between the two brokers of a side, one of which is restarted, a client has this long.
LIMIT_S = 60
BIG = b"x" * 700_000
EARLIEST, LATEST = -2, -1
#: What takes longer than this waited: all that makes it wait takes at least twice as long, counted from before that begins. So it is seen
#: on a machine that stands still for a while, too.
SLOW_S = 0.2


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Ours, Apache]]:
    ours, apache = Ours(), Apache(tmp_path_factory.mktemp("catalogue"))
    try:
        yield ours, apache
    finally:
        ours.close()
        apache.close()


@pytest.fixture(autouse=True)
def _disconnecting(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "sides" in request.fixturenames:
        for side in request.getfixturevalue("sides"):
            side.disconnect()


# ---- what is asked


def producing(topic: str, value: bytes = b"v") -> ProduceRequest:
    record = records(0, 1)
    record[0].value = value
    return ProduceRequest(
        None, -1, 10_000, [TopicProduceData(topic, partition_data=[PartitionProduceData(0, encode_batch(record))])]
    )


def code(answer: Any) -> tuple[str, int]:
    """The error and offset of an answer to Produce."""
    found = answer.responses[0].partition_responses[0]
    return ErrorCode(found.error_code).name, found.base_offset


def produced(connection: Connection, topic: str) -> Any:
    """The same, or that the connection is closed."""
    try:
        return code(connection.ask(producing(topic), 9))
    except Closed:
        return "closed"


def end_of(side: Side, topic: str, which: int = LATEST) -> int:
    """The offset behind the last record, or that of the first."""
    error, offset = side.end_of(topic, 2, which)
    assert error == "NONE", error
    return offset


def fetching(topic: str, offset: int = 0, epoch: int = -1) -> FetchRequest:
    partitions = [FetchPartition(0, epoch, offset, -1, -1, 1 << 24)]
    return FetchRequest(replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=1 << 24, session_epoch=-1,
                        topics=[FetchTopic(topic, partitions=partitions)])  # fmt: skip


# ---- the stock client


class Stock:
    """An idempotent producer of librdkafka that has met the leader."""

    def __init__(self, side: Side, topic: str) -> None:
        self._side, self._topic = side, topic
        self._producer = Producer({
            "bootstrap.servers": side.bootstrap, "client.id": STOCK, "enable.idempotence": True, "linger.ms": 0, "log_level": 0,
            "socket.timeout.ms": 1000, "retry.backoff.ms": 20, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200,
        })  # fmt: skip
        self._producer.produce(topic, b"before")
        assert self._producer.flush(LIMIT_S) == 0

    def produce(self) -> None:
        """Begin to write one more."""
        self._producer.produce(self._topic, b"during")
        self._producer.poll(0)

    def flush(self) -> None:
        """Wait until it has been told that all is there."""
        assert self._producer.flush(LIMIT_S) == 0

    def outcome(self) -> list[bytes | None]:
        """What of it stands in the topic, when it has been told that all is there."""
        self.flush()
        consumer = Consumer(
            {"bootstrap.servers": self._side.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
        )
        consumer.assign([TopicPartition(self._topic, 0, 0)])
        seen: list[bytes | None] = []
        while b"during" not in seen:
            message = consumer.poll(LIMIT_S)
            assert message is not None
            if message.error() is None:
                seen.append(message.value())
        seen += [each.value() for each in consumer.consume(100, 0.3)]
        consumer.close()
        return [each for each in seen if each in (b"before", b"during")]


# ---- the kinds


def waits(side: Side, kind: str, topic: str) -> Any:
    """A request that is slow, and what became of it."""
    began = time.monotonic()
    with side.request(kind, ApiKey.PRODUCE):
        answer = code(side.connect().ask(producing(topic), 9))
        return time.monotonic() - began > SLOW_S, answer


def held_up(side: Side, kind: str, topic: str) -> Any:
    """Who asked has gone, and it is done all the same."""
    before, began = end_of(side, topic), time.monotonic()
    with side.request(kind, ApiKey.PRODUCE):
        connection = side.connect()
        connection.send(producing(topic), 9)
        connection.has_news(SLOW_S)
        connection.close()
        wait_until(lambda: end_of(side, topic) == before + 1, "the record does not come")
    return time.monotonic() - began > 2 * SLOW_S


def _throttled(connection: Connection, topic: str) -> Any:
    answer: Any = connection.ask(producing(topic, b"x" * 11_500), 9)
    return answer if answer.throttle_time_ms else None


def throttled(side: Side, kind: str, topic: str) -> Any:
    with side.request(kind, ApiKey.PRODUCE):
        connection, began = side.connect(), 0.0

        def is_throttled() -> Any:
            nonlocal began
            began = time.monotonic()
            return _throttled(connection, topic)

        answer = wait_until(is_throttled, "it is not throttled")
        connection.ask(ApiVersionsRequest(), 0)
        muted = time.monotonic() - began > SLOW_S
        seen = code(answer)[0], answer.throttle_time_ms > 0, muted
    with side.request(kind, ApiKey.FETCH):
        fetches = side.connect()

        def throttled_fetch() -> Any:
            found: Any = fetches.ask(fetching(topic), 12)
            return found if found.throttle_time_ms else None

        found = wait_until(throttled_fetch, "it is not throttled")
        return *seen, found.error_code, found.responses


def short_fetch(side: Side, kind: str, topic: str) -> Any:
    """Less than there is and was asked for, and the rest behind it."""
    connection = side.connect()
    offsets: list[int] = []

    def is_written() -> bool:
        """A leader may not know of a new topic yet, or of its follower."""
        error, offset = code(connection.ask(producing(topic, BIG), 9))
        offsets.extend([offset] * (error == "NONE"))
        return len(offsets) == 2

    wait_until(is_written, "it is not written")
    first, second = offsets
    with side.request(kind, ApiKey.FETCH):
        sizes = []
        for offset in (first, second):
            found = connection.ask(fetching(topic, offset), 12).responses[0].partitions[0]
            sizes.append((ErrorCode(found.error_code).name, len(found.records) // len(BIG)))
    return sizes


def lost(side: Side, kind: str, topic: str) -> Any:
    """Whether it was done, and whether the broker takes the next."""
    before = end_of(side, topic)
    with side.request(kind, ApiKey.PRODUCE):
        try:
            seen = produced(side.connect(), topic)
        except ConnectionError:  # it was gone before this machine came to connect to it
            seen = "closed"
    wait_until(lambda: side.leads(2, topic), "broker 2 does not lead")
    return seen, end_of(side, topic) - before


def closed_behind(side: Side, kind: str, topic: str) -> Any:
    with side.request(kind, ApiKey.PRODUCE):
        connection = side.connect()
        seen = produced(connection, topic)[0]
        assert connection.has_news(IDLE_MS / 1000 * 4)
        with pytest.raises(Closed):
            connection.receive_raw()
        return seen


def old_metadata(side: Side, kind: str, topic: str) -> Any:
    """A topic that is made while broker 2 is asked about it; that it is behind is a matter of moments in Apache Kafka."""
    for number in range(20):
        name = f"{topic}-{number}"
        with side.request(kind, ApiKey.METADATA):
            connection = side.connect()
            asked = MetadataRequest([MetadataRequestTopic(name=name)], False)
            sent = connection.send(asked, 12)
            made = CreatableTopic(name, -1, -1, [CreatableReplicaAssignment(0, [1])])
            answer = side.once(CreateTopicsRequest([made], 10_000), 7)
            assert answer.topics[0].error_code == 0, answer
            found = connection.receive(ApiKey.METADATA, 12, sent).topics[0]
        if found.error_code:
            then = wait_until(lambda name=name: side.leader(name, 2)[0] == 1, "broker 2 does not learn of it")
            return ErrorCode(found.error_code).name, then
    pytest.fail("broker 2 is never behind")


def leader_moved(side: Side, kind: str, topic: str) -> Any:
    """What the leader of before says, and the new one to whoever knows the epoch of before only."""
    epoch = side.leader(topic)[1]
    side.move(kind, topic, 1)
    wait_until(lambda: side.leads(1, topic) and not side.leads(2, topic), "broker 2 leads")
    old, new = side.connect(2), side.connect(1)
    seen = [
        code(old.ask(producing(topic), 9))[0],
        *(
            ErrorCode(each.ask(fetching(topic, 0, epoch), 12).responses[0].partitions[0].error_code).name
            for each in (old, new)
        ),
    ]
    return [*seen, side.leader(topic)[1] - epoch, code(new.ask(producing(topic), 9))[0]]


def coordinator_moved(side: Side, kind: str, topic: str) -> Any:
    """What the coordinator of before says, and that the new one is found and answers once it has loaded."""
    asked = OffsetFetchRequest(topic, None)
    finding = FindCoordinatorRequest(topic)
    wait_until(lambda: side.once(finding, 3).error_code == 0, "there is no coordinator")
    wait_until(lambda: side.once(asked, 5, side.leader("__consumer_offsets")[0]).error_code == 0, "it does not load")
    before = side.leader("__consumer_offsets")[0]
    side.move(kind, "__consumer_offsets", 3 - before)
    refused = wait_until(lambda: side.once(asked, 5, before).error_code, "it goes on")
    found = wait_until(lambda: side.once(finding, 3).node_id == 3 - before, "the new one is not found")
    said = set()

    def loaded() -> bool:
        said.add(ErrorCode(side.once(asked, 5, 3 - before).error_code).name)
        return "NONE" in said

    wait_until(loaded, "the new one does not load")
    return ErrorCode(refused).name, found, said <= {"NONE", "COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"}


def broker_down(side: Side, kind: str, topic: str) -> Any:
    """The connection ends, the other broker leads by the next epoch, and takes records; the first one comes back."""
    connection, epoch = side.connect(), side.leader(topic)[1]
    connection.ask(ApiVersionsRequest(), 0)
    with side.down(kind):
        assert connection.has_news(LIMIT_S)
        with pytest.raises(Closed):
            connection.receive_raw()
        wait_until(lambda: side.leader(topic)[0] == 1 and side.leads(1, topic), "broker 1 does not lead")
        seen = side.leader(topic)[1] - epoch, code(side.connect(1).ask(producing(topic), 9))[0]
    wait_until(lambda: side.leader(topic, 2)[0] == 1, "broker 2 does not know of it")
    return seen


def brokers_cut_off(side: Side, kind: str, topic: str) -> Any:
    """A leader waits for the follower, and answers when that is back."""
    side.topic(f"{topic}-led", 1, 2)
    connection = side.connect(1)
    before = code(connection.ask(producing(f"{topic}-led"), 9))
    began = time.monotonic()
    with side.cut_off(kind):
        answer = code(connection.ask(producing(f"{topic}-led"), 9))
        return before, time.monotonic() - began > 2 * SLOW_S, answer


def coordinator(side: Side, key: str, key_type: int) -> int:
    """The broker that coordinates a group (0) or a transactional id (1)."""
    found = wait_until(
        lambda: answer if (answer := side.once(FindCoordinatorRequest(key, key_type), 3)).error_code == 0 else None,
        "there is no coordinator",
    )
    node: int = found.node_id
    return node


def session_expired(side: Side, kind: str, topic: str) -> Any:
    """A member of a classic group and one of the new protocol's, of which nothing has come."""
    node = coordinator(side, topic, 0)
    connection = side.connect(node)
    joins = JoinGroupRequest(
        topic, 600, 5000, protocol_type="consumer", protocols=[JoinGroupRequestProtocol("range", b"")]
    )
    member: Any = wait_until(
        lambda: answer if not (answer := connection.ask(joins, 3)).error_code else None,  # type: ignore[attr-defined]
        "it does not join",
    )
    side.silent(kind, 1500)
    described = DescribeGroupsRequest([topic])
    wait_until(lambda: not side.once(described, 5, node).groups[0].members, "its session does not end")
    beat: Any = side.connect(node).ask(HeartbeatRequest(topic, member.generation_id, member.member_id), 3)
    return ErrorCode(beat.error_code).name


def transaction_timed_out(side: Side, kind: str, topic: str) -> Any:
    """What the producer of a transaction that was aborted meanwhile is told."""
    node = coordinator(side, topic, 1)
    ask = Ask(side.addresses[node], 9, "aside")
    try:
        producer = Transacting(ask, topic, 700)
        producer.add((topic, 0))
        side.silent(kind, 1500)
        ask.reconnect()  # an idle one would be closed
        described = DescribeTransactionsRequest([producer.id])
        quiet_until(ask, lambda found: found.transaction_states[0].transaction_state == "CompleteAbort", described, 0)
        ended: Any = side.connect(node).ask(producer.ending(commit=True), 3)
        init = InitProducerIdRequest(producer.id, 700)
        began = quiet_until(ask, lambda found: found.error_code not in NOT_YET, init, 4)
        return ErrorCode(ended.error_code).name, began.error_code, began.producer_epoch - producer.epoch
    finally:
        ask.close()


def records_expired(side: Side, kind: str, topic: str) -> Any:
    name = f"{topic}-short"
    side.topic(name, 2, 1, retention_ms="1")
    written = code(side.connect().ask(producing(name), 9))
    with side.rounds(kind):
        wait_until(lambda: end_of(side, name, EARLIEST) == 1, "it is not deleted")
    connection = side.connect()  # an idle one would be closed
    found = connection.ask(fetching(name), 12).responses[0].partitions[0]
    return written, ErrorCode(found.error_code).name, code(connection.ask(producing(name), 9))


def offsets_expired(side: Side, kind: str, topic: str) -> Any:
    """What a group is told that has begun again later than its offsets are kept."""
    connection = side.connect(coordinator(side, topic, 0))
    position = OffsetCommitRequestTopic(topic, partitions=[OffsetCommitRequestPartition(0, 7)])
    commits = OffsetCommitRequest(topic, -1, "", retention_time_ms=1, topics=[position])
    asked = OffsetFetchRequest(topic, [OffsetFetchRequestTopic(topic, [0])])

    def is_committed() -> bool:
        answer: Any = connection.ask(commits, 4)
        return not answer.topics[0].partitions[0].error_code

    def offset() -> int | None:
        found: Any = connection.ask(asked, 5)
        return None if found.error_code else found.topics[0].partitions[0].committed_offset

    wait_until(is_committed, "it cannot be committed")
    with side.rounds(kind):
        wait_until(lambda: offset() == -1, "it does not expire")
    return offset()


def topic_made_again(side: Side, kind: str, topic: str) -> Any:
    """What who knows the id of before is told by the leader, and where the new one begins."""
    before = side.topic_id(topic)
    written = code(side.connect().ask(producing(topic), 9))
    side.make_again(kind, topic)
    wait_until(lambda: side.leads(2, topic), "broker 2 does not lead")
    asked = fetching(topic)
    asked.topics[0].topic_id = before
    connection = side.connect()
    found: Any = connection.ask(asked, 13)
    return (
        written,
        ErrorCode(found.responses[0].partitions[0].error_code).name,
        code(connection.ask(producing(topic), 9)),
    )


KINDS: dict[str, Callable[[Side, str, str], Any]] = {
    "slow request": waits,
    "slow answer": waits,
    "held up": held_up,
    "throttled": throttled,
    "short fetch": short_fetch,
    "connection lost with the request": lost,
    "connection lost with the answer": lost,
    "connection closed behind the answer": closed_behind,
    "old metadata": old_metadata,
    "leader moved": leader_moved,
    "coordinator moved": coordinator_moved,
    "broker restarted": broker_down,
    "broker lost": broker_down,
    "brokers cut off": brokers_cut_off,
    "session expired": session_expired,
    "transaction timed out": transaction_timed_out,
    "records expired": records_expired,
    "offsets expired": offsets_expired,
    "topic made again": topic_made_again,
}
#: What befalls no producer; readers and groups live with it in compat_tests/chaos_programs.
NOT_OF_PRODUCERS = (
    "session expired",
    "transaction timed out",
    "records expired",
    "offsets expired",
    "topic made again",
)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_answers(sides: tuple[Ours, Apache], kind: str) -> None:
    topic = "t-" + kind.replace(" ", "-")
    seen = []
    for side in sides:
        replicas = (2,) if "lost with" in kind else (2, 1)
        side.topic(topic, *replicas, segment_bytes="1048576", retention_ms="-1")  # records of the tests are years old
        seen.append(KINDS[kind](side, kind, topic))
    assert seen[0] == seen[1], f"ours, and Apache Kafka's: {seen}"


@takes_long
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in NOT_OF_PRODUCERS])
def test_a_stock_client_goes_on(sides: tuple[Ours, Apache], kind: str) -> None:
    topic = "s-" + kind.replace(" ", "-")
    for side in sides:
        side.topic(topic, 2, 1)
        stock = Stock(side, topic)
        if kind in ("leader moved", "coordinator moved"):
            side.move(kind, topic, 1)
            stock.produce()
        elif kind == "brokers cut off":
            with side.cut_off(kind):
                stock.produce()
                stock.flush()
        elif kind.startswith("broker"):
            with side.down(kind):
                stock.produce()
                wait_until(lambda side=side: side.leader(topic)[0] == 1, "broker 1 does not lead")
        else:
            with side.request(
                kind, {"short fetch": ApiKey.FETCH, "old metadata": ApiKey.METADATA}.get(kind, ApiKey.PRODUCE)
            ):
                stock.produce()
                stock.flush()
        assert stock.outcome() == [b"before", b"during"], side
