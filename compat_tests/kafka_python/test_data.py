"""kafka-python (3.x): producing and reading.

Covers every codec, acks 0, 1 and all, keys, headers and timestamps, idempotence, errors a producer meets, and reading by
offset and by time. Left out: transactions (they come with the transaction coordinator).
"""

from __future__ import annotations

from itertools import islice

import pytest
from kafka import TopicPartition
from kafka.errors import InvalidRecordError, InvalidTopicError, MessageSizeTooLargeError, RecordListTooLargeError


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_codec(make_topic, producer, consumer, codec):
    topic = make_topic()
    sent = [f"value {i} ".encode() * 20 for i in range(200)]
    with_codec = producer(compression_type=codec, linger_ms=20)
    for value in sent:
        with_codec.send(topic, value)
    with_codec.flush()
    assert [record.value for record in islice(consumer(topic), len(sent))] == sent


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_acks(make_topic, producer, consumer, acks):
    topic = make_topic()
    plain = producer(acks=acks, enable_idempotence=False)
    futures = [plain.send(topic, b"%d" % i) for i in range(20)]
    plain.flush()
    offsets = [future.get(60).offset for future in futures]
    if acks != 0:  # without an answer the client makes offsets up
        assert offsets == list(range(20))
    assert [record.value for record in islice(consumer(topic), 20)] == [b"%d" % i for i in range(20)]


def test_record_keeps_key_headers_timestamp(make_topic, producer, consumer):
    topic = make_topic()
    headers = [("trace", b"\x00\xff"), ("trace", b"again"), ("empty", b"")]
    stored = producer().send(topic, b"v", key=b"k", headers=headers, timestamp_ms=1_600_000_000_123).get(60)
    record = next(consumer(topic))
    assert (record.offset, record.key, record.value) == (stored.offset, b"k", b"v")
    assert record.timestamp == 1_600_000_000_123
    assert list(record.headers) == headers


def test_log_append_time_overrides_the_producers(make_topic, producer, consumer):
    topic = make_topic(**{"message.timestamp.type": "LogAppendTime"})
    stored = producer(compression_type="gzip").send(topic, b"v", timestamp_ms=1_000).get(60)
    record = next(consumer(topic))
    assert record.timestamp_type == 1
    assert record.timestamp == stored.timestamp > 1_600_000_000_000


def test_null_value_and_empty_value_differ(make_topic, producer, consumer):
    topic = make_topic()
    one = producer()
    one.send(topic, None, key=b"gone")
    one.send(topic, b"", key=b"empty")
    one.flush()
    assert [record.value for record in islice(consumer(topic), 2)] == [None, b""]


def test_same_key_same_partition(make_topic, producer, consumer):
    topic = make_topic(partitions=4)
    one = producer()
    for i in range(80):
        one.send(topic, b"%d" % i, key=b"key-%d" % (i % 8))
    one.flush()
    records = list(islice(consumer(topic), 80))
    partitions = {key: {r.partition for r in records if r.key == key} for key in {r.key for r in records}}
    assert all(len(places) == 1 for places in partitions.values())
    assert len(set.union(*partitions.values())) > 1


def test_idempotent_producer_keeps_order(make_topic, producer, consumer):
    topic = make_topic()
    one = producer(enable_idempotence=True, batch_size=200)
    futures = [one.send(topic, b"%05d" % i) for i in range(1000)]
    one.flush()
    assert [future.get(60).offset for future in futures] == list(range(1000))
    assert [r.value for r in islice(consumer(topic), 1000)] == [b"%05d" % i for i in range(1000)]


def test_record_above_the_topics_limit_is_refused(make_topic, producer):
    topic = make_topic(**{"max.message.bytes": "1000"})
    with pytest.raises((MessageSizeTooLargeError, RecordListTooLargeError)):
        producer(retries=0, enable_idempotence=False).send(topic, b"x" * 5000).get(60)


def test_large_record(make_topic, producer, consumer):
    topic = make_topic(**{"max.message.bytes": "6000000"})
    value = bytes(range(256)) * 20_000
    producer(max_request_size=6_000_000).send(topic, value).get(60)
    assert next(consumer(topic)).value == value, "a batch above every fetch limit is still delivered whole"


def test_keyless_record_on_a_compacted_topic_is_refused(make_topic, producer):
    topic = make_topic(**{"cleanup.policy": "compact"})
    with pytest.raises(InvalidRecordError):
        producer().send(topic, b"no key").get(60)
    assert producer().send(topic, b"v", key=b"k").get(60).offset == 0


def test_topic_is_created_by_producing(producer, consumer, name):
    topic = name()
    assert producer().send(topic, b"first").get(60).offset == 0
    assert next(consumer(topic)).value == b"first"


def test_invalid_topic_name(producer):
    with pytest.raises((InvalidTopicError, ValueError)):
        producer(max_block_ms=5000).send("no spaces here", b"v").get(60)


def test_offsets_by_time(make_topic, producer, consumer):
    topic, base = make_topic(), 1_700_000_000_000
    one = producer()
    for i in range(10):
        one.send(topic, b"%d" % i, timestamp_ms=base + 1000 * i).get(60)
    partition = TopicPartition(topic, 0)
    reader = consumer()
    found = {t: reader.offsets_for_times({partition: base + t})[partition] for t in (-1, 0, 3500, 9000)}
    assert {t: (at.offset, at.timestamp - base) for t, at in found.items()} == {
        -1: (0, 0),
        0: (0, 0),
        3500: (4, 4000),
        9000: (9, 9000),
    }
    assert reader.offsets_for_times({partition: base + 9001}) == {partition: None}
    assert reader.beginning_offsets([partition]) == {partition: 0}
    assert reader.end_offsets([partition]) == {partition: 10}


def test_seek_position_and_pause(make_topic, producer, consumer):
    topic = make_topic(partitions=2)
    one = producer()
    for partition in (0, 1):
        for i in range(10):
            one.send(topic, b"%d" % i, partition=partition)
    one.flush()
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    reader = consumer()
    reader.assign([first, second])
    reader.seek(first, 7)
    reader.seek_to_end(second)
    assert reader.position(second) == 10
    assert [(r.partition, r.offset) for r in islice(reader, 3)] == [(0, 7), (0, 8), (0, 9)]
    reader.pause(first)
    reader.seek(first, 0)
    reader.seek(second, 8)
    assert [(r.partition, r.offset) for r in islice(reader, 2)] == [(1, 8), (1, 9)]
    assert reader.highwater(second) == 10


def test_an_offset_out_of_range_resets(make_topic, producer, consumer):
    topic = make_topic()
    one = producer()
    for i in range(5):
        one.send(topic, b"%d" % i)
    one.flush()
    reader = consumer(auto_offset_reset="earliest")
    partition = TopicPartition(topic, 0)
    reader.assign([partition])
    reader.seek(partition, 1000)
    assert next(reader).offset == 0
