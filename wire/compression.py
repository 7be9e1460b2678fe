"""The codecs of record batches: none, gzip, snappy, lz4 and zstd.

Decompression is bounded: a length in the data is checked against the limit before memory is allocated, and output
beyond the limit is a WireError. Where the content is read once, ``decompressed_pieces`` needs no more memory than a piece,
however much a stranger's few bytes hold. What each codec does is in ``codecs.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import TYPE_CHECKING

from pykbroker.wire.errors import TooMuchContent, WireError
from pykbroker.wire.primitives import Buffer

if TYPE_CHECKING:
    from pykbroker.wire.codecs import Compressor

DEFAULT_MAX_BYTES = 256 * 1024 * 1024
"""How much one batch may hold decompressed where the caller sets no limit of its own."""


class Compression(IntEnum):
    """The codec numbers in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compression_of(attributes: int) -> Compression:
    """The codec in a batch's attributes. Raises WireError for an unknown codec."""
    try:
        return _BY_NUMBER[attributes & 7]
    except IndexError:
        raise WireError(f"unknown compression codec {attributes & 7}") from None


def compress(codec: Compression, data: Buffer, level: int | None = None) -> bytes:
    """``data`` compressed as by Kafka's Java clients; ``level`` is compression.<codec>.level, None for its default."""
    from pykbroker.wire.codecs import COMPRESS

    return COMPRESS[codec](data, level)


def compressor(codec: Compression, level: int | None = None) -> Compressor:
    """A compressor for content that comes in parts, as ``compress`` compresses it."""
    from pykbroker.wire.codecs import COMPRESSORS

    return COMPRESSORS[codec](level)


def decompress(codec: Compression, data: Buffer, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
    """The decompressed data. Raises WireError if ``data`` is corrupt or truncated, TooMuchContent beyond ``max_bytes``."""
    if codec is Compression.NONE and len(data) <= max_bytes:
        return bytes(data)
    from pykbroker.wire.codecs import PIECES

    pieces: list[bytes] = []
    room = max_bytes
    for piece in PIECES[codec](data, max_bytes):
        room -= len(piece)
        if room < 0:
            raise TooMuchContent(f"compressed data holds more than {max_bytes} bytes")
        pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def decompressed_pieces(codec: Compression, data: Buffer) -> Iterator[bytes]:
    """The decompressed data, at most 128 KiB at a time, so that data of any ratio needs the memory of a piece.

    Two codecs need more: snappy decompresses one block at a time (one is up to 22 times its compressed size), and zstd has a
    window; ``memory_to_decompress`` says how much. Raises WireError, at the place where ``data`` is corrupt or cut short.
    """
    from pykbroker.wire.codecs import LARGEST_BLOCK, PIECES

    return PIECES[codec](data, LARGEST_BLOCK)


def memory_to_decompress(codec: Compression, data: Buffer) -> int:
    """Most bytes of memory that ``decompressed_pieces`` uses for ``data``, as its own lengths say."""
    from pykbroker.wire import codecs

    return codecs.memory_to_decompress(codec, data)


_BY_NUMBER = tuple(Compression)
