"""Reads that leave batches in their file bring the same as those that read them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.stored import StoredRecords
from pykbroker.tests.storage.support import START_MS, Store, append, batch
from pykbroker.wire.errors import ErrorCode, KafkaError

sizes = st.lists(st.integers(1, 900), min_size=1, max_size=40)


@settings(deadline=None, max_examples=60)
@given(sizes, st.sampled_from([1, 300, 4096]), st.data())
def test_left_or_read_the_same_batches(values: list[int], interval: int, data: st.DataObject) -> None:
    log = Store().log(LogConfig(index_interval_bytes=interval, segment_bytes=6000))
    ends = []
    for size in values:
        append(log, batch([bytes(size)] * (1 + size % 3)))
        ends.append(log.log_end_offset)
    for _ in range(10):
        offset = data.draw(st.integers(0, log.log_end_offset - 1))
        upper = data.draw(st.sampled_from([end for end in ends if end > offset]))
        most = data.draw(st.integers(1, 12_000))
        inline = data.draw(st.integers(60, 3000))
        one = data.draw(st.booleans())
        plans = [log.plan_read(offset, most, upper_offset=upper, at_least_one=one) for _ in range(3)]
        assert all(plans)
        whole = plans[0].read()
        for left, plan in ((plans[1].read(inline), plans[1]), (plans[2].read_now(inline), plans[2])):
            assert left is not None
            assert bytes(left) == bytes(whole)
            assert len(left) > inline if isinstance(left, StoredRecords) else len(left) <= max(inline, 6000)
            assert plan.limited == plans[0].limited or not left
            assert plan.ends_in_older_segment == plans[0].ends_in_older_segment
            assert plan.end_offset >= plans[0].end_offset


def test_what_is_left_is_not_read_and_comes_in_slices() -> None:
    log = Store().log()
    for _ in range(10):
        append(log, batch([bytes(1000)]))
    whole = bytes(log.plan_read(0, 1 << 20).read())
    left = log.plan_read(0, 1 << 20).read_now(2000)
    assert isinstance(left, StoredRecords)
    assert len(left) == len(whole)
    parts = [bytes(left.slice(start, 3000)) for start in range(0, len(left), 3000)]
    assert b"".join(parts) == whole
    assert bytes(left.slice_now(500, 100)) == whole[500:600]


def test_a_slice_of_a_file_that_is_gone_is_an_error_and_no_failure_of_the_directory() -> None:
    store = Store()
    log = store.log()
    append(log, batch([bytes(5000)]))
    left = log.plan_read(0, 1 << 20).read_now(1000)
    log.roll(START_MS)
    path = log.segments[0].log.path
    log.segments[0].log.close()
    store.disk.remove(path)
    for read in (left.slice, left.slice_now):
        with pytest.raises(KafkaError) as refused:
            read(0, 100)
        assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert not log.directory.offline
