"""Primitive types of the protocol: the less common cases, which generated code calls.

Generated code handles the common cases inline (runs of fixed size, lengths below 127) and calls these functions for long
lengths, arrays of primitives and tagged fields. Lengths in flexible versions are unsigned varints of length + 1; zero
is null (KIP-482).
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from itertools import chain
from struct import error as struct_error
from struct import pack, unpack_from

from pykbroker.wire.errors import WireError

Buffer = bytes | bytearray | memoryview
Records = Buffer | list[Buffer]
"""Record batches: one buffer, or several that follow each other (slices of several segments)."""

UUID_SIZE = 16
ZERO_UUID = bytes(UUID_SIZE)
LONG_UVARINT = 0x80
"""The least unsigned varint that takes more than one byte."""
MAX_STRING = 0x7FFF
MAX_ELEMENTS = 1_000_000
"""The longest array and, below, the most tagged fields of a struct that are read, as in Kafka since 4.4.0."""
MAX_TAGS = 10_000
_FEW_STRINGS = 16
_STRINGS_AT_ONCE = 256
_COMPACT_LENGTHS = [bytes([size + 1]) for size in range(127)]
"""The compact length of a string of each size that takes one byte."""

MALFORMED = (IndexError, struct_error, WireError)
"""What reading malformed bytes can raise inside generated code; ``decode`` makes a WireError of each."""

UNENCODABLE = (struct_error, UnicodeEncodeError, WireError)
"""What writing a value that does not fit can raise inside generated code."""


def malformed(name: str, version: int, cause: Exception) -> WireError:
    """The error for bytes that are not a ``name`` message of this version."""
    detail = "the bytes end too early" if isinstance(cause, (IndexError, struct_error)) else str(cause)
    return WireError(f"{name} version {version}: {detail}")


def truncated(name: str, version: int) -> WireError:
    """The error for a message that ends within a value."""
    return WireError(f"{name} version {version}: the bytes end too early")


def unencodable(name: str, version: int, cause: Exception) -> WireError:
    """The error for a ``name`` message that cannot be written in this version."""
    return WireError(f"cannot write {name} version {version}: {cause}")


def unknown_version(name: str, version: int) -> WireError:
    """The error for a version that the schema of ``name`` lacks."""
    return WireError(f"{name} has no version {version}")


def cannot_carry(field: str) -> WireError:
    """The error for a field with a value that the version to be written lacks."""
    return WireError(f"field {field} has a value, and this version cannot carry it")


def null_refused(field: str) -> WireError:
    """The error for null in a field that is not nullable in this version."""
    return WireError(f"field {field} must not be null")


def tag_refused(field: str) -> WireError:
    """The error for a tagged field in a version that does not define it."""
    return WireError(f"tagged field {field} is not defined in this version")


# Unsigned varints -----------------------------------------------------------------------------------------------------


def uvarint(value: int) -> bytes:
    """An unsigned varint: seven bits per byte, least significant first. Raises WireError outside 0 to 2**32 - 1."""
    if value < 0 or value > 0xFFFFFFFF:
        raise WireError(f"{value} does not fit an unsigned varint")
    if value < 0x80:
        return bytes((value,))
    if value < 0x4000:
        return bytes((value & 127 | 128, value >> 7))
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_uvarint(buf: Buffer, pos: int) -> tuple[int, int]:
    """Read an unsigned varint; returns it and the position after it."""
    first = buf[pos]
    return (first, pos + 1) if first < 128 else read_uvarint_rest(buf, pos + 1, first)


def read_uvarint_rest(buf: Buffer, pos: int, first: int) -> tuple[int, int]:
    """Read the rest of an unsigned varint whose first byte, above 127, has been read."""
    value = first & 127
    for shift in (7, 14, 21, 28):
        byte = buf[pos]
        pos += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if value > 0xFFFFFFFF:
                break
            return value, pos
    raise WireError("a varint is longer than 32 bits")


# Lengths --------------------------------------------------------------------------------------------------------------


def read_length(buf: Buffer, pos: int, first: int) -> tuple[int, int]:
    """Finish reading a compact length whose first byte is 0 or above 127.

    Returns the raw value (length + 1) and the position after it. Raises WireError for null, and if fewer bytes remain
    than the length.
    """
    value, pos = read_uvarint_rest(buf, pos, first) if first > 127 else (first, pos)
    if value == 0:
        raise WireError("null where the schema allows none")
    if value - 1 > len(buf) - pos:
        raise WireError(f"a length of {value - 1} where {len(buf) - pos} bytes remain")
    return value, pos


def read_count(buf: Buffer, pos: int, first: int) -> tuple[int, int]:
    """``read_length`` for the elements of an array, each of at least one byte. Raises WireError for more than a million, too."""
    value, pos = read_length(buf, pos, first)
    if value - 1 > MAX_ELEMENTS:
        raise WireError(f"an array of {value - 1} elements is longer than {MAX_ELEMENTS}")
    return value, pos


def read_string_length(buf: Buffer, pos: int, first: int) -> tuple[int, int]:
    """``read_length`` for a string: at most 32767 bytes in flexible versions too, as in Kafka."""
    value, pos = read_length(buf, pos, first)
    if value - 1 > MAX_STRING:
        raise WireError(f"a string of {value - 1} bytes is longer than {MAX_STRING}")
    return value, pos


def check_count(buf: Buffer, pos: int, count: int) -> None:
    """Raises WireError for a non-flexible count that is negative, above a million, or larger than the remaining bytes."""
    if count < 0:
        raise WireError("null where the schema allows none")
    if count > len(buf) - pos:
        raise WireError(f"a length of {count} where {len(buf) - pos} bytes remain")
    if count > MAX_ELEMENTS:
        raise WireError(f"an array of {count} elements is longer than {MAX_ELEMENTS}")


def string_length(value: int) -> bytes:
    """A compact string's length + 1. Raises WireError for more than Kafka's 32767 bytes."""
    if value - 1 > MAX_STRING:
        raise WireError(f"a string of {value - 1} bytes is longer than {MAX_STRING}")
    return uvarint(value)


# Arrays of primitives -------------------------------------------------------------------------------------------------


def read_numbers(buf: Buffer, pos: int, count: int, code: str, size: int) -> tuple[list[int], int]:
    """Read ``count`` integers of ``size`` bytes each; ``code`` is their struct format."""
    if count == 0:
        return [], pos
    end = pos + count * size
    if end > len(buf):
        raise WireError(f"an array of {count} elements where {len(buf) - pos} bytes remain")
    return list(unpack_from(f">{count}{code}", buf, pos)), end


def write_numbers(out: bytearray, values: Sequence[int], code: str) -> None:
    """Append integers; ``code`` is their struct format."""
    out += pack(f">{len(values)}{code}", *values)


def read_uuids(buf: Buffer, pos: int, count: int) -> tuple[list[bytes], int]:
    """Read ``count`` UUIDs."""
    end = pos + count * 16
    if end > len(buf):
        raise WireError(f"an array of {count} UUIDs where {len(buf) - pos} bytes remain")
    return [bytes(buf[at : at + 16]) for at in range(pos, end, 16)], end


def write_uuids(out: bytearray, values: Sequence[bytes]) -> None:
    """Append UUIDs of 16 bytes each."""
    for value in values:
        if len(value) != 16:
            raise WireError(f"a UUID has 16 bytes, not {len(value)}")
        out += value


def read_strings(buf: Buffer, pos: int, count: int) -> tuple[list[str], int]:
    """Read ``count`` strings with two-byte lengths."""
    strings = []
    for _ in range(count):
        (size,) = unpack_from(">h", buf, pos)
        if size < 0:
            raise WireError("null where the schema allows none")
        pos += 2 + size
        strings.append(str(buf[pos - size : pos], "utf-8", "replace"))
    return strings, pos


def read_compact_strings(buf: Buffer, pos: int, count: int) -> tuple[list[str], int]:
    """Read ``count`` strings with compact lengths."""
    strings = []
    for _ in range(count):
        size = buf[pos]
        pos += 1
        if not 0 < size < 128:
            size, pos = read_string_length(buf, pos, size)
        start = pos
        pos += size - 1
        strings.append(str(buf[start:pos], "utf-8", "replace"))
    return strings, pos


def write_strings(out: bytearray, values: Sequence[str]) -> None:
    """Append strings with two-byte lengths."""
    for value in values:
        data = value.encode()
        out += pack(">h", len(data))
        out += data


def write_compact_strings(out: bytearray, values: Sequence[str]) -> None:
    """Append strings with compact lengths."""
    if len(values) > _FEW_STRINGS:  # in few lines: a member may name tens of thousands of topics
        for begin in range(0, len(values), _STRINGS_AT_ONCE):
            _write_many(out, values[begin : begin + _STRINGS_AT_ONCE])
    else:
        _write_each(out, values)


def _write_many(out: bytearray, values: Sequence[str]) -> None:
    encoded = [*map(str.encode, values)]
    sizes = [*map(len, encoded)]
    if max(sizes) < len(_COMPACT_LENGTHS):
        out += b"".join(chain.from_iterable(zip(map(_COMPACT_LENGTHS.__getitem__, sizes), encoded, strict=True)))
    else:
        _write_each(out, values)


def _write_each(out: bytearray, values: Sequence[str]) -> None:
    for value in values:
        data = value.encode()
        size = len(data) + 1
        if size < 128:
            out.append(size)
        else:
            out += string_length(size)
        out += data


# Tagged fields --------------------------------------------------------------------------------------------------------


def read_tag(buf: Buffer, pos: int) -> tuple[int, int, int]:
    """Read the head of a tagged field; returns its tag, and where its value begins and ends."""
    tag, pos = read_uvarint(buf, pos)
    size, pos = read_uvarint(buf, pos)
    if size > len(buf) - pos:
        raise WireError(f"a tagged field of {size} bytes where {len(buf) - pos} remain")
    return tag, pos, pos + size


def check_tag_end(tag: int, pos: int, end: int) -> None:
    """Raises WireError if a tagged field's value does not end where its size says."""
    if pos != end:
        raise WireError(f"tagged field {tag} is {end - pos} bytes longer than its value")


