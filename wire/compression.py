"""The codecs of record batches: none, gzip, snappy, lz4 and zstd.

Decompression is bounded: a length in the data is checked against the limit before memory is allocated, and output
beyond the limit is a WireError. Each library is imported on the first use of its codec.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from enum import IntEnum

from pykbroker.wire.errors import WireError
from pykbroker.wire.primitives import Buffer

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
    return _COMPRESS[codec](data, level)


def decompress(codec: Compression, data: Buffer, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
    """The decompressed data. Raises WireError if ``data`` is corrupt or truncated, or its content larger than ``max_bytes``."""
    return _DECOMPRESS[codec](data, max_bytes)


def _too_large(max_bytes: int) -> WireError:
    return WireError(f"compressed data holds more than {max_bytes} bytes")


def _compress_none(data: Buffer, _level: int | None) -> bytes:
    return bytes(data)


def _decompress_none(data: Buffer, max_bytes: int) -> bytes:
    if len(data) > max_bytes:
        raise _too_large(max_bytes)
    return bytes(data)


# gzip

_GZIP_WINDOW = zlib.MAX_WBITS | 16  # 16 asks zlib for gzip's header and trailer


def _compress_gzip(data: Buffer, level: int | None) -> bytes:
    deflate = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION if level is None else level, zlib.DEFLATED, _GZIP_WINDOW)
    return deflate.compress(data) + deflate.flush()


def _decompress_gzip(data: Buffer, max_bytes: int) -> bytes:
    pieces: list[bytes] = []
    room = max_bytes
    rest: Buffer = data
    try:
        while rest or not pieces:  # members one after the other are one stream, as for Java's GZIPInputStream
            inflate = zlib.decompressobj(_GZIP_WINDOW)
            piece = inflate.decompress(rest, room + 1)
            room -= len(piece)
            if room < 0:
                raise _too_large(max_bytes)
            if not inflate.eof:
                raise WireError("gzip data is cut short")
            pieces.append(piece)
            rest = inflate.unused_data
    except zlib.error as error:
        raise WireError(f"damaged gzip data: {error}") from None
    return b"".join(pieces)


# snappy: librdkafka and others write one raw block, Java writes blocks after a header of the xerial library

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)  # version, lowest version that reads it
_XERIAL_BLOCK = 32 * 1024
_SNAPPY_MAX_RATIO = 32  # a copy of up to 64 bytes takes 3, so valid blocks grow at most 22 times
_BLOCK_SIZE = struct.Struct(">i")


def _compress_snappy(data: Buffer, _level: int | None) -> bytes:
    import cramjam  # noqa: PLC0415

    out = bytearray(_XERIAL_HEADER)
    view = memoryview(data)
    for start in range(0, len(view), _XERIAL_BLOCK):
        block = cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK])
        out += _BLOCK_SIZE.pack(len(block))
        out += memoryview(block)
    return bytes(out)


def _decompress_snappy(data: Buffer, max_bytes: int) -> bytes:
    view = memoryview(data)
    if view[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        return _snappy_block(view, max_bytes, max_bytes)
    out = bytearray()
    pos = 0
    while pos < len(view):
        if view[pos : pos + len(_XERIAL_MAGIC)] == _XERIAL_MAGIC:  # streams may be joined end to end
            pos += len(_XERIAL_HEADER)
            if pos > len(view):
                raise WireError("snappy header is cut short")
            continue
        if pos + 4 > len(view):
            raise WireError("snappy block size is cut short")
        (size,) = _BLOCK_SIZE.unpack_from(view, pos)
        pos += 4
        if not 0 <= size <= len(view) - pos:
            raise WireError(f"snappy block of {size} bytes where {len(view) - pos} remain")
        out += _snappy_block(view[pos : pos + size], max_bytes - len(out), max_bytes)
        pos += size
    return bytes(out)


def _snappy_block(block: memoryview, room: int, max_bytes: int) -> bytes:
    import cramjam  # noqa: PLC0415

    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > room:
            raise _too_large(max_bytes)
        if size > len(block) * _SNAPPY_MAX_RATIO:
            raise WireError(f"snappy block of {len(block)} bytes claims to hold {size}")
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise WireError(f"damaged snappy data: {error}") from None


# lz4: frames of independent 64 KiB blocks without content size or checksum; Java reads no others

_LZ4_FAST_LEVEL = 9  # Kafka's default level, with which its Java code uses the fast compressor
_LZ4_LOWEST_HIGH = 3  # the library's lower levels use the fast compressor too


def _compress_lz4(data: Buffer, level: int | None) -> bytes:
    from lz4 import frame  # noqa: PLC0415

    library_level = 0 if level is None or level == _LZ4_FAST_LEVEL else max(level, _LZ4_LOWEST_HIGH)
    return bytes(
        frame.compress(data, library_level, block_size=frame.BLOCKSIZE_MAX64KB, block_linked=False, store_size=False)
    )


def _decompress_lz4(data: Buffer, max_bytes: int) -> bytes:
    from lz4 import frame  # noqa: PLC0415

    decompressor = frame.LZ4FrameDecompressor()
    try:
        plain = decompressor.decompress(data, max_length=max_bytes + 1)
    except RuntimeError as error:
        raise WireError(f"damaged lz4 data: {error}") from None
    if len(plain) > max_bytes:
        raise _too_large(max_bytes)
    if not decompressor.eof:
        raise WireError("lz4 data is cut short")
    return bytes(plain)


# zstd

_ZSTD_DEFAULT_LEVEL = 3
_ZSTD_PIECE = 512  # bytes of input at a time; they may grow to 16 MiB, by which output may overshoot the limit


def _compress_zstd(data: Buffer, level: int | None) -> bytes:
    import zstandard  # noqa: PLC0415

    return zstandard.ZstdCompressor(level=_ZSTD_DEFAULT_LEVEL if level is None else level).compress(data)


def _decompress_zstd(data: Buffer, max_bytes: int) -> bytes:
    import zstandard  # noqa: PLC0415

    pieces: list[bytes] = []
    room = max_bytes
    view = memoryview(data)
    decompressor = zstandard.ZstdDecompressor()
    try:
        while view or not pieces:  # one frame after the other; those of streaming writers have no content size
            stream = decompressor.decompressobj()
            while not stream.eof:
                if not view:
                    raise WireError("zstd data is cut short")
                piece = stream.decompress(view[:_ZSTD_PIECE])
                unused = len(stream.unused_data)
                view = view[min(_ZSTD_PIECE, len(view)) - unused :]
                room -= len(piece)
                if room < 0:
                    raise _too_large(max_bytes)
                pieces.append(piece)
    except zstandard.ZstdError as error:
        raise WireError(f"damaged zstd data: {error}") from None
    return b"".join(pieces)


_BY_NUMBER = tuple(Compression)
_COMPRESS: dict[Compression, Callable[[Buffer, int | None], bytes]] = {
    Compression.NONE: _compress_none,
    Compression.GZIP: _compress_gzip,
    Compression.SNAPPY: _compress_snappy,
    Compression.LZ4: _compress_lz4,
    Compression.ZSTD: _compress_zstd,
}
_DECOMPRESS: dict[Compression, Callable[[Buffer, int], bytes]] = {
    Compression.NONE: _decompress_none,
    Compression.GZIP: _decompress_gzip,
    Compression.SNAPPY: _decompress_snappy,
    Compression.LZ4: _decompress_lz4,
    Compression.ZSTD: _decompress_zstd,
}
