"""Record batches both ways against Kafka's own code: it reads what we write, and we read what it writes."""

from __future__ import annotations

import base64
import json
import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from pykbroker.tests.kit.depth import of_depths
from pykbroker.wire.control_records import EndTxnMarker, decode_end_txn_marker, encode_end_txn_batch
from pykbroker.wire.records import (
    Compression,
    Record,
    TimestampType,
    batch_crc_ok,
    decode_records,
    encode_batch,
    read_batch_header,
    reencode_batch,
)
from pykbroker.wire.tests.kafka_messages import run_java


@dataclass
class Batch:
    """What a batch says, in the terms of ``encode_batch`` and ``reencode_batch``."""

    compression: Compression = Compression.NONE
    level: int | None = None
    base_offset: int = 0
    last_offset: int = 0
    leader_epoch: int = -1
    log_append_time: bool = False
    max_timestamp: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False
    delete_horizon: int = -1
    marker: EndTxnMarker | None = None
    records: list[Record] = field(default_factory=list)

    def encoded(self) -> bytes:
        if self.marker is not None:
            return encode_end_txn_batch(
                self.marker,
                producer_id=self.producer_id,
                producer_epoch=self.producer_epoch,
                timestamp=self.max_timestamp,
                base_offset=self.base_offset,
                leader_epoch=self.leader_epoch,
            )
        batch = encode_batch(
            self.records,
            base_offset=self.base_offset,
            compression=self.compression,
            append_time=self.max_timestamp if self.log_append_time else None,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.base_sequence,
            transactional=self.transactional,
            leader_epoch=self.leader_epoch,
        )
        header = read_batch_header(batch)
        header.last_offset_delta = self.last_offset - self.base_offset
        header.max_timestamp = self.max_timestamp
        horizon = None if self.delete_horizon < 0 else self.delete_horizon
        return reencode_batch(header, self.records, delete_horizon=horizon, level=self.level)

    def as_json(self) -> dict[str, Any]:
        text: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        text["compression"] = self.compression.name.lower()
        if self.level is None:
            del text["level"]
        text["marker"] = self.marker and {
            "commit": self.marker.commit,
            "coordinator_epoch": self.marker.coordinator_epoch,
        }
        text["records"] = [
            {
                "offset": record.offset,
                "timestamp": self.max_timestamp if self.log_append_time else record.timestamp,
                "key": _base64(record.key),
                "value": _base64(record.value),
                "headers": [[key, _base64(value)] for key, value in record.headers],
            }
            for record in self.records
        ]
        return text


def decoded(batch: bytes) -> Batch:
    """What ``batch`` says, read by our code."""
    header = read_batch_header(batch)
    assert batch_crc_ok(batch, 0, header.size)
    records = decode_records(batch)
    return Batch(
        compression=header.compression,
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        leader_epoch=header.partition_leader_epoch,
        log_append_time=header.timestamp_type is TimestampType.LOG_APPEND_TIME,
        max_timestamp=header.max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
        delete_horizon=header.base_timestamp if header.has_delete_horizon else -1,
        marker=decode_end_txn_marker(records[0]) if header.is_control else None,
        records=records,
    )


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _random_bytes(rng: random.Random) -> bytes | None:
    size = rng.choice([-1, 0, 1, 7, 63, 64, 100, 8191, 8192, 40_000])
    if size < 0:
        return None
    return rng.randbytes(size) if rng.random() < 0.5 else rng.randbytes(1 + size // 20) * (size // (1 + size // 20))


def _random_batch(rng: random.Random, compression: Compression, level: int | None = None) -> Batch:
    base_offset = rng.choice([0, 1, 2**31, 2**60])
    start = rng.choice([0, 1_600_000_000_000])
    offset = base_offset
    records = []
    for _ in range(rng.choice([1, 2, 3, 70])):
        headers = tuple(
            (rng.choice(["", "a", "naïve", "k" * 200]), _random_bytes(rng)) for _ in range(rng.choice([0, 0, 1, 3]))
        )
        timestamp = max(start + rng.choice([-5, 0, 3, 2**31]), 0)
        records.append(Record(offset, timestamp, _random_bytes(rng), _random_bytes(rng), headers))
        offset += rng.choice([1, 1, 1, 2, 64, 10_000])
    producer = rng.random() < 0.5
    log_append_time = rng.random() < 0.3
    return Batch(
        compression=compression,
        level=level,
        base_offset=base_offset,
        last_offset=records[-1].offset + rng.choice([0, 0, 5]),
        leader_epoch=rng.choice([-1, 0, 2**31 - 1]),
        log_append_time=log_append_time,
        max_timestamp=start + 17 if log_append_time else max(record.timestamp for record in records),
        producer_id=rng.choice([0, 2**62]) if producer else -1,
        producer_epoch=rng.choice([0, 2**15 - 1]) if producer else -1,
        base_sequence=rng.choice([0, 2**31 - 1]) if producer else -1,
        transactional=producer and rng.random() < 0.5,
        delete_horizon=rng.choice([-1, -1, start + 1000]),
        records=records,
    )


LEVELS = [
    *((Compression.GZIP, level) for level in (1, 9)),
    *((Compression.LZ4, level) for level in (1, 9, 17)),
    *((Compression.ZSTD, level) for level in (-5, 1, 19)),
]


def _batches() -> list[Batch]:
    rng = random.Random(20)
    batches = [_random_batch(rng, codec) for codec in Compression for _ in range(of_depths(10, 40, 40))]
    batches += [_random_batch(rng, codec, level) for codec, level in LEVELS]
    for commit in (True, False):
        batches.append(
            Batch(
                base_offset=77,
                last_offset=77,
                leader_epoch=3,
                max_timestamp=1234,
                producer_id=9,
                producer_epoch=1,
                transactional=True,
                marker=EndTxnMarker(commit, 42),
            )
        )
    return batches


@dataclass
class Exchange:
    """One description, our bytes for it, and Kafka's answer to both."""

    batch: Batch
    ours: bytes
    made: bytes
    read: dict[str, Any]


@pytest.fixture(scope="module")
def exchanges() -> list[Exchange]:
    batches = _batches()
    ours = [batch.encoded() for batch in batches]
    lines = [json.dumps(batch.as_json() | {"bytes": _base64(data)}) for batch, data in zip(batches, ours, strict=True)]
    answers = [json.loads(line) for line in run_java("Batches", lines)]
    return [
        Exchange(batch, data, base64.b64decode(answer["made"]), answer["read"])
        for batch, data, answer in zip(batches, ours, answers, strict=True)
    ]


def _without_marker_record(said: dict[str, Any]) -> dict[str, Any]:
    said = dict(said)
    said.pop("level", None)
    if said["marker"]:
        del said["records"]
    return said


def test_kafka_reads_what_we_write(exchanges: list[Exchange]) -> None:
    for exchange in exchanges:
        assert _without_marker_record(exchange.read) == _without_marker_record(exchange.batch.as_json())


def test_we_read_what_kafka_writes(exchanges: list[Exchange]) -> None:
    for exchange in exchanges:
        said = decoded(exchange.made).as_json()
        assert _without_marker_record(said) == _without_marker_record(exchange.batch.as_json())


def test_uncompressed_batches_are_the_same_bytes(exchanges: list[Exchange]) -> None:
    plain = [exchange for exchange in exchanges if exchange.batch.compression is Compression.NONE]
    assert len(plain) > of_depths(10, 40, 40)
    for exchange in plain:
        assert exchange.ours == exchange.made
