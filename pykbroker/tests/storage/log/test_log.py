"""Appending, rolling, reading and finding."""

from __future__ import annotations

import random

import pytest

from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.log import Log
from pykbroker.storage.log.segment import Segment
from pykbroker.storage.log.validate import Origin
from pykbroker.tests.storage.rounds import retention_round
from pykbroker.tests.storage.support import START_MS, Store, append, append_marker, batch, contents
from pykbroker.wire.batch_header import HEADER_SIZE, TimestampType, iter_batches, write_crc
from pykbroker.wire.compression import Compression
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.records import Record, decode_records, encode_batch

SMALL = LogConfig(segment_bytes=1000, index_interval_bytes=100)


@pytest.fixture
def store():
    return Store()


def fill(log, count, size=20):
    for number in range(count):
        append(log, batch([b"%d" % number + bytes(size)], timestamp=START_MS + 10 * number), now_ms=START_MS)


def read(log, offset, max_bytes=10**6, **more):
    plan = log.plan_read(offset, max_bytes, **more)
    return [] if plan is None else [header.base_offset for _, header in iter_batches(plan.read())]


def test_offsets_and_epochs_are_written_into_the_batch(store):
    log = store.log()
    append(log, batch([b"a", b"b"]), epoch=3)
    result = append(log, batch([b"c"]), epoch=4)
    assert (result.base_offset, result.last_offset, result.log_append_time) == (2, 2, -1)
    plan = log.plan_read(0, 1000)
    headers = [header for _, header in iter_batches(plan.read())]
    assert [(header.base_offset, header.partition_leader_epoch) for header in headers] == [(0, 3), (2, 4)]
    assert log.epochs.entries() == [(3, 0), (4, 2)]


def test_append_time_is_answered(store):
    log = store.log(LogConfig(log_append_time=True))
    assert append(log, batch([b"a"]), now_ms=START_MS + 9).log_append_time == START_MS + 9


def test_a_batch_larger_than_a_segment(store):
    log = store.log(LogConfig(segment_bytes=150))
    with pytest.raises(KafkaError) as caught:
        append(log, batch([bytes(200)]))
    assert caught.value.code is ErrorCode.RECORD_LIST_TOO_LARGE
    assert log.log_end_offset == 0


def test_segments_roll_by_size(store):
    log = store.log(SMALL)
    fill(log, 50)
    assert len(log.segments) > 3
    assert all(segment.size <= 1000 for segment in log.segments)
    assert [offset for offset, _ in contents(log)] == list(range(50))


def test_segments_roll_by_the_time_of_records(store):
    log = store.log(LogConfig(segment_ms=1000))
    for timestamp in (0, 1000, 1001, 1500, 2001, 2002):
        append(log, batch([b"x"], timestamp=START_MS + timestamp))
    assert [segment.base_offset for segment in log.segments] == [0, 2, 5]


def test_segments_roll_by_the_clock_where_records_have_no_time(store):
    log = store.log(LogConfig(segment_ms=1000))
    append(log, batch([b"x"], timestamp=-1), now_ms=START_MS)
    append(log, batch([b"x"], timestamp=-1), now_ms=START_MS + 1000)
    append(log, batch([b"x"], timestamp=-1), now_ms=START_MS + 1001)
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_segments_roll_when_an_index_is_full(store):
    log = store.log(LogConfig(index_interval_bytes=1, segment_index_bytes=48))
    fill(log, 20)
    assert all(segment.indexes.by_offset.count <= 6 and segment.indexes.by_time.count <= 4 for segment in log.segments)


def test_jitter_makes_segments_roll_earlier(store):
    log = store.log(LogConfig(segment_ms=1000, segment_jitter_ms=1000))
    log.roll(START_MS)
    append(log, batch([b"x"]))
    log.roll(START_MS)
    assert 0 <= log.active.jitter_ms < 1000
    log.active.jitter_ms = 600
    append(log, batch([b"x"], timestamp=START_MS))
    append(log, batch([b"x"], timestamp=START_MS + 401))
    assert log.active.base_offset == 2


def test_compacted_logs_roll_before_their_compaction_is_overdue():
    assert LogConfig(compact=True, max_compaction_lag_ms=500).roll_ms == 500
    assert LogConfig(max_compaction_lag_ms=500).roll_ms == LogConfig().segment_ms


def test_reads_begin_with_the_batch_that_holds_the_offset(store):
    log = store.log()
    for number in range(5):
        append(log, batch([b"%d" % number] * 3))
    for offset in range(15):
        assert read(log, offset)[0] == offset // 3 * 3
    assert read(log, 15) == []


