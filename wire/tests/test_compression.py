"""The codecs: what they write comes back, in the framing Java reads, and bombs do not go off."""

from __future__ import annotations

import gzip
import struct
import subprocess
import sys

import cramjam
import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.wire.compression import Compression, compress, compression_of, decompress
from pykbroker.wire.errors import WireError

REAL_CODECS = [codec for codec in Compression if codec is not Compression.NONE]
MIB = 1024 * 1024


@given(st.sampled_from(Compression), st.binary(max_size=2000), st.integers(1, 100))
def test_round_trip(codec: Compression, data: bytes, times: int) -> None:
    assert decompress(codec, memoryview(compress(codec, memoryview(data * times)))) == data * times


@pytest.mark.parametrize(
    ("codec", "level"),
    [
        (Compression.GZIP, 1),
        (Compression.GZIP, 9),
        (Compression.LZ4, 1),
        (Compression.LZ4, 9),
        (Compression.LZ4, 17),
        (Compression.ZSTD, -131072),
        (Compression.ZSTD, 22),
    ],
)
def test_kafkas_levels(codec: Compression, level: int) -> None:
    data = b"some words come again and again, some do not %d" * 100
    assert decompress(codec, compress(codec, data, level)) == data


def test_codec_numbers() -> None:
    assert [compression_of(number) for number in range(5)] == list(Compression)
    assert compression_of(0x28 | 3) is Compression.LZ4
    for number in (5, 6, 7):
        with pytest.raises(WireError, match=f"unknown compression codec {number}"):
            compression_of(number)


@pytest.mark.parametrize("codec", Compression)
def test_output_is_bounded(codec: Compression) -> None:
    data = compress(codec, bytes(MIB))
    assert len(decompress(codec, data, MIB)) == MIB
    with pytest.raises(WireError, match="holds more than 1048575 bytes"):
        decompress(codec, data, MIB - 1)


@pytest.mark.parametrize("codec", REAL_CODECS)
@pytest.mark.deep(but=1)
def test_a_bomb_costs_little_memory(codec: Compression) -> None:
    """In a process of its own that may not have the memory which the bomb would take."""
    program = f"""
import resource
from pykbroker.wire.compression import Compression, compress, decompress
from pykbroker.wire.errors import WireError
codec = Compression({codec.value})
bomb = compress(codec, bytes(256 * 1024 * 1024))
decompress(codec, compress(codec, b"load the library"))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 128 * 1024 * 1024, resource.RLIM_INFINITY))
try:
    decompress(codec, bomb, 1024 * 1024)
except WireError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "compressed data holds more than 1048576 bytes\n", done.stderr


@pytest.mark.parametrize("codec", REAL_CODECS)
def test_truncations(codec: Compression) -> None:
    data = compress(codec, b"some data " * 10)
    for size in range(len(data)):
        if codec is Compression.SNAPPY and size == 16:
            continue  # the header alone is a stream of no blocks
        with pytest.raises(WireError):
            decompress(codec, data[:size])


@given(st.sampled_from(REAL_CODECS), st.binary(max_size=100))
def test_garbage(codec: Compression, data: bytes) -> None:
    try:
        found = decompress(codec, data, MIB)
    except WireError:
        return
    assert len(found) <= MIB


@given(st.sampled_from(REAL_CODECS), st.data())
def test_damage(codec: Compression, draw: st.DataObject) -> None:
    data = bytearray(compress(codec, b"some data " * 30))
    data[draw.draw(st.integers(0, len(data) - 1))] ^= draw.draw(st.integers(1, 255))
    try:
        found = decompress(codec, data, MIB)
    except WireError:
        return
    assert len(found) <= MIB


# gzip


def test_gzip_members_joined_end_to_end() -> None:
    assert decompress(Compression.GZIP, gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"


def test_gzip_members_share_the_limit() -> None:
    bomb = gzip.compress(bytes(600)) * 2
    with pytest.raises(WireError, match="more than 1000"):
        decompress(Compression.GZIP, bomb, 1000)


# snappy


def test_snappy_is_written_in_javas_framing() -> None:
    data = compress(Compression.SNAPPY, bytes(40_000))
    assert data[:16] == b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
    (size,) = struct.unpack_from(">i", data, 16)
    assert bytes(cramjam.snappy.decompress_raw(data[20 : 20 + size])) == bytes(32 * 1024)


def test_snappy_without_framing() -> None:
    assert decompress(Compression.SNAPPY, bytes(cramjam.snappy.compress_raw(b"raw " * 50))) == b"raw " * 50


def test_snappy_streams_joined_end_to_end() -> None:
    data = compress(Compression.SNAPPY, b"one ") + compress(Compression.SNAPPY, b"two")
    assert decompress(Compression.SNAPPY, data) == b"one two"


@pytest.mark.parametrize("size", [-1, -(2**31), 2**31 - 1, 6])
def test_snappy_block_sizes(size: int) -> None:
    data = compress(Compression.SNAPPY, b"")
    with pytest.raises(WireError, match="remain"):
        decompress(Compression.SNAPPY, data + struct.pack(">i", size) + b"12345")


def test_snappy_block_that_claims_too_much() -> None:
    with pytest.raises(WireError, match="claims to hold"):
        decompress(Compression.SNAPPY, b"\x80\x80\x80\x20" + bytes(100))
    with pytest.raises(WireError, match="holds more than"):
        decompress(Compression.SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(100))


# lz4


def test_lz4_is_written_as_javas_reader_wants_it() -> None:
    """Its reader refuses linked blocks and does not know content sizes."""
    info = lz4.frame.get_frame_info(compress(Compression.LZ4, bytes(200_000)))
    assert not info["block_linked"]
    assert not info["content_size"]
    assert not info["content_checksum"]
    assert info["block_size"] == 64 * 1024


@pytest.mark.parametrize("options", [{"block_linked": True}, {"content_checksum": True, "block_checksum": True}])
def test_lz4_as_others_write_it(options: dict[str, bool]) -> None:
    data = b"some data " * 20_000
    assert decompress(Compression.LZ4, lz4.frame.compress(data, store_size=True, **options)) == data


# zstd


def test_zstd_without_content_size() -> None:
    data = b"some data " * 100_000
    stream = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    assert decompress(Compression.ZSTD, stream.compress(data) + stream.flush()) == data


@pytest.mark.parametrize("size", [0, 1, 511, 512, 513, 5000])
def test_zstd_frames_joined_end_to_end(size: int) -> None:
    one, two = bytes(range(256)) * 40, b"x" * size
    frames = zstandard.compress(one[:size]) + zstandard.compress(two) + zstandard.compress(one)
    assert decompress(Compression.ZSTD, frames) == one[:size] + two + one
