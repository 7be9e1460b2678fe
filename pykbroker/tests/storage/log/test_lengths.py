"""The lengths of uncompressed records: what the fast walk refuses is what a slow one refuses."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.runtime.decoding import DecodingAllowance
from pykbroker.runtime.waits import WakeQueue
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.lengths import MOST_STEPS, are_alike, check_lengths, fit, walk
from pykbroker.storage.log.validate import ContentNotRead, Origin, validate_batch
from pykbroker.tests.kit.cluster import START_MS
from pykbroker.tests.kit.turns import MOST, counted
from pykbroker.wire.batch_header import HEADER_SIZE, read_batch_header, write_crc
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError
from pykbroker.wire.record_walk import RecordWalk
from pykbroker.wire.records import Record, encode_batch, read_unsigned_varint

#: Records of which ``fit`` says what they are, whatever they are.
FEW = 32
_LARGE = LogConfig(max_message_bytes=100_000_000)
#: Lengths of values that make runs, whose records have lengths of one, two and three bytes.
_SIZES = st.sampled_from([0, 1, 50, 56, 57, 58, 100, 9000])
_RUNS = st.lists(st.tuples(_SIZES, st.sampled_from([1, 2, 5, 70, 700])), min_size=1, max_size=5)


def _batch(sizes: list[int]) -> bytearray:
    return bytearray(encode_batch([Record(n, START_MS, value=bytes(size)) for n, size in enumerate(sizes)]))


def _fits(data: bytearray, count: int) -> bool:
    """What ``walk`` says, record by record."""
    pos = HEADER_SIZE
    try:
        for _ in range(count):
            length, pos = read_unsigned_varint(data, pos)
            if length & 1 or length < 12:
                return False
            pos += length >> 1
    except (IndexError, WireError):
        return False
    return pos == len(data)


def _taken(data: bytearray) -> bool:
    try:
        check_lengths(read_batch_header(data), data)
    except KafkaError as error:
        return error.code is not ErrorCode.INVALID_RECORD
    return True


@given(_RUNS, st.data())
def test_what_is_refused_is_what_a_walk_record_by_record_refuses(
    runs: list[tuple[int, int]], data: st.DataObject
) -> None:
    sizes = [size for size, count in runs for _ in range(count)]
    good = _batch(sizes)
    assert _taken(good)
    assert all(True for _ in RecordWalk(good, read_batch_header(good)).records())
    bad = bytearray(good)
    at = data.draw(
        st.integers(HEADER_SIZE, len(bad) - 1) | st.integers(HEADER_SIZE, min(len(bad) - 1, HEADER_SIZE + 99))
    )
    bad[at] = data.draw(st.integers(0, 255))
    count = len(sizes) + data.draw(st.sampled_from([-1, 0, 0, 0, 1]))
    bad[57:61] = max(count, 1).to_bytes(4, "big")
    cut = data.draw(st.sampled_from([0, 0, 0, 1, 7]))
    bad = bad[: len(bad) - cut] + bytes(data.draw(st.sampled_from([0, 0, 0, 1, 7])))
    bad[8:12] = (len(bad) - 12).to_bytes(4, "big")
    assert _taken(bad) == _fits(bad, max(count, 1))
    assert are_alike(good, len(sizes)) <= _fits(good, len(sizes))
    assert are_alike(bad, max(count, 1)) <= _fits(bad, max(count, 1))
    assert fit(good, len(sizes)) or len(sizes) > FEW
    assert fit(bad, max(count, 1)) <= _fits(bad, max(count, 1))


@pytest.mark.parametrize("size", [0, 30, 56, 57, 100])
@pytest.mark.parametrize("count", [2, 3, 64, 65, 150, 8192])
def test_a_small_batch_of_equally_long_records_is_looked_at_as_a_whole(size: int, count: int) -> None:
    assert are_alike(_batch([size] * count), count)
    assert not are_alike(_batch([size] * (count - 1) + [size + 1]), count)


def test_a_length_of_three_bytes_is_none_of_two() -> None:
    """The first 64 records are as long as two bytes can say, and the next one seems to go on."""
    data = bytearray(HEADER_SIZE) + 64 * (b"\xfe\x7f" + bytes(8191)) + b"\x80\x80" + bytes(8192)
    assert not _fits(data, 65)
    assert not are_alike(data, 65)


@given(_RUNS, st.integers(1, 9))
def test_a_walk_goes_on_where_it_stopped(runs: list[tuple[int, int]], steps: int) -> None:
    sizes = [size for size, count in runs for _ in range(count)]
    data = memoryview(_batch(sizes)).toreadonly()
    pos, left = HEADER_SIZE, len(sizes)
    for _ in range(len(sizes)):
        if not left:
            break
        pos, left = walk(data, pos, left, steps)
    assert (pos, left) == (len(data), 0)


def _spoilt(count: int, number: int, size: int = 100) -> bytearray:
    """Equally long records, of which one says that it is a byte longer; its checksum is right."""
    data = _batch([size] * count)
    pos = HEADER_SIZE
    for _ in range(number):
        length, pos = read_unsigned_varint(data, pos)
        pos += length >> 1
    data[pos] += 2
    write_crc(data, 0, len(data))
    return data


@pytest.mark.parametrize("count", [2, 3, 63, 64, 65, 200, 5000])
@pytest.mark.parametrize("where", [0, 0.5, 1])
@pytest.mark.parametrize("size", [30, 100, 9000])
def test_one_wrong_length_anywhere_is_refused(count: int, where: float, size: int) -> None:
    count = min(count, 2_000_000 // size)
    with pytest.raises(KafkaError) as caught:
        validate_batch(_spoilt(count, round(where * (count - 1)), size), _LARGE, Origin.CLIENT, START_MS)
    assert caught.value.code is ErrorCode.INVALID_RECORD


class _Allows:
    def __init__(self, most: int) -> None:
        self.left = most

    def take(self, records: int) -> bool:
        self.left -= records
        return self.left >= 0


def test_records_of_many_lengths_are_left_to_a_thread_beyond_the_allowance() -> None:
    data = _batch([number % 9 for number in range(MOST_STEPS)])
    check = partial(validate_batch, data, _LARGE, Origin.CLIENT, START_MS, "")
    assert check(_Allows(MOST_STEPS)) == (read_batch_header(data), data)
    with pytest.raises(ContentNotRead) as caught:
        check(_Allows(10))
    assert caught.value.only_lengths
    assert validate_batch(_batch([5] * 5000), _LARGE, Origin.CLIENT, START_MS, "", _Allows(0))


def test_batches_of_many_lengths_have_a_turn_s_allowance_together() -> None:
    data = _batch([number % 9 for number in range(MOST_STEPS - 50)])
    allowance = DecodingAllowance(WakeQueue())
    batches = []
    with counted() as lines, suppress(ContentNotRead):
        while True:
            batches.append(validate_batch(data, _LARGE, Origin.CLIENT, START_MS, "", allowance))
    assert len(batches) > 1
    assert lines[0] <= MOST
