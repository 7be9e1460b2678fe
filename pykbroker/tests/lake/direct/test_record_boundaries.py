from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

pytest.importorskip("numpy")

import numpy as np

from pykbroker.lake.direct import record_boundaries
from pykbroker.lake.direct.record_boundaries import record_limits
from pykbroker.lake.direct.record_boundary_search import guessed_beginnings
from pykbroker.lake.direct.varints import LOOK_AHEAD, Numbers
from pykbroker.wire.batch_header import HEADER_SIZE, BatchHeader, read_batch_header
from pykbroker.wire.errors import WireError
from pykbroker.wire.records import Record, encode_batch

Batch = tuple[BatchHeader, bytes]


def batch_of(values: list[bytes]) -> Batch:
    data = encode_batch([Record(-1, 5, None, value) for value in values])
    return read_batch_header(data), data[HEADER_SIZE:]


def limits_of(batches: list[Batch]) -> tuple[Numbers, Numbers]:
    data = b"".join(payload for _, payload in batches) + bytes(LOOK_AHEAD)
    return record_limits(data, [header for header, _ in batches], [len(payload) for _, payload in batches])


def walked(batches: list[Batch]) -> tuple[list[int], list[int]]:
    """As records say it themselves, one after the other."""
    starts: list[int] = []
    ends: list[int] = []
    data = b"".join(payload for _, payload in batches)
    record_boundaries._walk(data, 0, len(data), starts, ends)
    return starts, ends


def guesses(batch: Batch) -> list[int]:
    header, payload = batch
    data = np.frombuffer(payload + bytes(LOOK_AHEAD), np.uint8)
    begin, end, count = (np.array([each]) for each in (0, len(payload), header.record_count))
    return guessed_beginnings(data, begin, end, count).tolist()


def text(random: Random) -> bytes:
    return b'{"carrier": "UA", "delay": %d, "note": "%s"}' % (random.randrange(1 << 20), b"x" * random.randrange(200))


def numbers(random: Random) -> bytes:
    """As binary formats write them: zeros and lengths everywhere."""
    return b"".join(random.choice((0, 1, 7, 300, 1 << 20)).to_bytes(4, "big") for _ in range(random.randrange(1, 60)))


@pytest.mark.parametrize("content", [text, numbers])
@pytest.mark.parametrize("counts", [(20_000,), (3000, 1, 5000, 90, 12_000), (40,) * 200, (10,)], ids=str)
def test_limits_are_those_that_the_records_say(content: Callable[[Random], bytes], counts: tuple[int, ...]) -> None:
    random = Random(1)
    batches = [batch_of([content(random) for _ in range(count)]) for count in counts]
    starts, ends = limits_of(batches)
    assert (starts.tolist(), ends.tolist()) == walked(batches)


def test_limits_of_records_longer_than_two_bytes_say() -> None:
    """In many batches at once; each has shorter ones, too."""
    random = Random(1)
    batches = [batch_of([b"x" * random.choice((5, 8170, 8185, 8200, 20_000)) for _ in range(4)]) for _ in range(100)]
    starts, ends = limits_of(batches)
    assert (starts.tolist(), ends.tolist()) == walked(batches)


@pytest.mark.parametrize("size", [10, 9000])
def test_a_negative_length_in_one_of_many_batches_is_refused(size: int) -> None:
    header, payload = batch_of([b"x" * size] * 4)
    damaged = bytes([payload[0] | 1]) + payload[1:]
    with pytest.raises(WireError, match="length of a record is negative"):
        limits_of([*[(header, payload)] * 100, (header, damaged)])


def test_guesses_in_text_are_many_and_right() -> None:
    random = Random(1)
    batch = batch_of([text(random) for _ in range(10_000)])
    found = guesses(batch)
    _, ends = walked([batch])
    assert len(found) > record_boundaries._MANY
    assert set(found) <= set(ends)


def test_a_wrong_guess_changes_nothing() -> None:
    """Values that are records themselves: where they begin looks like where one of the batch begins."""
    batch = batch_of([batch_of([b"x" * 20] * 2)[1]] * 10_000)
    starts, ends = walked([batch])
    assert len(set(guesses(batch)) - set(ends)) > 10
    found_starts, found_ends = limits_of([batch])
    assert (found_starts.tolist(), found_ends.tolist()) == (starts, ends)


@pytest.mark.parametrize("count", [3, 20_000])
def test_a_batch_that_is_cut_short_is_refused(count: int) -> None:
    header, payload = batch_of([b"x" * 100] * count)
    with pytest.raises(WireError):
        limits_of([(header, payload[:-1])])
    with pytest.raises(WireError):
        limits_of([(header, payload[:-1]), (header, payload)])


def test_a_negative_length_is_refused() -> None:
    header, payload = batch_of([b"x" * 10] * 300)
    with pytest.raises(WireError, match="length of a record is negative"):
        limits_of([(header, bytes([payload[0] | 1]) + payload[1:])])
