"""Fetch: sessions, limits, waiting, errors. What becomes of one that waits with its connection: ``test_fetch_connections.py``."""

from __future__ import annotations

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.batch_header import read_batch_header
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

VERSION = 17
#: No test waits so long.
FOR_EVER_MS = 3_600_000


@pytest.fixture
def world() -> MemoryCluster:
    return MemoryCluster()


def produced(topic: str, *values: bytes, partition: int = 0) -> ProduceRequest:
    """One batch with these values."""
    batch = encode_batch(
        [
            Record(offset=i, timestamp=1_700_000_000_000, key=None, value=value, headers=[])
            for i, value in enumerate(values)
        ]
    )
    data = PartitionProduceData(index=partition, records=batch)
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=[data])])


def produce(world: MemoryCluster, topic: str, *values: bytes, partition: int = 0) -> None:
    answer = world.ask(produced(topic, *values, partition=partition), 9)
    assert answer.responses[0].partition_responses[0].error_code == 0


def request(topic_id: bytes | None = None, offsets: dict[int, int] | None = None, **fields) -> FetchRequest:
    partitions = [
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=fields.get("partition_max", 1 << 20))
        for index, offset in (offsets or {}).items()
    ]
    return FetchRequest(
        max_wait_ms=fields.get("max_wait_ms", 0),
        min_bytes=fields.get("min_bytes", 1),
        max_bytes=fields.get("max_bytes", 1 << 24),
        isolation_level=fields.get("isolation_level", 0),
        session_id=fields.get("session_id", 0),
        session_epoch=fields.get("session_epoch", -1),
        topics=[FetchTopic(topic_id=topic_id, partitions=partitions)] if partitions else [],
        forgotten_topics_data=fields.get("forgotten", []),
    )


def sizes(response: FetchResponse) -> dict[int, int]:
    return {p.partition_index: len(p.records or b"") for topic in response.responses for p in topic.partitions}


def errors(response: FetchResponse) -> dict[int, int]:
    return {p.partition_index: p.error_code for topic in response.responses for p in topic.partitions}


def test_a_session_answers_with_what_changed(world: MemoryCluster) -> None:
    topic = world.topic("t", 3)
    produce(world, "t", b"zero", partition=0)
    full = world.ask(request(topic, {0: 0, 1: 0, 2: 0}, session_epoch=0), VERSION)
    session = full.session_id
    assert session != 0
    assert set(sizes(full)) == {0, 1, 2}
    step = {"session_id": session}
    assert world.ask(request(topic, {0: 1}, session_epoch=1, **step), VERSION).responses == []
    produce(world, "t", b"two", partition=2)
    changed = world.ask(request(session_epoch=2, **step), VERSION)
    assert set(sizes(changed)) == {2}
    again = world.ask(request(session_epoch=3, **step), VERSION)
    assert sizes(again) == sizes(changed)  # not acknowledged by a new offset: sent again
    forgotten = [ForgottenTopic(topic_id=topic, partitions=[2])]
    assert world.ask(request(session_epoch=4, forgotten=forgotten, **step), VERSION).responses == []


@pytest.mark.parametrize("usual", [True, False])
def test_a_session_goes_on_with_a_version_that_knows_no_divergence(usual: bool) -> None:
    """Version 12 said which epoch was last fetched; an answer in version 11 has no place for where the log diverges."""
    world = MemoryCluster(dispatcher=Dispatcher(usual=usual))
    world.topic("t", 1)
    produce(world, "t", b"zero", partition=0)
    wanted = FetchPartition(partition=0, fetch_offset=9, last_fetched_epoch=0)
    topics = [FetchTopic(topic="t", partitions=[wanted])]
    began = world.ask(FetchRequest(max_wait_ms=0, min_bytes=0, session_epoch=0, topics=topics), 12)
    assert began.responses[0].partitions[0].diverging_epoch is not None
    went_on = world.ask(FetchRequest(max_wait_ms=0, min_bytes=0, session_id=began.session_id, session_epoch=1), 11)
    assert errors(went_on) == {0: ErrorCode.OFFSET_OUT_OF_RANGE}


