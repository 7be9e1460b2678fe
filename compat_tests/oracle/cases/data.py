"""Produce, InitProducerId, DescribeProducers."""

from __future__ import annotations

import struct
from typing import Any

from compat_tests.oracle.cases import case
from compat_tests.oracle.requests import START_MS, Ask, records
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.compression import Compression
from pykbroker.wire.messages.api_versions import ApiVersionsRequest
from pykbroker.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

IDS_FROM = 13
CRC_AT = 17


def produce(
    ask: Ask, topic: str, *batches: bytes, partition: int = 0, acks: int = -1, **options: Any
) -> ProduceRequest:
    """A produce request of one partition; batches are sent as one field of records."""
    joined = b"".join(batches)
    data = TopicProduceData(
        partition_data=[PartitionProduceData(partition, joined)], **ask.reference(topic, IDS_FROM, "name")
    )
    return ProduceRequest(options.pop("transactional_id", None), acks, 10_000, [data])


def contents(ask: Ask, topic: str, offset: int = 0) -> None:
    """Keeps all that is in partition 0 of the topic from ``offset`` on."""
    partition = FetchPartition(0, -1, offset, -1, -1, 10_000_000)
    ask(
        FetchRequest(
            None,
            -1,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=10_000_000,
            topics=[FetchTopic(topic, partitions=[partition])],
        ),
        11,
    )


def batch(count: int = 3, **options: Any) -> bytes:
    return encode_batch(records(0, count), **options)


def with_crc(data: bytes) -> bytes:
    """The batch with its CRC made right again, after other bytes were changed."""
    from crc32c import crc32c

    return data[:CRC_AT] + struct.pack(">I", crc32c(data[CRC_AT + 4 :])) + data[CRC_AT + 4 :]


def changed(data: bytes, at: int, layout: str, value: int) -> bytes:
    """The batch with one field of its header overwritten and a right CRC."""
    altered = bytearray(data)
    struct.pack_into(layout, altered, at, value)
    return with_crc(bytes(altered))


# ---- Produce


@case(ApiKey.PRODUCE)
def every_codec(ask: Ask) -> None:
    topic = ask.topic()
    for codec in Compression:
        if codec == Compression.ZSTD and ask.version < 7:
            continue
        ask(produce(ask, topic, batch(compression=codec)))
    contents(ask, topic)


@case(ApiKey.PRODUCE, until=6)
def zstd_before_it_was_known(ask: Ask) -> None:
    ask(produce(ask, ask.topic(), batch(compression=Compression.ZSTD)))


@case(ApiKey.PRODUCE)
def acks(ask: Ask) -> None:
    topic = ask.topic()
    for number in (1, -1, 2, -2):
        ask(produce(ask, topic, batch(), acks=number))


@case(ApiKey.PRODUCE)
def acks_zero_is_not_answered(ask: Ask) -> None:
    topic = ask.topic()
    connection = ask.connection
    connection.send(produce(ask, topic, batch(), acks=0), ask.version)
    after = connection.ask(ApiVersionsRequest(), 0)  # fails where anything comes before this answer
    ask.keep(after.error_code)
    contents(ask, topic)


@case(ApiKey.PRODUCE)
def acks_zero_that_fails_closes_the_connection(ask: Ask) -> None:
    topic = ask.topic(max_message_bytes="100")
    sent = ask.send(produce(ask, topic, batch(20), acks=0))
    sent[0].send(ApiVersionsRequest(), 0)
    ask.answered((sent[0], ApiKey.API_VERSIONS, 0, 2))


@case(ApiKey.PRODUCE)
def to_what_is_not_there(ask: Ask) -> None:
    topic = ask.topic()
    ask(produce(ask, topic, batch(), partition=7))
    ask(produce(ask, topic, batch(), partition=-1))
    ask(produce(ask, ask.name("none"), batch()))
    if ask.version < IDS_FROM:
        ask(produce(ask, "no spaces", batch()))


@case(ApiKey.PRODUCE)
def broken_batches(ask: Ask) -> None:
    topic, good = ask.topic(), batch()
    ask(produce(ask, topic, b""))
    ask(produce(ask, topic, good, good))
    ask(produce(ask, topic, good[:-1]))
    ask(produce(ask, topic, good[:40]))
    ask(produce(ask, topic, good + b"xyz"))
    ask(produce(ask, topic, good[:30] + b"\xff" + good[31:]))
    contents(ask, topic)


