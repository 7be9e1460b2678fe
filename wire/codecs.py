"""What the codecs do, by their numbers in a batch's attributes; ``compression.py`` imports it with the first compressed batch.

Each library is imported on the first use of its codec.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol, cast

from pykbroker.wire.errors import TooMuchContent, WireError
from pykbroker.wire.primitives import Buffer


class Compressor(Protocol):
    """Compresses content that comes in parts, in the memory of the codec's window."""

    def compress(self, data: bytes, /) -> bytes:
        """Add content; returns what is compressed so far, possibly nothing."""
        ...

    def flush(self) -> bytes:
        """End the content; returns the rest."""
        ...


#: Bytes of a piece, and of compressed input that is given to a library at once.
_PIECE = 128 * 1024
_INPUT = 16 * 1024
#: No block of snappy may hold more: one is decompressed as a whole.
LARGEST_BLOCK = 2**31 - 1


def _compress_none(data: Buffer, _level: int | None) -> bytes:
    return bytes(data)


class _Uncompressed:
    """Passes content on."""

    def __init__(self, _level: int | None) -> None:
        pass

    def compress(self, data: bytes) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


def _pieces_none(data: Buffer, _max_block: int) -> Iterator[bytes]:
    view = memoryview(data)
    for at in range(0, len(view), _PIECE):
        yield bytes(view[at : at + _PIECE])


# gzip

_GZIP_WINDOW = zlib.MAX_WBITS | 16  # 16 asks zlib for gzip's header and trailer


def _gzip_compressor(level: int | None) -> Compressor:
    return zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION if level is None else level, zlib.DEFLATED, _GZIP_WINDOW)


def _compress_gzip(data: Buffer, level: int | None) -> bytes:
    deflate = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION if level is None else level, zlib.DEFLATED, _GZIP_WINDOW)
    return deflate.compress(data) + deflate.flush()


def _pieces_gzip(data: Buffer, _max_block: int) -> Iterator[bytes]:
    view, at = memoryview(data), 0
    try:
        while True:  # members one after the other are one stream, as for Java's GZIPInputStream
            inflate = zlib.decompressobj(_GZIP_WINDOW)
            rest: Buffer = b""
            while not inflate.eof:
                if not rest:
                    rest = view[at : at + _INPUT]
                    at += len(rest)
                given = len(rest)
                piece = inflate.decompress(rest, _PIECE)
                rest = inflate.unconsumed_tail
                if piece:
                    yield piece
                elif not given and not inflate.eof:
                    raise WireError("gzip data is cut short")
            at -= len(inflate.unused_data)
            if at >= len(view):
                return
    except zlib.error as error:
        raise WireError(f"damaged gzip data: {error}") from None


# snappy: librdkafka and others write one raw block, Java writes blocks after a header of the xerial library

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)  # version, lowest version that reads it
_XERIAL_BLOCK = 32 * 1024
_SNAPPY_MAX_RATIO = 32  # a copy of up to 64 bytes takes 3, so valid blocks grow at most 22 times
_BLOCK_SIZE = struct.Struct(">i")


def _compress_snappy(data: Buffer, _level: int | None) -> bytes:
    import cramjam

    out = bytearray(_XERIAL_HEADER)
    view = memoryview(data)
    for start in range(0, len(view), _XERIAL_BLOCK):
        block = cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK])
        out += _BLOCK_SIZE.pack(len(block))
        out += memoryview(block)
    return bytes(out)


class _SnappyCompressor:
    def __init__(self, _level: int | None) -> None:
        self._begun = False
        self._held = bytearray()

    def compress(self, data: bytes) -> bytes:
        self._held += data
        whole = len(self._held) // _XERIAL_BLOCK * _XERIAL_BLOCK
        out = self._blocks(bytes(self._held[:whole])) if whole else b""
        del self._held[:whole]
        return out

    def flush(self) -> bytes:
        return self._blocks(bytes(self._held))

    def _blocks(self, data: bytes) -> bytes:
        out = _compress_snappy(data, None)
        begun, self._begun = self._begun, True
        return out[len(_XERIAL_HEADER) :] if begun else out