def test_session_errors(world: MemoryCluster) -> None:
    topic = world.topic("t", 1)
    unknown = world.ask(request(session_id=12345, session_epoch=1), VERSION)
    assert unknown.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    full = world.ask(request(topic, {0: 0}, session_epoch=0), VERSION)
    wrong = world.ask(request(session_id=full.session_id, session_epoch=5), VERSION)
    assert wrong.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    closed = world.ask(request(topic, {0: 0}, session_id=full.session_id, session_epoch=-1), VERSION)
    assert closed.session_id == 0
    after = world.ask(request(session_id=full.session_id, session_epoch=1), VERSION)
    assert after.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_one_whole_batch_even_above_every_limit(world: MemoryCluster) -> None:
    topic = world.topic("t", 2)
    for partition in (0, 1):
        produce(world, "t", b"x" * 5000, partition=partition)
        produce(world, "t", b"y" * 5000, partition=partition)
    answer = world.ask(request(topic, {0: 0, 1: 0}, max_bytes=10, partition_max=10), VERSION)
    assert sizes(answer)[0] > 5000
    assert sizes(answer)[1] == 0
    assert read_batch_header(answer.responses[0].partitions[0].records).size == sizes(answer)[0]


def test_an_offset_inside_a_batch_returns_that_batch(world: MemoryCluster) -> None:
    topic = world.topic("t", 1)
    produce(world, "t", b"a", b"b", b"c")
    answer = world.ask(request(topic, {0: 2}), VERSION)
    assert read_batch_header(answer.responses[0].partitions[0].records).base_offset == 0


def test_out_of_range_is_answered_at_once(world: MemoryCluster) -> None:
    topic = world.topic("t", 1)
    answer = world.ask(request(topic, {0: 1}, max_wait_ms=FOR_EVER_MS), VERSION)
    assert errors(answer) == {0: ErrorCode.OFFSET_OUT_OF_RANGE}


