"""The framing of keys and values in the coordinators' topics.

A key is the int16 type of the record, then the key in version 0; a value is an int16 version, then the value. The
consumer protocol's subscription and assignment, and principals, begin with their version in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from struct import error as struct_error
from typing import cast

from pykbroker.wire.errors import WireError
from pykbroker.wire.internal.catalogue import GROUP_RECORDS
from pykbroker.wire.internal.framing import M, UnknownRecordType, record_class, whole
from pykbroker.wire.message import Message
from pykbroker.wire.primitives import Buffer

Catalogue = Mapping[int, tuple[str, str]]

_pack_i16 = Struct(">h").pack
_unpack_i16 = Struct(">h").unpack_from


def encode_coordinator_key(key: Message) -> bytes:
    """The key of a coordinator's record: its type, then the key."""
    out = bytearray(_pack_i16(key.TYPE))
    key.encode(out, 0)
    return bytes(out)


def encode_coordinator_value(value: Message, version: int) -> bytes:
    """The value of a coordinator's record: its version, then the value."""
    out = bytearray(_pack_i16(version))
    value.encode(out, version)
    return bytes(out)


def decode_coordinator_key(buf: Buffer, records: Catalogue = GROUP_RECORDS) -> Message:
    """The key of a coordinator's record; ``records`` are the topic's types, by default those of ``__consumer_offsets``.

    Raises UnknownRecordType for an unknown type, and WireError for malformed bytes.
    """
    kind = _int16(buf)
    if kind not in records:
        raise UnknownRecordType(f"no coordinator record has type {kind}")
    module, name = records[kind]
    return whole(*record_class(module, name + "Key").decode(buf, 2, 0), buf)


def decode_coordinator_value(key: Message, buf: Buffer, records: Catalogue = GROUP_RECORDS) -> Message:
    """The value that belongs to ``key``. Raises WireError for an unknown version or malformed bytes."""
    module, name = records[key.TYPE]
    return decode_versioned(record_class(module, name + "Value"), buf)


def encode_versioned(message: Message, version: int) -> bytes:
    """The version as int16, then the message: coordinator values, consumer protocol, principals."""
    out = bytearray(_pack_i16(version))
    message.encode(out, version)
    return bytes(out)


def decode_versioned(cls: type[M], buf: Buffer) -> M:
    """The message of class ``cls`` after its int16 version. Raises WireError for an unknown version or malformed bytes."""
    return cast("M", whole(*cls.decode(buf, 2, _int16(buf)), buf))


def _int16(buf: Buffer) -> int:
    try:
        (value,) = _unpack_i16(buf, 0)
    except struct_error as error:
        raise WireError("a record shorter than its version") from error
    return int(value)
