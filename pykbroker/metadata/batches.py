"""Metadata records in batches, as they lie in the metadata log and in its snapshots.

A batch holds records, or control records of the quorum (who leads, where a snapshot begins and ends); never both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pykbroker.metadata.replay import MetadataRecord
from pykbroker.wire.batch_header import BatchHeader
from pykbroker.wire.control_records import ControlRecordType, decode_control_key, encode_control_key
from pykbroker.wire.errors import WireError
from pykbroker.wire.internal.metadata import decode_metadata_record, encode_metadata_record
from pykbroker.wire.message import Message
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.records import Record, batch_crc_ok, decode_records, encode_batch, iter_batches

#: As many partitions, and as many records, may one request bring (QuorumController.MAX_RECORDS_PER_USER_OP).
MAX_RECORDS_PER_BATCH = 10_000
_BROKER_REGISTRATION_CHANGE = 17


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
    """The version to write a record in: the newest, as metadata.version 30 (4.3) has it.

    Registration changes take the oldest that carries them, as Kafka writes them.
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
    """One batch of metadata records; ``timestamp`` in milliseconds. Raises WireError when one cannot be written."""
    return encode_batch(
        [
            Record(base_offset + i, timestamp, None, encode_metadata_record(record, record_version(record)))
            for i, record in enumerate(records)
        ],
        base_offset=base_offset,
        leader_epoch=epoch,
    )


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
    """The batches of a snapshot. Raises WireError where one is damaged or not understood."""
    view = memoryview(data)
    for pos, header in iter_batches(data):
        yield decode_batch(header, view[pos : pos + header.size])


def decode_batch(header: BatchHeader, data: Buffer) -> MetadataBatch:
    """One batch of the log. Raises WireError when it is damaged or not understood."""
    if not batch_crc_ok(data, 0, header.size):
        raise WireError(f"the batch at offset {header.base_offset} of the metadata is damaged")
    batch = MetadataBatch(
        header.base_offset, header.last_offset, header.partition_leader_epoch, header.max_timestamp, [], []
    )
    found = decode_records(data, header=header)
    if header.is_control:
        batch.controls = [(decode_control_key(record.key), record.value or b"") for record in found]
    else:
        batch.records = [decode_metadata_record(record.value or b"") for record in found]
    return batch