def read_tag_count(buf: Buffer, pos: int, first: int) -> tuple[int, int]:
    """Finish reading the number of tagged fields, whose first byte is given. Raises WireError for more than 10,000."""
    if first < 128:
        return first, pos
    count, pos = read_uvarint_rest(buf, pos, first)
    if count > MAX_TAGS:
        raise WireError(f"{count} tagged fields are more than {MAX_TAGS}")
    return count, pos


def read_unknown_tags(buf: Buffer, pos: int, first: int) -> tuple[dict[int, bytes], int]:
    """Read the tagged fields of a struct that defines none; ``first`` is the first byte of their number."""
    count, pos = read_tag_count(buf, pos, first)
    fields = {}
    for _ in range(count):
        tag, pos, end = read_tag(buf, pos)
        fields[tag] = bytes(buf[pos:end])
        pos = end
    return fields, pos


def write_tags(out: bytearray, known: dict[int, bytes], unknown: dict[int, bytes] | None) -> None:
    """Append tagged fields in the order of their tags, replacing the zero (no fields) at the end of ``out``.

    Raises WireError if an unknown field has the tag of a known one.
    """
    fields = known
    if unknown:
        if not known.keys().isdisjoint(unknown):
            raise WireError(f"unknown tagged fields repeat the tags of known ones: {sorted(unknown)}")
        fields = known | unknown
    out[-1:] = uvarint(len(fields))
    for tag in sorted(fields) if len(fields) > 1 else fields:
        field = fields[tag]
        size = len(field)
        out += bytes((tag, size)) if 0 <= tag < 128 and size < 128 else uvarint(tag) + uvarint(size)
        out += field


# UUIDs ----------------------------------------------------------------------------------------------------------------


def uuid_to_str(value: bytes) -> str:
    """A UUID as Kafka prints it: base64 with the URL alphabet, without padding, 22 characters."""
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def uuid_from_str(text: str) -> bytes:
    """The 16 bytes of a UUID in the form of ``uuid_to_str``. Raises ValueError for another text."""
    value = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    if len(value) != 16:
        raise ValueError(f"{text!r} is not a UUID in base64: it has {len(value)} bytes instead of 16")
    return value