def _pieces_snappy(data: Buffer, max_block: int) -> Iterator[bytes]:
    view = memoryview(data)
    if view[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        yield _snappy_block(view, max_block)
        return
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
        yield _snappy_block(view[pos : pos + size], max_block)
        pos += size


def _snappy_block(block: memoryview, max_bytes: int) -> bytes:
    import cramjam

    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > max_bytes:
            raise TooMuchContent(f"compressed data holds more than {max_bytes} bytes")
        if size > len(block) * _SNAPPY_MAX_RATIO:
            raise WireError(f"snappy block of {len(block)} bytes claims to hold {size}")
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise WireError(f"damaged snappy data: {error}") from None


# lz4: frames of independent 64 KiB blocks without content size or checksum; Java reads no others

_LZ4_FAST_LEVEL = 9  # Kafka's default level, with which its Java code uses the fast compressor
_LZ4_LOWEST_HIGH = 3  # the library's lower levels use the fast compressor too


class _Lz4Compressor:
    def __init__(self, level: int | None) -> None:
        from lz4 import frame

        self._frame = frame.LZ4FrameCompressor(
            frame.BLOCKSIZE_MAX64KB, compression_level=_lz4_level(level), block_linked=False
        )
        self._begin: bytes = self._frame.begin()

    def compress(self, data: bytes) -> bytes:
        begin, self._begin = self._begin, b""
        return begin + bytes(self._frame.compress(data))

    def flush(self) -> bytes:
        begin, self._begin = self._begin, b""
        return begin + bytes(self._frame.flush())


def _lz4_level(level: int | None) -> int:
    """The level of the library."""
    return 0 if level is None or level == _LZ4_FAST_LEVEL else max(level, _LZ4_LOWEST_HIGH)


def _compress_lz4(data: Buffer, level: int | None) -> bytes:
    from lz4 import frame

    return bytes(
        frame.compress(
            data, _lz4_level(level), block_size=frame.BLOCKSIZE_MAX64KB, block_linked=False, store_size=False
        )
    )


def _pieces_lz4(data: Buffer, _max_block: int) -> Iterator[bytes]:
    from lz4 import frame

    decompressor = frame.LZ4FrameDecompressor()
    view, at = memoryview(data), 0
    try:
        while not decompressor.eof:
            given: Buffer = b""
            if decompressor.needs_input:
                given = view[at : at + _INPUT]
                at += len(given)
                if not given:
                    raise WireError("lz4 data is cut short")
            piece = decompressor.decompress(given, max_length=_PIECE)
            if piece:
                yield bytes(piece)
    except RuntimeError as error:
        raise WireError(f"damaged lz4 data: {error}") from None


# zstd

_ZSTD_DEFAULT_LEVEL = 3
_ZSTD_SKIPPABLE = 0x184D2A50  # to ...5F: frames without content
_ZSTD_LONGEST_HEADER = 18
_ZSTD_HAS_CHECKSUM = 4
_ZSTD_RLE = 1  # a block that repeats its one byte


def _zstd_compressor(level: int | None) -> Compressor:
    import zstandard

    made = zstandard.ZstdCompressor(level=_ZSTD_DEFAULT_LEVEL if level is None else level)
    return cast("Compressor", made.compressobj())


def _compress_zstd(data: Buffer, level: int | None) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=_ZSTD_DEFAULT_LEVEL if level is None else level).compress(data)


def _pieces_zstd(data: Buffer, _max_block: int) -> Iterator[bytes]:
    import zstandard

    decompressor = zstandard.ZstdDecompressor()
    stream = decompressor.decompressobj()
    begun = False
    try:
        for part in _zstd_parts(memoryview(data)):
            if stream.eof:  # one frame after the other; those of streaming writers have no content size
                stream = decompressor.decompressobj()
            begun = True
            piece = stream.decompress(part)
            if piece:
                yield piece
    except zstandard.ZstdError as error:
        raise WireError(f"damaged zstd data: {error}") from None
    if not (begun and stream.eof):
        raise WireError("zstd data is cut short")


def _zstd_parts(view: memoryview) -> Iterator[memoryview]:
    """The data in parts of which none holds more than 128 KiB, the limit of a block: the library bounds no output itself, and
    four bytes of input may hold a block.
    """
    import zstandard

    at, size = 0, len(view)
    while at < size:
        start = at
        magic = int.from_bytes(view[at : at + 4], "little")
        if magic & ~0xF == _ZSTD_SKIPPABLE:
            at += 8 + int.from_bytes(view[at + 4 : at + 8], "little")
            yield view[start:at]
            continue
        at += zstandard.frame_header_size(view[at : at + _ZSTD_LONGEST_HEADER])
        yield view[start:at]
        has_checksum = at <= size and view[start + 4] & _ZSTD_HAS_CHECKSUM
        is_last = False
        while not is_last and at < size:
            block = int.from_bytes(view[at : at + 3], "little")
            is_last = bool(block & 1)
            length = 1 if block >> 1 & 3 == _ZSTD_RLE else block >> 3
            end = at + 3 + length + (4 if is_last and has_checksum else 0)
            yield view[at:end]
            at = end


def _zstd_window(data: Buffer) -> int:
    """The memory for the content before a block that its frame asks for, at most what the library gives."""
    import zstandard

    try:
        frame = zstandard.get_frame_parameters(memoryview(data)[:_ZSTD_LONGEST_HEADER])
    except zstandard.ZstdError:
        return 0
    return min(int(frame.window_size), 128 * 1024 * 1024)


def memory_to_decompress(codec: int, data: Buffer) -> int:
    """Most bytes of memory that ``PIECES`` use for ``data``, as its own lengths say."""
    if codec == _SNAPPY:
        return _PIECE + min(len(data) * _SNAPPY_MAX_RATIO, LARGEST_BLOCK)
    if codec == _ZSTD:
        return _PIECE + _zstd_window(data)
    return 4 * _PIECE


_SNAPPY, _ZSTD = 2, 4
COMPRESS: dict[int, Callable[[Buffer, int | None], bytes]] = {
    0: _compress_none,
    1: _compress_gzip,
    2: _compress_snappy,
    3: _compress_lz4,
    4: _compress_zstd,
}
COMPRESSORS: dict[int, Callable[[int | None], Compressor]] = {
    0: _Uncompressed,
    1: _gzip_compressor,
    2: _SnappyCompressor,
    3: _Lz4Compressor,
    4: _zstd_compressor,
}
PIECES: dict[int, Callable[[Buffer, int], Iterator[bytes]]] = {
    0: _pieces_none,
    1: _pieces_gzip,
    2: _pieces_snappy,
    3: _pieces_lz4,
    4: _pieces_zstd,
}
