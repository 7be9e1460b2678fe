"""confluent-kafka (librdkafka): producing and reading.

Covers every codec, acks, keys, headers, timestamps, partitioning, idempotence, refusals, offsets by time, seeking and pausing, and
many records both ways. Transactions are in test_transactions.py. Left out: KIP-848.
"""

from __future__ import annotations

import pytest
from confluent_kafka import OFFSET_END, TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, KafkaError, TopicPartition

from compat_tests.confluent.conftest import read, send
from compat_tests.conftest import LONG


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_codec(make_topic, producer, consumer, name, codec):
    topic = make_topic()
    sent = [f"value {i} ".encode() * 20 for i in range(500)]
    send(producer(compression_codec=codec, linger_ms=20), topic, sent)
    reader = consumer(name("group"), check_crcs=True)
    reader.assign([TopicPartition(topic, 0, 0)])
    assert [message.value() for message in read(reader, len(sent))] == sent


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_acks(make_topic, producer, consumer, name, acks):
    topic = make_topic()
    reports = send(producer(acks=acks), topic, [b"%d" % i for i in range(20)])
    assert all(report.error() is None for report in reports)
    reader = consumer(name("group"))
    reader.assign([TopicPartition(topic, 0, 0)])
    assert [message.value() for message in read(reader, 20)] == [b"%d" % i for i in range(20)]


def test_record_keeps_key_headers_timestamp(make_topic, producer, consumer, name):
    topic = make_topic()
    headers = [("trace", b"\x00\xff"), ("trace", b"again"), ("null", None), ("empty", b"")]
    send(producer(), topic, [b"v"], key=b"k", headers=headers, timestamp=1_600_000_000_123)
    reader = consumer(name("group"))
    reader.assign([TopicPartition(topic, 0, 0)])
    (message,) = read(reader, 1)
    assert (message.key(), message.value(), message.headers()) == (b"k", b"v", headers)
    assert message.timestamp() == (TIMESTAMP_CREATE_TIME, 1_600_000_000_123)
    assert message.leader_epoch() == 0


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_log_append_time(make_topic, producer, consumer, name, codec):
    topic = make_topic(**{"message.timestamp.type": "LogAppendTime"})
    (report,) = send(producer(compression_codec=codec), topic, [b"v"], timestamp=1000)
    assert report.timestamp()[0] == TIMESTAMP_LOG_APPEND_TIME
    reader = consumer(name("group"))
    reader.assign([TopicPartition(topic, 0, 0)])
    assert read(reader, 1)[0].timestamp() == report.timestamp()


@pytest.mark.parametrize("stored", ["gzip", "zstd", "uncompressed"])
def test_topics_compression_type_overrides_the_producers(make_topic, producer, consumer, name, stored):
    topic = make_topic(**{"compression.type": stored})
    sent = [b"x" * 500 for _ in range(100)]
    send(producer(compression_codec="snappy", linger_ms=20), topic, sent)
    reader = consumer(name("group"))
    reader.assign([TopicPartition(topic, 0, 0)])
    assert [message.value() for message in read(reader, 100)] == sent


def test_timestamps_out_of_bounds_are_refused(make_topic, producer):
    topic = make_topic(**{"message.timestamp.before.max.ms": "1000"})
    (report,) = send(producer(), topic, [b"v"], timestamp=1_000_000)
    assert report.error().code() == KafkaError.INVALID_TIMESTAMP


def test_partitioners_agree_with_reading(make_topic, producer, consumer, name):
    topic = make_topic(partitions=4)
    one = producer(partitioner="murmur2_random")
    for i in range(100):
        one.produce(topic, b"%d" % i, key=b"key-%d" % (i % 10))
    one.flush()
    reader = consumer(name("group"))
    reader.assign([TopicPartition(topic, partition, 0) for partition in range(4)])
    places: dict[bytes, set[int]] = {}
    for message in read(reader, 100):
        places.setdefault(message.key(), set()).add(message.partition())
    assert all(len(partitions) == 1 for partitions in places.values())
    assert len(set.union(*places.values())) > 1


def test_idempotent_producer_with_five_in_flight(make_topic, producer, consumer, name):
    topic = make_topic()
    sent = [b"%06d" % i for i in range(5000)]
    reports = send(producer(enable_idempotence=True, batch_num_messages=50, linger_ms=0), topic, sent)
    assert [report.offset() for report in reports] == list(range(5000))
    reader = consumer(name("group"))
    reader.assign([TopicPartition(topic, 0, 0)])
    assert [message.value() for message in read(reader, 5000)] == sent


def test_record_above_the_topics_limit_is_refused(make_topic, producer):
    topic = make_topic(**{"max.message.bytes": "1000"})
    small, large = send(producer(linger_ms=0), topic, [b"x"]) + send(producer(), topic, [b"x" * 5000])
    assert small.error() is None
    assert large.error().code() == KafkaError.MSG_SIZE_TOO_LARGE