@pytest.mark.parametrize("offset", [-1, 4, 100])
def test_reads_outside_the_log(store, offset):
    log = store.log()
    fill(log, 3)
    with pytest.raises(KafkaError) as caught:
        log.plan_read(offset, 1000)
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_reads_give_whole_batches_only(store):
    log = store.log()
    fill(log, 10, size=100)
    size = log.size_bytes // 10
    assert read(log, 0, size * 3 + size // 2) == [0, 1, 2]
    assert read(log, 7, size * 10) == [7, 8, 9]


def test_the_first_batch_is_read_even_if_it_is_too_large(store):
    log = store.log()
    fill(log, 3, size=500)
    assert read(log, 1, 10) == [1]
    assert read(log, 1, 0) == [1]
    assert read(log, 1, 10, at_least_one=False) == []


def test_reads_stop_at_the_upper_offset(store):
    log = store.log()
    fill(log, 10)
    assert read(log, 2, upper_offset=5) == [2, 3, 4]
    assert read(log, 5, upper_offset=5) == []


def test_long_reads_of_small_batches_use_the_index_and_lose_none(store):
    log = store.log(LogConfig(index_interval_bytes=500))
    fill(log, 4000)
    for max_bytes in (150_000, 200_001, 10**6):
        found = read(log, 17, max_bytes)
        assert found == list(range(17, 17 + len(found)))
        assert len(found) == min(max_bytes // 90, 4000 - 17) or max_bytes < 10**6


def test_every_offset_is_found_in_old_segments_and_new(store):
    log = store.log(LogConfig(segment_bytes=20_000, index_interval_bytes=300))
    fill(log, 1500)
    for offset in random.Random(1).sample(range(1500), 300):
        assert read(log, offset, 200)[0] == offset


def test_a_plan_says_what_it_will_bring(store):
    log = store.log()
    fill(log, 10)
    size = log.size_bytes // 10
    plan = log.plan_read(6, 10**6)
    assert plan.size == log.size_bytes - 6 * plan.size // 4 or plan.size > 3 * size
    assert plan.end_offset == 10
    plan = log.plan_read(2, 3 * size)
    data = plan.read()
    assert plan.end_offset == [header.last_offset for _, header in iter_batches(data)][-1] + 1 < 10


def test_cold_reads_are_left_to_a_thread(store):
    log = store.log(SMALL)
    fill(log, 200)
    store.stop()
    store.start()
    log = store.log(SMALL)
    store.disk.cold = True
    plan = log.plan_read(3, 10**6)
    assert plan.read_now() is None
    assert plan.read()
    store.disk.cold = False
    assert log.plan_read(3, 10**6).read_now() is not None


def test_a_read_goes_on_in_segments_that_were_dropped_meanwhile(store):
    log = store.log(SMALL)
    fill(log, 100)
    plan = log.plan_read(3, 500)
    log.delete_records_before(90)
    retention_round(store.manager, START_MS + 10)
    assert plan.read()


def test_a_read_looks_again_when_its_segment_was_replaced_and_removed(store):
    log = store.log(SMALL)
    fill(log, 100)
    plan = log.plan_read(3, 500)
    segment = log.segments[0]
    segment.close()
    log.segments = [Segment(store.disk, log.path, 0), *log.segments[1:]]
    segment.log.path += ".gone"
    assert plan.read()
    plan = log.plan_read(3, 500)
    log.delete_records_before(50)
    segment = plan._segments[0]
    segment.close()
    segment.log.path += ".gone"
    with pytest.raises(KafkaError) as caught:
        plan.read()
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_finding_by_timestamp(store):
    log = store.log(SMALL)
    fill(log, 100)
    for number in (0, 1, 50, 99):
        assert log.offset_for_timestamp(START_MS + 10 * number) == (number, START_MS + 10 * number, 0)
        assert log.offset_for_timestamp(START_MS + 10 * number - 9).offset == number
    assert log.offset_for_timestamp(START_MS + 991) is None
    assert log.offset_for_timestamp(START_MS + 500, upper_offset=50) is None
    log.delete_records_before(60)
    assert log.offset_for_timestamp(START_MS).offset == 60


def test_finding_the_largest_timestamp(store):
    log = store.log(SMALL)
    assert log.offset_of_max_timestamp() is None
    fill(log, 30)
    append(log, batch([b"a", b"b"], timestamp=START_MS + 5000))
    append(log, batch([b"late"], timestamp=START_MS + 5001))
    fill(log, 30)
    # The first of those that have it.
    assert log.offset_of_max_timestamp().offset == 31
    log.delete_records_before(32)
    assert log.offset_of_max_timestamp().offset == 32
    log.delete_records_before(40)
    assert log.offset_of_max_timestamp().timestamp == START_MS + 290


def test_the_largest_append_time_is_the_first_of_its_batch(store):
    log = store.log(LogConfig(log_append_time=True))
    append(log, batch([b"a", b"b", b"c"]), now_ms=START_MS + 7)
    assert log.offset_of_max_timestamp().offset == 0


def test_timestamps_that_fall(store):
    log = store.log(SMALL)
    for number in range(100):
        append(log, batch([b"x" * 20], timestamp=START_MS - 10 * number))
    assert log.offset_for_timestamp(START_MS - 500).offset == 0
    assert log.offset_of_max_timestamp().offset == 0


def test_leader_epochs(store):
    log = store.log()
    assert [log.end_offset_for_epoch(epoch) for epoch in (-2, -1, 0)] == [(-1, -1)] * 3
    fill(log, 2)
    log.begin_epoch(2)
    append(log, batch([b"x"]), epoch=2)
    log.begin_epoch(5)
    append(log, batch([b"x"]), epoch=5)
    assert log.end_offset_for_epoch(0) == (0, 2)
    assert log.end_offset_for_epoch(1) == (0, 2)
    assert log.end_offset_for_epoch(2) == (2, 3)
    assert log.end_offset_for_epoch(4) == (2, 3)
    assert log.end_offset_for_epoch(5) == (5, 4)
    assert log.end_offset_for_epoch(6) == (-1, -1)
    assert log.end_offset_for_epoch(-2) == (-2, 0)
    assert [log.epoch_at(offset) for offset in range(5)] == [0, 0, 2, 5, 5]
    log.delete_records_before(3)
    assert log.epochs.entries() == [(5, 3)]
    assert log.end_offset_for_epoch(1) == (1, 3)


def test_truncation_brings_back_what_was(store):
    log = store.log(SMALL)
    for number in range(40):
        append(log, batch([b"x" * 20], producer=(7, 0, number), timestamp=START_MS + number), epoch=number // 10)
    before = log.size_bytes
    log.truncate_to(25)
    assert log.log_end_offset == 25
    assert log.size_bytes < before
    assert log.epochs.entries() == [(0, 0), (1, 10), (2, 20)]
    assert log.offset_of_max_timestamp().offset == 24
    assert append(log, batch([b"y"], producer=(7, 0, 25)), epoch=2).base_offset == 25
    assert [offset for offset, _ in contents(log)] == list(range(26))
    log.truncate_to(100)
    assert log.log_end_offset == 26


def test_truncation_below_the_first_segment_begins_anew(store):
    log = store.log(SMALL)
    fill(log, 40)
    log.delete_records_before(35)
    log.truncate_to(3)
    assert (log.log_start_offset, log.log_end_offset) == (3, 3)
    assert append(log, batch([b"x"])).base_offset == 3


def test_truncation_opens_a_transaction_again(store):
    log = store.log()
    append(log, batch([b"x"], producer=(7, 0, 0), transactional=True))
    append_marker(log, 7, 0, commit=False)
    log.truncate_to(1)
    assert log.last_stable_offset == 0
    assert log.aborted_transactions(0, 1) == []


def test_settings_may_change(store):
    log = store.log()
    log.update_config(LogConfig(log_append_time=True, compression_type="gzip"))
    append(log, batch([b"x" * 100]), now_ms=START_MS + 3)
    ((_, header),) = iter_batches(log.plan_read(0, 1000).read())
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert header.compression == 1
    assert decode_records(bytes(log.plan_read(0, 1000).read()))[0].timestamp == START_MS + 3


def test_settings_by_kafkas_names():
    config = LogConfig.from_settings(
        {
            "segment.bytes": 123,
            "retention.ms": "-1",
            "cleanup.policy": "compact,delete",
            "message.timestamp.type": "LogAppendTime",
            "min.cleanable.dirty.ratio": "0.25",
            "compression.type": "zstd",
            "compression.zstd.level": 9,
            "preallocate": "true",
            "no.such.setting": 1,
        }
    )
    assert (config.segment_bytes, config.retention_ms, config.compact, config.delete) == (123, -1, True, True)
    assert (config.log_append_time, config.min_cleanable_dirty_ratio, config.compression_zstd_level) == (True, 0.25, 9)
    assert config.preallocate
    assert not config.opaque_batches
    assert LogConfig.from_settings({}) == LogConfig()


@pytest.mark.parametrize(
    "question",
    [lambda log: log.offset_for_timestamp(0), lambda log: log.offset_of_max_timestamp()],
    ids=["timestamp", "largest timestamp"],
)
def test_a_look_up_in_a_log_that_is_deleted_meanwhile_is_no_fault_of_the_disk(store, question):
    """Look-ups run in threads: the loop may delete the topic before their turn comes."""
    log = store.log()
    append(log, batch([b"x"]))
    for segment in log.segments:
        segment.close()
    fresh = Segment(store.disk, log.path, 0)
    store.manager.delete(log)
    log.segments = [fresh]  # as a thread sees it that opens the files only now
    with pytest.raises(KafkaError) as refused:
        question(log)
    assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert not log.directory.offline


#: Settings under which a batch is usual, and some under which it is not.
CONFIGS = [
    LogConfig(),
    LogConfig(index_interval_bytes=100, segment_index_bytes=80),
    LogConfig(segment_bytes=1000, max_message_bytes=300),
    LogConfig(segment_ms=50),
    LogConfig(flush_messages=9),
    LogConfig(log_append_time=True),
    LogConfig(compact=True),
]


def a_batch(rng: random.Random) -> bytearray:
    """Of a producer, usual in most ways."""
    producer = rng.choice([None, None, (7, rng.choice([0, 0, 1]), rng.randint(0, 6)), (8, 0, rng.randint(0, 2))])
    values: list[bytes | None] = [bytes(rng.choice([0, 50, 51, 120])) for _ in range(rng.choice([1, 1, 2, 5]))]
    when, codec = START_MS + rng.choice([0, 0, 20, 60, 10**9]), rng.choice([Compression.NONE] * 4 + [Compression.GZIP])
    data = batch(values, timestamp=when, producer=producer, compression=codec, transactional=rng.random() < 0.05)
    if rng.random() < 0.2:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        if rng.random() < 0.7:
            write_crc(data, 0, len(data))
    return data if rng.random() < 0.95 else data[: rng.randrange(len(data))]


def appended(
    log: Log, data: bytearray, epoch: int = 0, now_ms: int = START_MS, origin: Origin = Origin.CLIENT
) -> object:
    try:
        done = log.append_as_leader(data, leader_epoch=epoch, now_ms=now_ms, origin=origin)
    except KafkaError as error:
        return error.code, error.message
    return done.base_offset, done.log_append_time, done.duplicate


def assert_alike(first: Log, second: Log, stores: tuple[Store, Store]) -> None:
    """Both logs, which are closed, have the same files and know the same producers."""
    for log in (first, second):
        log.close()
    paths = [path for segment in first.segments for path in segment.paths() if stores[1].disk.exists(path)]
    assert [stores[0].disk.read(path) for path in paths] == [stores[1].disk.read(path) for path in paths]
    assert first.producers.encode() == second.producers.encode()


@pytest.mark.parametrize("seed", range(70))
def test_what_is_appended_as_usual_is_what_would_have_been_appended(seed: int) -> None:
    """And what is left to ``append_batch`` is as it was."""
    rng, stores = random.Random(seed), (Store(), Store())
    first, second = [store.log(CONFIGS[seed % len(CONFIGS)]) for store in stores]
    taken = 0
    for _ in range(60):
        data = a_batch(rng)
        one, other = bytearray(data), bytearray(data)
        expected = appended(second, other)
        before = bytes(one)
        offset = first.append_usual(memoryview(one), 0, START_MS)
        if offset >= 0:
            taken += 1
            assert (offset, -1, False) == expected
            assert first.synced_offset == first.log_end_offset
        else:
            assert one == before
            assert appended(first, one) == expected
        assert one == other
        assert first.log_end_offset == second.log_end_offset
    assert_alike(first, second, stores)
    if first.config != CONFIGS[4]:  # of which few batches need no sync
        assert (taken > 1) == first.config.opaque_batches


@pytest.mark.parametrize("seed", range(70))
def test_own_records_are_appended_as_any_batch_of_them_would_have_been(seed: int) -> None:
    """And what is left to ``append_batch`` is as it was."""
    rng, stores = random.Random(seed), (Store(), Store())
    first, second = [store.log(CONFIGS[seed % len(CONFIGS)]) for store in stores]
    taken = epoch = 0
    for _ in range(60):
        now_ms = START_MS + rng.choice([0, 0, 20, 60])
        values = [bytes(rng.choice([0, 50, 120])) for _ in range(rng.choice([1, 1, 2, 5]))]
        epoch += rng.random() < 0.1
        other = bytearray(encode_batch([Record(timestamp=now_ms, key=b"k", value=value) for value in values]))
        bare = bytes(HEADER_SIZE) + bytes(other[HEADER_SIZE:])
        one, whole = bytearray(bare), bytearray(other)
        expected = appended(second, other, epoch, now_ms, Origin.COORDINATOR)
        offset = first.append_own(one, len(values), epoch, now_ms)
        if offset >= 0:
            taken += 1
            assert (offset, -1, False) == expected
            assert one == other
            assert first.synced_offset == first.log_end_offset
        else:
            assert one == bare
            assert appended(first, whole, epoch, now_ms, Origin.COORDINATOR) == expected
        assert first.log_end_offset == second.log_end_offset
    assert_alike(first, second, stores)
    if first.config != CONFIGS[4]:  # of which few batches need no sync
        assert (taken > 1) == first.config.keeps_own_batches