@case(ApiKey.PRODUCE)
def lengths_of_records_that_lie(ask: Ask) -> None:
    """Of three records and of 200, each of 24 bytes beside its length: that of the first, of one in the middle and of the last."""
    for topic, count in ((ask.topic("three"), 3), (ask.topic("many"), 200)):
        good = encode_batch([Record(offset, START_MS, value=b"of 16 bytes alone") for offset in range(count)])
        size = good[61] // 2 + 1
        for number in (0, count // 2, count - 1) if count < 64 else (0, 1, 20):
            at = 61 + number * size
            for length in (0, 2, 10, 12, good[61] - 2, good[61] + 2, good[61] - 1, good[61] + 1, 126, 127):
                ask(produce(ask, topic, changed(good, at, ">B", length)))
        ask(produce(ask, topic, changed(good[:-1], 8, ">i", len(good) - 13)))
        ask(produce(ask, topic, changed(good + b"\0", 8, ">i", len(good) - 11)))
        ask(produce(ask, topic, changed(good + good[61:], 8, ">i", 2 * len(good) - 73)))
        for more in (-1, 1):
            lied = changed(good, 57, ">i", count + more)
            ask(produce(ask, topic, changed(lied, 23, ">i", count + more - 1)))
        long_form = bytes([good[61] | 128, 0]) + good[62:]
        ask(produce(ask, topic, changed(good[:61] + long_form, 8, ">i", len(good) - 11)))
        ask(produce(ask, topic, good))


@case(ApiKey.PRODUCE)
def headers_that_lie(ask: Ask) -> None:
    topic, good = ask.topic(), batch()
    ask(produce(ask, topic, changed(good, 16, ">b", 1)))
    ask(produce(ask, topic, changed(good, 16, ">b", 9)))
    ask(produce(ask, topic, changed(good, 57, ">i", 2)))
    ask(produce(ask, topic, changed(good, 57, ">i", 0)))
    ask(produce(ask, topic, changed(good, 57, ">i", -1)))
    ask(produce(ask, topic, changed(good, 23, ">i", 9)))
    ask(produce(ask, topic, changed(good, 21, ">h", 7)))
    ask(produce(ask, topic, changed(good, 21, ">h", 1)))
    ask(produce(ask, topic, changed(good, 21, ">h", 32)))
    ask(produce(ask, topic, changed(good, 21, ">h", 16)))
    ask(produce(ask, topic, changed(good, 8, ">i", 10)))
    ask(produce(ask, topic, changed(good, 0, ">q", 77)))
    contents(ask, topic)


@case(ApiKey.PRODUCE)
def too_large(ask: Ask) -> None:
    topic = ask.topic(max_message_bytes="300")
    ask(produce(ask, topic, batch(2)))
    ask(produce(ask, topic, batch(50)))
    ask(produce(ask, topic, batch(50, compression=Compression.GZIP)))


@case(ApiKey.PRODUCE)
def log_append_time(ask: Ask) -> None:
    topic = ask.topic(message_timestamp_type="LogAppendTime")
    ask(produce(ask, topic, batch()))
    ask(produce(ask, topic, batch(compression=Compression.GZIP)))
    contents(ask, topic)


@case(ApiKey.PRODUCE)
def timestamps_out_of_bounds(ask: Ask) -> None:
    topic = ask.topic(message_timestamp_before_max_ms="1000", message_timestamp_after_max_ms="1000")
    ask(produce(ask, topic, batch()))
    ask(produce(ask, topic, encode_batch([Record(timestamp=9_000_000_000_000, value=b"v")])))
    ask(produce(ask, topic, encode_batch([Record(timestamp=-1, value=b"v")])))


@case(ApiKey.PRODUCE)
def compacted_topics_want_keys(ask: Ask) -> None:
    topic = ask.topic(cleanup_policy="compact")
    keyless = [Record(timestamp=START_MS + n, key=b"k" if n % 2 else None, value=b"v") for n in range(5)]
    ask(produce(ask, topic, encode_batch(keyless)))
    ask(produce(ask, topic, encode_batch(keyless, compression=Compression.LZ4)))
    ask(produce(ask, topic, batch()))


@case(ApiKey.PRODUCE)
def records_that_are_too_large_decompressed(ask: Ask) -> None:
    """Each record of a compressed batch: its length without the length's own bytes."""
    topic = ask.topic(max_decompressed_message_bytes="1000")
    for codec in Compression:
        for size in (992, 993):
            ask(
                produce(
                    ask,
                    topic,
                    encode_batch([Record(timestamp=START_MS, key=b"k", value=bytes(size))], compression=codec),
                )
            )
    ask(
        produce(
            ask, topic, encode_batch([Record(timestamp=START_MS, value=bytes(900))] * 9, compression=Compression.ZSTD)
        )
    )
    compacted = ask.topic("compacted", max_decompressed_message_bytes="1000", cleanup_policy="compact")
    ask(
        produce(
            ask, compacted, encode_batch([Record(timestamp=START_MS, value=bytes(2000))], compression=Compression.GZIP)
        )
    )
    again = ask.topic("again", max_decompressed_message_bytes="1000", compression_type="zstd")
    for codec in (Compression.NONE, Compression.GZIP):
        ask(produce(ask, again, encode_batch([Record(timestamp=START_MS, value=bytes(2000))], compression=codec)))


@case(ApiKey.PRODUCE)
def the_topics_codec_wins(ask: Ask) -> None:
    for codec in ("gzip", "uncompressed", "lz4"):
        topic = ask.topic(codec, compression_type=codec)
        ask(produce(ask, topic, batch()))
        ask(produce(ask, topic, batch(compression=Compression.SNAPPY)))
        contents(ask, topic)


@case(ApiKey.PRODUCE)
def offsets_inside_a_batch(ask: Ask) -> None:
    topic = ask.topic()
    gaps = [Record(offset=n * 2, timestamp=START_MS, value=b"v") for n in range(3)]
    ask(produce(ask, topic, encode_batch(gaps)))
    ask(produce(ask, topic, encode_batch(gaps, compression=Compression.GZIP)))
    ask(produce(ask, topic, encode_batch(records(0, 2), base_offset=500)))
    contents(ask, topic)


@case(ApiKey.PRODUCE)
def several_partitions_at_once(ask: Ask) -> None:
    topic = ask.topic(partitions=3)
    parts = [PartitionProduceData(partition, batch(partition + 1)) for partition in (2, 0, 9)]
    data = TopicProduceData(partition_data=parts, **ask.reference(topic, IDS_FROM, "name"))
    ask(ProduceRequest(None, -1, 10_000, [data]))


@case(ApiKey.PRODUCE)
def idempotent_sequences(ask: Ask) -> None:
    topic = ask.topic()
    producer_id = ask.producer_id()

    def send(first: int, count: int = 2, epoch: int = 0) -> None:
        options = {"producer_id": producer_id, "producer_epoch": epoch, "base_sequence": first}
        ask(produce(ask, topic, encode_batch(records(0, count), **options)))

    for first in (0, 2, 4, 6, 8, 10):
        send(first)
    for first in (10, 2, 0, 14):
        send(first)
    send(12, epoch=1)
    send(0, epoch=1)
    send(12, epoch=0)
    send(2, 5, epoch=1)
    contents(ask, topic)


@case(ApiKey.PRODUCE)
def a_producer_that_starts_late(ask: Ask) -> None:
    topic = ask.topic()
    options = {"producer_id": 123456, "producer_epoch": 3}
    ask(produce(ask, topic, batch(base_sequence=5, **options)))
    ask(produce(ask, topic, batch(base_sequence=8, **options)))
    ask(produce(ask, topic, batch(base_sequence=-1, **options)))
    ask(produce(ask, topic, batch(base_sequence=0, producer_id=777, producer_epoch=-1)))


@case(ApiKey.PRODUCE)
def sequences_wrap_around(ask: Ask) -> None:
    topic, options = ask.topic(), {"producer_id": 555, "producer_epoch": 0}
    ask(produce(ask, topic, batch(3, base_sequence=2**31 - 2, **options)))
    ask(produce(ask, topic, batch(3, base_sequence=1, **options)))


@case(ApiKey.PRODUCE)
def control_batches_are_refused(ask: Ask) -> None:
    topic = ask.topic()
    marker = Record(timestamp=START_MS, key=b"\0\0\0\1", value=b"\0\0\0\0\0\0")
    ask(produce(ask, topic, encode_batch([marker], control=True, transactional=True, producer_id=9, producer_epoch=0)))


# ---- InitProducerId


@case(ApiKey.INIT_PRODUCER_ID)
def a_new_producer(ask: Ask) -> None:
    ask.producer_id()
    ask(InitProducerIdRequest(None, 60_000))
    ask(InitProducerIdRequest(None, 0))


@case(ApiKey.INIT_PRODUCER_ID, since=3)
def a_producer_that_says_who_it_is(ask: Ask) -> None:
    ask(InitProducerIdRequest(None, 60_000, 5, 3))
    ask(InitProducerIdRequest(None, 60_000, 5, -1))


# ---- DescribeProducers


@case(ApiKey.DESCRIBE_PRODUCERS)
def producers(ask: Ask) -> None:
    topic = ask.topic(partitions=2)
    ask.produce(topic, batch(producer_id=41, producer_epoch=2, base_sequence=0))
    ask.produce(topic, batch(producer_id=42, producer_epoch=0, base_sequence=0))
    ask.produce(topic, encode_batch(records(3, 2), producer_id=42, producer_epoch=0, base_sequence=3))
    ask(DescribeProducersRequest([TopicRequest(topic, [0, 1, 7])]))
    ask(DescribeProducersRequest([TopicRequest(ask.name("none"), [0])]))
    ask(DescribeProducersRequest([TopicRequest("no spaces", [0])]))
    ask(DescribeProducersRequest([]))