@pytest.mark.parametrize("session_epoch", [-1, 0], ids=["no session", "a new session"])
def test_answers_come_in_the_order_of_the_request_and_what_is_refused_last(
    world: MemoryCluster, session_epoch: int
) -> None:
    a, b = world.topic("a", 3), world.topic("b", 2)
    nobody = bytes(range(16))
    asked = request(session_epoch=session_epoch)
    for topic, index, offset in (
        (nobody, 0, 0),
        (a, 1, 0),
        (a, 9, 0),
        (b, 1, 0),
        (a, 0, 5),
        (a, 2, 0),
        (b, 0, 0),
        (a, 1, 7),
    ):
        part = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
        asked.topics.append(FetchTopic(topic_id=topic, partitions=[part]))
    answer = world.ask(asked, VERSION)
    seen = [(each.topic_id, [(p.partition_index, p.error_code) for p in each.partitions]) for each in answer.responses]
    out_of_range = ErrorCode.OFFSET_OUT_OF_RANGE
    assert seen == [
        (a, [(1, out_of_range)]),  # named twice: in its first place, as named last
        (b, [(1, 0)]),
        (a, [(0, out_of_range), (2, 0)]),
        (b, [(0, 0)]),
        (nobody, [(0, ErrorCode.UNKNOWN_TOPIC_ID)]),
        (a, [(9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]),
    ]


def test_waits_for_min_bytes(world: MemoryCluster) -> None:
    topic = world.topic("t", 1)
    waiting = world.post(request(topic, {0: 0}, min_bytes=600, max_wait_ms=FOR_EVER_MS), VERSION)
    for _ in range(2):
        produce(world, "t", b"x" * 200)
        assert not waiting.done
    produce(world, "t", b"x" * 200)
    assert sizes(world.finished(waiting))[0] >= 600


def test_answers_what_there_is_when_the_time_is_up(world: MemoryCluster) -> None:
    topic = world.topic("t", 1)
    produce(world, "t", b"little")
    waiting = world.post(request(topic, {0: 0}, min_bytes=1 << 20, max_wait_ms=30), VERSION)
    world.advance(29)
    assert not waiting.done
    world.advance(1)
    assert sizes(world.finished(waiting))[0] > 0


def test_a_waiting_fetch_learns_of_deletion_and_of_a_moved_log_start(world: MemoryCluster) -> None:
    topic = world.topic("t", 1)
    produce(world, "t", b"a")
    waiting = world.post(request(topic, {0: 1}, max_wait_ms=FOR_EVER_MS, session_epoch=0), VERSION)
    trim = DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=1)])
    world.ask(DeleteRecordsRequest(topics=[trim], timeout_ms=1000), 2)
    world.delete_topic("t")
    assert errors(world.finished(waiting)) == {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert world.topic("t", 1) != topic
    answer = world.ask(request(topic, {0: 0}, max_wait_ms=FOR_EVER_MS), VERSION)
    assert errors(answer) == {0: ErrorCode.UNKNOWN_TOPIC_ID}


def test_a_fetch_whose_time_is_up_after_its_session_was_closed_watches_no_more(world: MemoryCluster) -> None:
    topic = world.topic("t", 1)
    full = world.ask(request(topic, {0: 0}, session_epoch=0), VERSION)
    step = request(topic, {0: 0}, session_id=full.session_id, session_epoch=1, max_wait_ms=300)
    waiting = world.post(step, VERSION)
    assert world.partition("t").watchers
    world.ask(request(session_id=full.session_id, session_epoch=-1), VERSION)
    world.advance(300)
    assert world.finished(waiting).error_code == 0
    assert not world.partition("t").watchers


def test_a_fetch_by_name_follows_a_topic_that_is_made_again_while_it_waits(world: MemoryCluster) -> None:
    world.topic("t", 1)
    asked = request(b"", {0: 0}, max_wait_ms=FOR_EVER_MS)
    asked.topics[0].topic = "t"
    waiting = world.post(asked, 12)
    before = world.partition("t")
    assert before.watchers
    world.cluster.controller.delete_topics([world.image.topics["t"].id])
    world.cluster.controller.create_topics([NewTopic("t", 1, 1)])  # in the same turn, before the fetch looks again
    world.advance(0)
    assert world.partition("t") is not before
    assert not waiting.done
    produce(world, "t", b"a")
    assert sizes(world.finished(waiting))[0] > 0


#: Limits of a fetch of one or two partitions with 40 batches of some 3 KB each, which is answered at once.
CUT_READS = {
    "min bytes as large as a partition's limit": {"min_bytes": 10_000, "partition_max": 10_000, "partitions": 1},
    "min bytes above max bytes": {"min_bytes": 1 << 20, "max_bytes": 10_000},
    "min bytes as large as all partitions' limits": {"min_bytes": 20_000, "partition_max": 10_000},
    "a first batch above every limit": {"min_bytes": 1 << 20, "max_bytes": 10, "partition_max": 10},
    "no room for a batch of the second partition": {"min_bytes": 5000, "max_bytes": 5000, "partition_max": 4000},
}


@pytest.mark.parametrize("name", CUT_READS)
def test_a_read_that_its_limit_cuts_counts_as_the_limit(world: MemoryCluster, name: str) -> None:
    topic = world.topic("t", 2)
    for _ in range(40):
        for partition in (0, 1):
            produce(world, "t", b"x" * 3000, partition=partition)
    offsets = dict.fromkeys(range(CUT_READS[name].get("partitions", 2)), 0)
    answer = world.ask(request(topic, offsets, max_wait_ms=FOR_EVER_MS, **CUT_READS[name]), VERSION)
    assert sum(sizes(answer).values()) > 3000


def test_a_fetch_waits_where_its_limits_allow_less_than_its_min_bytes(world: MemoryCluster) -> None:
    """As in Apache Kafka: one partition may bring 10,000 bytes, and 20,000 are asked for."""
    topic = world.topic("t", 1)
    for _ in range(10):
        produce(world, "t", b"x" * 3000)
    limits = {"min_bytes": 20_000, "partition_max": 10_000}
    waiting = world.post(request(topic, {0: 0}, max_wait_ms=FOR_EVER_MS, **limits), VERSION)
    assert not waiting.done
    assert world.partition("t").watchers


def test_a_fetch_from_an_older_segment_does_not_wait(world: MemoryCluster) -> None:
    topic = world.topic("t", 1, segment_bytes="1048576", max_message_bytes="1000000")
    produce(world, "t", b"little")
    for _ in range(2):
        produce(world, "t", b"x" * 600_000)
    asked = request(topic, {0: 0}, min_bytes=1_100_000, partition_max=1 << 21, max_wait_ms=FOR_EVER_MS)
    assert 600_000 < sizes(world.ask(asked, VERSION))[0] < 700_000


def test_an_answer_whose_limit_leaves_a_small_batch_of_a_large_log(world: MemoryCluster) -> None:
    """The last partition has much to give, and the limit lets it give one small batch: too little to be left in its file,
    where the answers' encoding takes large ones alone.
    """
    topic = world.topic("t", 2)
    produce(world, "t", bytes(1_040_000))
    for value in (bytes(8_000), bytes(50_000)):
        produce(world, "t", value, partition=1)
    for room in (9_000, 20_000, 40_000, 60_000):
        found = sizes(world.ask(request(topic, {0: 0, 1: 0}, max_bytes=1_040_100 + room), VERSION))
        assert found[0] > 1_040_000
        assert 8_000 < found[1] < 9_000 if room < 60_000 else found[1] > 58_000
