"""The same requests, usual and odd, through the shorter path and through the handler: answers, files and state must be the same."""

from __future__ import annotations

import gc
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pykbroker.handlers import usual_produce
from pykbroker.metadata.names import CONSUMER_OFFSETS
from pykbroker.requests.pipeline import Place, through
from pykbroker.tests.kit.both_ways import ELSEWHERE, OneWay, answers_of
from pykbroker.tests.kit.cluster import START_MS
from pykbroker.tests.kit.depth import examples
from pykbroker.wire.compression import Compression
from pykbroker.wire.headers import RequestHeader, encode_request_header
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

#: Settings of topics that decide what becomes of a batch: opaque, read, refused, synced first, stamped.
TOPICS = {
    "plain": {},
    "compacted": {"cleanup.policy": "compact"},
    "small": {"max.message.bytes": "200"},
    "synced": {"flush.messages": "1"},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
    "packed": {"compression.type": "gzip"},
}
NAMES = [*TOPICS, ELSEWHERE, CONSUMER_OFFSETS, "absent"]


#: A request: version, topics with their partitions, acks, transactional id, and whether it has fields that nobody knows.
Request = tuple[int, list[tuple[str, list[PartitionProduceData]]], int, str | None, bool]


def a_batch(rng: Random) -> bytes:
    producer_id, epoch = rng.choice([(-1, -1), (-1, -1), (7, 0), (7, 1), (8, 0)])
    timestamp = rng.choice([START_MS, START_MS, START_MS, START_MS + 10**9, -1])
    key = rng.choice([b"k", None])
    values = [rng.choice([b"", rng.randbytes(50), b"x" * 9000]) for _ in range(rng.randint(1, 3))]
    return encode_batch(
        [Record(timestamp=timestamp, key=key, value=value) for value in values],
        compression=rng.choice([Compression.NONE, Compression.NONE, Compression.GZIP, Compression.ZSTD]),
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=rng.randint(0, 3) if producer_id >= 0 else -1,
        transactional=rng.random() < 0.1,
    )


def spoilt(rng: Random, whole: bytes) -> bytes:
    """Mostly as it is; else with a byte changed, cut, or with something behind."""
    data = bytearray(whole)
    match rng.choices(["whole", "changed", "cut", "longer"], [20, 2, 1, 1])[0]:
        case "changed":
            data[rng.randrange(min(len(data), 90))] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
        case "cut":
            del data[rng.randrange(len(data)) :]
        case "longer":
            data += rng.choice([rng.randbytes(rng.randint(1, 70)), a_batch(rng)])
    return bytes(data)


def a_request(rng: Random) -> Request:
    def part() -> PartitionProduceData:
        records = rng.choice([None, b""]) if rng.random() < 0.05 else spoilt(rng, a_batch(rng))
        unknown = {3: b"x"} if rng.random() < 0.05 else None
        return PartitionProduceData(rng.choice([0, 0, 0, 1, 1, 2, -1]), records, unknown)

    topics = [
        (rng.choice(["plain", *NAMES]), [part() for _ in range(rng.randint(1, 3))])
        for _ in range(rng.choice([1, 1, 1, 2, 3]))
    ]
    return (
        rng.choice([9, 9, 10, 11, 12, 13, 13, 8, 3]),
        topics,
        rng.choice([1, 1, 1, -1, -1, -1, 0, 2]),
        "id" if rng.random() < 0.1 else None,
        rng.random() < 0.1,
    )


