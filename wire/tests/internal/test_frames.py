"""Framed records of the metadata log and of coordinator topics, against Kafka's own classes and against damage."""

from __future__ import annotations

import base64
import random

import pytest

from pykbroker.wire.errors import WireError
from pykbroker.wire.internal.catalogue import GROUP_RECORDS, METADATA_RECORDS, SHARE_RECORDS, TRANSACTION_RECORDS
from pykbroker.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription
from pykbroker.wire.internal.coordinator import (
    decode_coordinator_key,
    decode_coordinator_value,
    decode_versioned,
    encode_coordinator_key,
    encode_coordinator_value,
    encode_versioned,
)
from pykbroker.wire.internal.framing import UnknownRecordType
from pykbroker.wire.internal.metadata import decode_metadata_record, encode_metadata_record
from pykbroker.wire.internal.offset_commit import OffsetCommitKey, OffsetCommitValue
from pykbroker.wire.internal.topic_record import TopicRecord
from pykbroker.wire.tests.kafka_messages import build, run_java, schemas

COORDINATORS = {"group": GROUP_RECORDS, "transaction": TRANSACTION_RECORDS, "share": SHARE_RECORDS}


def versions(name: str) -> range:
    valid = schemas()[name].valid
    return range(valid.low, valid.high + 1)


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_kafka_reads_our_metadata_records() -> None:
    source = random.Random(1)
    records = [
        (build(name, version, source), version) for _, name in METADATA_RECORDS.values() for version in versions(name)
    ]
    ours = [encode_metadata_record(record, version) for record, version in records]
    lines = run_java("Frames", [f"metadata\t{text(data)}" for data in ours])
    for (record, _), data, line in zip(records, ours, lines, strict=True):
        assert line.split("\t") == [type(record).__name__, text(data)]
        assert decode_metadata_record(data) == record


@pytest.mark.deep
def test_kafka_reads_our_coordinator_records() -> None:
    source = random.Random(2)
    lines = []
    wanted = []
    for coordinator, records in COORDINATORS.items():
        for _, name in records.values():
            for version in versions(f"{name}Value"):
                key = build(f"{name}Key", 0, source)
                value = build(f"{name}Value", version, source)
                key_data = encode_coordinator_key(key)
                value_data = encode_coordinator_value(value, version)
                lines.append(f"{coordinator}\t{text(key_data)}\t{text(value_data)}")
                wanted.append([f"{name}Key", text(key_data), text(value_data)])
                decoded = decode_coordinator_key(key_data, records)
                assert decoded == key
                assert (
                    encode_coordinator_value(decode_coordinator_value(decoded, value_data, records), version)
                    == value_data
                )
    assert [line.split("\t") for line in run_java("Frames", lines)] == wanted


def test_consumer_protocol_carries_its_version() -> None:
    subscription = ConsumerProtocolSubscription(topics=["a", "b"], user_data=None)
    for version in versions("ConsumerProtocolSubscription"):
        data = encode_versioned(subscription, version)
        assert data[:2] == version.to_bytes(2, "big")
        assert decode_versioned(ConsumerProtocolSubscription, data) == subscription


def test_records_no_release_lists_are_told_apart() -> None:
    with pytest.raises(UnknownRecordType, match="number 99"):
        decode_metadata_record(b"\x01\x63\x00")
    with pytest.raises(UnknownRecordType, match="type 999"):
        decode_coordinator_key(b"\x03\xe7rest")
    with pytest.raises(UnknownRecordType, match="type 1"):
        decode_coordinator_key(encode_coordinator_key(OffsetCommitKey("g", "t", 0)), TRANSACTION_RECORDS)


@pytest.mark.parametrize(
    "data", [b"", b"\x01", b"\x01\x02", b"\x02\x02\x00", b"\x01\x02\x07", b"\x80\x80\x80\x80\x80\x80"]
)
def test_damaged_metadata_records_are_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        decode_metadata_record(data)


def test_garbage_and_truncation_are_refused() -> None:
    record = encode_metadata_record(TopicRecord(name="t", topic_id=bytes(16)), 0)
    key = encode_coordinator_key(OffsetCommitKey("g", "t", 0))
    value = encode_coordinator_value(OffsetCommitValue(offset=1), 4)
    with pytest.raises(WireError, match="2 bytes of garbage after a TopicRecord"):
        decode_metadata_record(record + b"xx")
    for size in range(len(record)):
        with pytest.raises(WireError):
            decode_metadata_record(record[:size])
    for size in range(len(key)):
        with pytest.raises(WireError):
            decode_coordinator_key(key[:size])
    for size in range(len(value)):
        with pytest.raises(WireError):
            decode_coordinator_value(OffsetCommitKey(), value[:size])
    with pytest.raises(WireError, match="no version 5"):
        decode_coordinator_value(OffsetCommitKey(), b"\0\5" + value[2:])
