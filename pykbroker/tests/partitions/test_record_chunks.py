"""Records of a batch, some at a time: all of them, in order, and what is held is given back whatever happens."""

from __future__ import annotations

import random

import pytest

from pykbroker.partitions.record_chunks import AT_ONCE, RecordChunks, decode_now
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.runtime import Runtime
from pykbroker.wire.compression import Compression
from pykbroker.wire.errors import WireError
from pykbroker.wire.records import HEADER_SIZE, Record, decode_records, encode_batch, read_batch_header

MANY = [
    Record(timestamp=number, key=b"%d" % number, value=b"v" * (number % 7), headers=(("h", None),))
    for number in range(1700)
]


@pytest.fixture
def runtime() -> Runtime:
    return Runtime(ManualClock(0), random.Random(1))


def chunks(runtime: Runtime, batch: bytes) -> RecordChunks:
    return RecordChunks(runtime, read_batch_header(batch), batch)


@pytest.mark.parametrize("codec", Compression)
def test_all_records_come_some_at_a_time(runtime: Runtime, codec: Compression) -> None:
    batch = encode_batch(MANY, base_offset=5, compression=codec)
    taken, found = chunks(runtime, batch), []
    while some := taken.take().value:
        assert len(some) <= 500
        assert runtime.memory.decompressed.held
        found += some
    assert found == decode_records(batch)
    assert runtime.memory.used == 0


def test_a_batch_that_is_damaged_gives_back_what_it_holds(runtime: Runtime) -> None:
    batch = bytearray(encode_batch(MANY))
    batch[HEADER_SIZE] = 127
    wait = chunks(runtime, bytes(batch)).take()
    assert isinstance(wait.error, WireError)
    assert runtime.memory.used == 0


def test_who_needs_no_more_gives_back(runtime: Runtime) -> None:
    taken = chunks(runtime, encode_batch(MANY))
    assert taken.take().value
    taken.close()
    taken.close()
    assert runtime.memory.used == 0


def test_it_waits_for_memory(runtime: Runtime) -> None:
    runtime.memory.decompressed.take(runtime.memory.limit)
    wait = chunks(runtime, encode_batch(MANY, compression=Compression.GZIP)).take()
    assert not wait.done
    runtime.memory.decompressed.give(runtime.memory.limit)
    assert len(wait.value) == 500


def test_a_small_batch_is_decoded_at_once_and_a_large_one_is_not() -> None:
    def now(records: list[Record], codec: Compression = Compression.NONE) -> list[Record] | None:
        batch = encode_batch(records, compression=codec)
        return decode_now(read_batch_header(batch), batch)

    assert now(MANY[:AT_ONCE], Compression.ZSTD) is not None
    assert now(MANY[: AT_ONCE + 1]) is None
    assert now([Record(timestamp=0, value=bytes(70_000))]) is None
    assert now([Record(timestamp=0, value=bytes(10**6))], Compression.ZSTD) is None