def test_large_record_above_fetch_limits(make_topic, producer, consumer, name):
    topic = make_topic(**{"max.message.bytes": "6000000"})
    value = bytes(range(256)) * 20_000
    (report,) = send(producer(message_max_bytes=6_000_000), topic, [value])
    assert report.error() is None
    reader = consumer(name("group"), fetch_message_max_bytes=1000)
    reader.assign([TopicPartition(topic, 0, 0)])
    assert read(reader, 1)[0].value() == value


def test_keyless_record_on_a_compacted_topic_is_refused(make_topic, producer):
    topic = make_topic(**{"cleanup.policy": "compact"})
    (report,) = send(producer(), topic, [b"no key"])
    assert report.error().code() == 87


def test_unknown_partition_and_bad_name(make_topic, producer):
    topic = make_topic()
    (report,) = send(producer(), topic, [b"v"], partition=7)
    assert report.error().code() == KafkaError._UNKNOWN_PARTITION
    (report,) = send(producer(message_timeout_ms=5000), "no spaces here", [b"v"])
    assert report.error().code() in {KafkaError.TOPIC_EXCEPTION, KafkaError._UNKNOWN_TOPIC}


def test_topic_is_created_by_producing(producer, consumer, name):
    topic = name()
    (report,) = send(producer(), topic, [b"first"])
    assert (report.error(), report.offset()) == (None, 0)


def test_offsets_by_time(make_topic, producer, consumer, name):
    topic, base = make_topic(), 1_700_000_000_000
    one = producer(linger_ms=50)
    for i in range(10):  # in batches, so that answers lie within one
        one.produce(topic, b"%d" % i, timestamp=base + 1000 * i)
    one.flush()
    reader = consumer(name("group"))
    found = {}
    for wanted in (-1, 0, 3500, 9000, 9001):
        (at,) = reader.offsets_for_times([TopicPartition(topic, 0, base + wanted)], timeout=60)
        found[wanted] = at.offset
    assert found == {-1: 0, 0: 0, 3500: 4, 9000: 9, 9001: OFFSET_END}
    assert reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=60) == (0, 10)


def test_seek_and_pause(make_topic, producer, consumer, name):
    topic = make_topic(partitions=2)
    for partition in (0, 1):
        send(producer(), topic, [b"%d" % i for i in range(10)], partition=partition)
    reader = consumer(name("group"))
    reader.assign([TopicPartition(topic, 0, 7), TopicPartition(topic, 1, OFFSET_END)])
    assert [(m.partition(), m.offset()) for m in read(reader, 3)] == [(0, 7), (0, 8), (0, 9)]
    reader.pause([TopicPartition(topic, 0)])
    reader.seek(TopicPartition(topic, 1, 8))
    assert [(m.partition(), m.offset()) for m in read(reader, 2)] == [(1, 8), (1, 9)]
    reader.resume([TopicPartition(topic, 0)])
    reader.seek(TopicPartition(topic, 0, 9))
    assert [(m.partition(), m.offset()) for m in read(reader, 1)] == [(0, 9)]


def test_end_of_partition_and_offset_reset(make_topic, producer, consumer, name):
    topic = make_topic()
    send(producer(), topic, [b"only"])
    reader = consumer(name("group"), enable_partition_eof=True)
    reader.assign([TopicPartition(topic, 0, 500)])  # beyond the end: the reset takes it to 0
    assert reader.poll(60).value() == b"only"
    assert reader.poll(60).error().code() == KafkaError._PARTITION_EOF
    strict = consumer(name("group"), auto_offset_reset="error")
    strict.assign([TopicPartition(topic, 0, 500)])
    assert strict.poll(60).error().code() == KafkaError._AUTO_OFFSET_RESET


def test_many_records_in_and_out(make_topic, producer, consumer, name):
    """Of 100 bytes over six partitions, a million with PYKBROKER_LONG: all arrive, none twice, each partition in order."""
    topic, count = make_topic(partitions=6), 1_000_000 if LONG else 100_000
    failed: list[object] = []
    one = producer(enable_idempotence=True, linger_ms=20, queue_buffering_max_messages=200_000, batch_size=500_000)
    one_report = lambda error, _message: failed.append(error) if error else None  # noqa: E731
    padding = b"x" * 92
    for i in range(count):
        while True:
            try:
                one.produce(topic, b"%08d" % i + padding, partition=i % 6, on_delivery=one_report)
                break
            except BufferError:
                one.poll(0.1)
        if i % 10_000 == 0:
            one.poll(0)
    assert one.flush(120) == 0
    assert failed == []
    reader = consumer(name("group"), queued_min_messages=200_000)
    reader.assign([TopicPartition(topic, partition, 0) for partition in range(6)])
    expected = list(range(6))
    total = 0
    while total < count:
        batch = reader.consume(10_000, timeout=30)
        assert batch, f"only {total} of {count} records came"
        total += len(batch)
        for message in batch:
            partition = message.partition()
            assert int(message.value()[:8]) == expected[partition]
            expected[partition] += 6
    assert reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=60)[1] == len(range(0, count, 6))
