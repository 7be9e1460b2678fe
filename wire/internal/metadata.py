"""The frame around a record of the metadata log: frame version, record number, record version, as unsigned varints (KIP-631)."""

from __future__ import annotations

from pykbroker.wire.errors import WireError
from pykbroker.wire.internal.catalogue import METADATA_RECORDS
from pykbroker.wire.internal.framing import UnknownRecordType, record_class, whole
from pykbroker.wire.message import Message
from pykbroker.wire.primitives import Buffer, read_uvarint, uvarint

FRAME_VERSION = 1
"""The only version of the frame."""


def encode_metadata_record(record: Message, version: int) -> bytes:
    """The value of a batch record of the metadata log. Raises WireError as ``Message.encode``."""
    out = bytearray((FRAME_VERSION,))
    out += uvarint(record.API_KEY)
    out += uvarint(version)
    record.encode(out, version)
    return bytes(out)


def decode_metadata_record(buf: Buffer) -> Message:
    """The record in the value of a batch record of the metadata log.

    Raises UnknownRecordType for an unknown type, and WireError for malformed bytes.
    """
    try:
        frame_version, pos = read_uvarint(buf, 0)
        key, pos = read_uvarint(buf, pos)
        version, pos = read_uvarint(buf, pos)
    except IndexError as error:
        raise WireError("a metadata record shorter than its frame") from error
    if frame_version != FRAME_VERSION:
        raise WireError(f"a metadata record with frame version {frame_version}; only {FRAME_VERSION} is known")
    if key not in METADATA_RECORDS:
        raise UnknownRecordType(f"no metadata record has number {key}")
    return whole(*record_class(*METADATA_RECORDS[key]).decode(buf, pos, version), buf)
