"""Batches of metadata records, in the metadata log and in snapshots.

A batch holds records or control records of the quorum (leader changes, headers and footers of snapshots), never both.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from pykbroker.metadata.replay import MetadataRecord
from pykbroker.runtime.slices import at_once
from pykbroker.wire.batch_header import HEADER_SIZE, LOG_OVERHEAD, BatchHeader, read_batch_header, write_batch_header
from pykbroker.wire.control_records import ControlRecordType, decode_control_key, encode_control_key
from pykbroker.wire.errors import WireError
from pykbroker.wire.internal.metadata import decode_metadata_record, encode_metadata_record
from pykbroker.wire.message import Message
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.records import Record, batch_crc_ok, decode_some, encode_batch, iter_batches, unpacked

#: The most partitions, and the most records, of one request (QuorumController.MAX_RECORDS_PER_USER_OP).
MAX_RECORDS_PER_BATCH = 10_000
_BROKER_REGISTRATION_CHANGE = 17
#: Records that are encoded or decoded in one step, and the weight of each (``runtime/slices.py``).
_IN_A_STEP = 50
_WEIGHT = 0.7


@dataclass(slots=True)
class MetadataBatch:
    """One batch, decoded: ``records`` by offset from ``base_offset``, or ``controls`` with their undecoded values."""

    base_offset: int
    last_offset: int
    epoch: int
    timestamp: int
    records: list[MetadataRecord]
    controls: list[tuple[ControlRecordType, bytes]]


def record_version(record: MetadataRecord) -> int:
    """The version to write a record in: the newest one, as at metadata.version 30 (4.3) and later.

    Registration changes are written in the oldest version that can represent them, as by Kafka.
    """
    if record.API_KEY == _BROKER_REGISTRATION_CHANGE:
        if record.cordoned_log_dirs is not None:
            return 3
        if record.log_dirs:
            return 2
        return 1 if record.in_controlled_shutdown else 0
    newest: int = record.VERSIONS[1]
    return newest


def encode_records(records: Sequence[MetadataRecord], *, base_offset: int, epoch: int, timestamp: int) -> bytes:
    """One batch of metadata records; ``timestamp`` in milliseconds. Raises WireError if one cannot be encoded."""
    return encode_batch(
        [
            Record(base_offset + i, timestamp, None, encode_metadata_record(record, record_version(record)))
            for i, record in enumerate(records)
        ],
        base_offset=base_offset,
        leader_epoch=epoch,
    )


def encode_many_records(
    records: Sequence[MetadataRecord], *, base_offset: int, epoch: int, timestamp: int
) -> Generator[float, None, bytes]:
    """The same batch in slices: a part of it is encoded as a batch, whose records are those of the whole."""
    content, last = bytearray(), b""
    for start in range(0, len(records), _IN_A_STEP):
        some = records[start : start + _IN_A_STEP]
        last = encode_batch(
            [
                Record(base_offset + start + i, timestamp, None, encode_metadata_record(record, record_version(record)))
                for i, record in enumerate(some)
            ],
            base_offset=base_offset,
            leader_epoch=epoch,
        )
        content += memoryview(last)[HEADER_SIZE:]
        yield _WEIGHT * len(some)
    header = read_batch_header(last)
    header.batch_length = HEADER_SIZE - LOG_OVERHEAD + len(content)
    header.record_count = len(records)
    batch = bytearray(HEADER_SIZE) + content
    write_batch_header(batch, 0, header)
    return bytes(batch)


def encode_controls(
    controls: Sequence[tuple[ControlRecordType, Message, int]], *, base_offset: int, epoch: int, timestamp: int
) -> bytes:
    """One batch of control records, each a type, a message and the version to write it in."""
    records = []
    for i, (kind, message, version) in enumerate(controls):
        value = bytearray()
        message.encode(value, version)
        records.append(Record(base_offset + i, timestamp, encode_control_key(kind), bytes(value)))
    return encode_batch(records, base_offset=base_offset, leader_epoch=epoch, control=True)


def decode_batches(data: Buffer) -> Iterator[MetadataBatch]:
    """The batches of a snapshot. Raises WireError if one is corrupt or unknown."""
    view = memoryview(data)
    for pos, header in iter_batches(data):
        yield decode_batch(header, view[pos : pos + header.size])


def decode_batch(header: BatchHeader, data: Buffer) -> MetadataBatch:
    """One batch of the log. Raises WireError if it is corrupt or unknown."""
    return at_once(decode_many_records(header, data))


def decode_many_records(header: BatchHeader, data: Buffer) -> Generator[float, None, MetadataBatch]:
    """The same in slices."""
    if not batch_crc_ok(data, 0, header.size):
        raise WireError(f"the batch at offset {header.base_offset} of the metadata is damaged")
    batch = MetadataBatch(
        header.base_offset, header.last_offset, header.partition_leader_epoch, header.max_timestamp, [], []
    )
    for found in decode_some(unpacked(data, header), header, _IN_A_STEP):
        if header.is_control:
            batch.controls += [(decode_control_key(record.key), record.value or b"") for record in found]
        else:
            batch.records += [decode_metadata_record(record.value or b"") for record in found]
        yield _WEIGHT * len(found)
    return batch
