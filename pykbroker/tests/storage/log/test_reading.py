"""Reads across segments that compaction has left without a batch."""

from __future__ import annotations

import pytest

from pykbroker.storage.compaction.cleaning import clean
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.log import Log
from pykbroker.tests.storage.support import START_MS, Store, append, batch
from pykbroker.wire.batch_header import iter_batches
from pykbroker.wire.errors import ErrorCode, KafkaError

SEGMENTS = 8
BATCHES = 4
CONFIG = LogConfig(
    segment_bytes=1200,
    index_interval_bytes=100,
    retention_ms=-1,
    delete=False,
    compact=True,
    min_cleanable_dirty_ratio=0.01,
)
END = SEGMENTS * BATCHES


def compact(store: Store) -> None:
    plan = store.manager.compactions.plan(store.clock.now_ms())
    assert plan is not None
    store.manager.compactions.finish(plan, clean(plan.job, store.disk))


def offsets(log: Log, offset: int, **more) -> list[int]:
    """Base offsets of what one read from ``offset`` brings: the same at once and from a thread."""
    plan = log.plan_read(offset, 10_000, **more)
    assert plan is not None
    waited = bytes(plan.read())
    again = log.plan_read(offset, 10_000, **more)
    at_once = again.read_now()
    assert at_once is not None
    assert bytes(at_once) == waited
    assert again.end_offset == plan.end_offset
    return [header.base_offset for _, header in iter_batches(waited)]


@pytest.fixture(params=["as it was left", "restarted"])
def log(request: pytest.FixtureRequest) -> Log:
    """The first record is kept, and the last two segments; those between hold nothing."""
    store = Store()
    log = store.log(CONFIG)
    for number in range(END):
        if number and number % BATCHES == 0:
            log.roll(START_MS)
        append(log, batch([bytes(200)], keys=[b"first" if number == 0 else b"same"]))
    log.flush()
    compact(store)
    sizes = [segment.size for segment in log.segments]
    assert [size > 0 for size in sizes] == [True, *[False] * (SEGMENTS - 3), True, True]
    if request.param == "restarted":
        store.stop()
        store.start()
        log = store.log(CONFIG)
    return log


def test_a_read_goes_on_behind_empty_segments(log: Log) -> None:
    newest = END - BATCHES - 1
    assert offsets(log, 0) == [0]
    for offset in range(1, newest + 1):
        assert offsets(log, offset) == [newest]
    assert offsets(log, newest + 1) == list(range(newest + 1, END))


def test_a_read_that_may_not_see_behind_them_brings_nothing(log: Log) -> None:
    for offset in range(1, 3 * BATCHES):
        assert offsets(log, offset, upper_offset=4 * BATCHES) == []
        plan = log.plan_read(offset, 10_000, upper_offset=4 * BATCHES)
        plan.read()
        assert plan.end_offset == offset


def test_look_ups_by_time_pass_over_them(log: Log) -> None:
    assert log.offset_for_timestamp(START_MS).offset == 0
    assert log.offset_for_timestamp(START_MS + 1) is None
    assert log.offset_of_max_timestamp().offset == 0


def test_the_next_compaction_joins_them_with_their_neighbours() -> None:
    """As far as segment.bytes allows, as in Apache Kafka."""
    store = Store()
    log = store.log(CONFIG)
    for round_ in range(2):
        for _ in range(SEGMENTS):
            append(log, batch([bytes(200)], keys=[b"same"]))
            log.roll(START_MS)
        log.flush()
        compact(store)
        assert len(log.segments) <= (SEGMENTS + 1 if round_ == 0 else SEGMENTS // 2)
    bases = [segment.base_offset for segment in log.segments]
    assert bases[0] == 0
    assert bases == sorted(set(bases))


QUESTIONS = {
    "read": lambda log: log.plan_read(0, 1000).read(),
    "search": lambda log: log.offset_for_timestamp(START_MS),
    "newest": lambda log: log.offset_of_max_timestamp(),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_file_that_is_missing_fails_its_readers_alone(question, caplog):
    store = Store()
    log = store.log(LogConfig(segment_bytes=300, index_interval_bytes=50))
    for number in range(12):
        append(log, batch([bytes(40)], timestamp=START_MS + (100 if number < 3 else number)))
    for path in log.segments[0].paths():
        store.disk.remove(path)
    log.segments[0].close()
    for _ in range(3):
        with pytest.raises(KafkaError) as caught:
            QUESTIONS[question](log)
        assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert not store.manager.metadata_directory.offline
    assert len(caplog.records) == 1, "one line for one file"
    assert len(bytes(log.plan_read(log.active.base_offset, 1000).read())) > 0
    assert append(log, batch([b"more"])).base_offset == 12