def encoded(brokers: tuple[OneWay, ...], request: Request, correlation_id: int) -> list[bytes]:
    """The request for each of the brokers, whose topics have ids of their own."""
    version, topics, acks, transactional_id, is_tagged = request
    frames = []
    for broker in brokers:
        frame = bytearray()
        encode_request_header(frame, RequestHeader(0, version, correlation_id, "client"))
        data = []
        for name, parts in topics:
            found = broker.world.image.topics.get(name)
            topic = TopicProduceData(partition_data=parts)
            if version < 13:
                topic.name = name
            else:
                topic.topic_id = b"n" * 16 if found is None else found.id
            if version < 9:
                for part in parts:
                    part.unknown_tagged_fields = None
            data.append(topic)
        unknown = {9: b"new"} if is_tagged and version >= 9 else None
        ProduceRequest(transactional_id, acks, 1000, data, unknown).encode(frame, version)
        frames.append(bytes(frame))
    return frames


@settings(deadline=None, max_examples=examples(20))
@given(st.integers(0, 2**32))
def test_both_paths_answer_and_write_alike(seed: int) -> None:
    rng = Random(seed)
    brokers = OneWay(TOPICS, usual=True), OneWay(TOPICS, usual=False)
    for number in range(60):
        first, second = encoded(brokers, a_request(rng), number)
        assert first == second, "the topics have other ids"
        frame = spoilt(rng, first)
        answers = [broker.answer(frame) for broker in brokers]
        assert answers[0] == answers[1]
    assert brokers[0].state() == brokers[1].state()


def test_the_shorter_path_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a usual request, as long as nothing is around the handler; an odd one is left to the handler."""
    taken = answers_of(usual_produce, monkeypatch)
    broker = OneWay(TOPICS, usual=True)
    batch = encode_batch([Record(timestamp=START_MS, value=b"v")])

    def produce(topic: str = "plain", acks: int = 1) -> bool | None:
        """Whether it was answered so; None if it was not tried."""
        taken.clear()
        request: Request = (12, [(topic, [PartitionProduceData(0, batch)])], acks, None, False)
        assert broker.answer(encoded((broker,), request, 1)[0])
        return None if not taken else type(taken[0]) is list

    assert produce()
    assert produce(acks=-1)
    assert produce("synced") is False
    assert produce("small")
    assert produce(ELSEWHERE) is False
    assert produce("absent") is False
    places = broker.world.dispatcher.places
    places.fill(Place.OBSERVE, through(lambda broker, ctx, request, proceed: proceed()))
    assert produce() is None
    places.empty(Place.OBSERVE)
    assert produce()


@pytest.mark.parametrize("size", [125, 127, 16_382, 16_383, 2_097_150, 2_097_151])
def test_lengths_of_one_byte_to_four(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A length counts itself: with these sizes it is the last that fits into its bytes, and the first that does not; no batch has 126."""
    taken = answers_of(usual_produce, monkeypatch)
    large = {"large": {"max.message.bytes": "3000000"}}
    brokers = OneWay(large, usual=True), OneWay(large, usual=False)
    lengths = range(max(0, size - 90), size)
    batches = (encode_batch([Record(timestamp=START_MS, key=b"key", value=b"x" * length)]) for length in lengths)
    batch = next(each for each in batches if len(each) >= size)
    assert len(batch) == size
    frame, _ = encoded(brokers, (12, [("large", [PartitionProduceData(0, batch)])], -1, None, False), 1)
    assert brokers[0].answer(frame) == brokers[1].answer(frame)
    assert type(taken[0]) is list
    assert brokers[0].state() == brokers[1].state()
    assert brokers[0].world.partition("large").log_end_offset == 1


@pytest.mark.parametrize("usual", [True, False])
def test_a_refused_batch_leaves_nothing_to_the_collector(usual: bool) -> None:
    """The error of an append refers to the frames that it passed, which refer to the received bytes."""
    broker = OneWay(TOPICS, usual=usual)
    batch = encode_batch([Record(timestamp=START_MS, value=bytes(900))])
    frame = encoded((broker,), (9, [("small", [PartitionProduceData(0, batch)])], 1, None, False), 1)[0]
    broker.answer(frame)
    gc.collect()
    gc.disable()
    try:
        broker.answer(frame)
        assert gc.collect() == 0
    finally:
        gc.enable()
