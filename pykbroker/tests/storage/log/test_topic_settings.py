"""Every setting of a topic does what it says: two values of it, and what can be seen of each.

A setting that a store cannot honour stands in ``NOTHING`` with the reason, one that others test in ``ELSEWHERE``; there is no
other kind.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from pykbroker.config.definitions.topics import TOPIC_SETTINGS
from pykbroker.storage.compaction.cleaning import clean
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.log import Log
from pykbroker.tests.storage.rounds import retention_round
from pykbroker.tests.storage.support import START_MS, Store, append, batch
from pykbroker.wire.batch_header import write_crc
from pykbroker.wire.compression import Compression
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.records import decode_records

#: Text that compresses, and better with more effort.
WORDS = b" ".join(random.Random(1).choices([b"%d" % (n * n) for n in range(300)], k=4000))

Probe = Callable[[Store, LogConfig], object]


def fill(log: Log, count: int = 10, size: int = 300, every_ms: int = 0, key: bytes | None = None) -> None:
    for number in range(count):
        time = START_MS + number * every_ms
        append(log, batch([bytes(size)], keys=[key], timestamp=time), now_ms=time)


def segments(store: Store, config: LogConfig) -> int:
    log = store.log(config)
    fill(log)
    return len(log.segments)


def segments_in_time(store: Store, config: LogConfig) -> int:
    log = store.log(config)
    fill(log, count=2, every_ms=50)
    return len(log.segments)


def rolls_early(store: Store, config: LogConfig) -> bool:
    """Whether any of twenty segments rolls before its time."""
    log = store.log(config)
    early = 0
    for number in range(20):
        start = START_MS + number * 10_000
        append(log, batch([b"x"], timestamp=start), now_ms=start)
        log.roll(start)
        before = len(log.segments)
        for time in (start, start + 900):
            append(log, batch([b"x"], timestamp=time), now_ms=time)
        early += len(log.segments) - before
        log.roll(start)
    return early > 0


def asks_to_flush(store: Store, config: LogConfig) -> bool:
    log = store.log(config)
    fill(log, count=2)
    return log.needs_flush_before_ack


def is_flushed_in_time(store: Store, config: LogConfig) -> bool:
    log = store.log(config)
    fill(log, count=1)
    store.clock.advance(100)
    return store.manager.due_flushes() == [log]


def is_shortened(store: Store, config: LogConfig) -> bool:
    log = store.log(config)
    fill(log)
    store.clock.advance(100_000)
    retention_round(store.manager, store.clock.now_ms())
    return log.log_start_offset > 0


def refusal(store: Store, config: LogConfig, **more) -> int:
    try:
        append(store.log(config), batch([bytes(500)], **more))
    except KafkaError as error:
        return error.code
    return 0


def refusal_of_compressed(store: Store, config: LogConfig) -> int:
    return refusal(store, config, keys=[b"k"], compression=Compression.ZSTD)


def refusal_of_no_records(store: Store, config: LogConfig) -> int:
    """A batch whose header and lengths are right, and whose last record says that it has headers."""
    data = batch([b"a"] * 3)
    data[-1] = 2
    write_crc(data, 0, len(data))
    try:
        append(store.log(config), data)
    except KafkaError as error:
        return error.code
    return 0


def index_entries(store: Store, config: LogConfig) -> int:
    log = store.log(config)
    fill(log)
    return log.active.indexes.by_offset.count


def compacted(store: Store, log: Log) -> bool:
    """Whether a compaction was due; it is done then."""
    log.flush()
    plan = store.manager.compactions.plan(store.clock.now_ms())
    if plan is not None:
        store.manager.compactions.finish(plan, clean(plan.job, store.disk))
    return plan is not None


def is_compacted(store: Store, config: LogConfig) -> bool:
    log = store.log(config)
    fill(log, key=b"k")
    log.roll(START_MS)
    store.clock.advance(1000)
    return compacted(store, log)


def is_compacted_again(store: Store, config: LogConfig) -> bool:
    """With a tenth more that is dirty."""
    log = store.log(config)
    for number in range(100):
        append(log, batch([bytes(100)], keys=[b"%d" % number]))
    log.roll(START_MS)
    assert compacted(store, log)
    fill(log, count=3, key=b"k")
    log.roll(START_MS)
    return compacted(store, log)


def tombstones(store: Store, config: LogConfig) -> int:
    log = store.log(config)
    append(log, batch([None], keys=[b"gone"]))
    for _ in range(2):
        append(log, batch([b"x"], keys=[b"other"]))
        log.roll(START_MS)
        compacted(store, log)
        store.clock.advance(1000)
    records = [record for header, data in log.batches() for record in decode_records(data, header=header)]
    return sum(record.value is None for record in records)


def deleted_files(store: Store, config: LogConfig) -> bool:
    log = store.log(config)
    fill(log)
    retention_round(store.manager, store.clock.now_ms())
    assert log.log_start_offset > 0
    store.clock.advance(100)
    retention_round(store.manager, store.clock.now_ms())
    return any(name.endswith(".deleted") for name in store.disk.list(log.path))


def codec(store: Store, config: LogConfig) -> Compression:
    log = store.log(config)
    append(log, batch([WORDS]))
    return next(log.batches())[0].compression


def stored_bytes(store: Store, config: LogConfig) -> int:
    log = store.log(config)
    append(log, batch([WORDS]))
    return log.size_bytes


def file_bytes(store: Store, config: LogConfig) -> int:
    log = store.log(config)
    return store.disk.size(log.active.log.path)


def stored_time(store: Store, config: LogConfig) -> int:
    log = store.log(config)
    append(log, batch([b"x"], timestamp=START_MS), now_ms=START_MS + 5)
    return next(log.batches())[0].max_timestamp


def refusal_of_old(store: Store, config: LogConfig) -> int:
    return refusal(store, config, timestamp=START_MS - 1000)


def refusal_of_future(store: Store, config: LogConfig) -> int:
    return refusal(store, config, timestamp=START_MS + 1000)


#: name: (what is looked at, {value: what is seen}, other settings of the topic).
SEEN: dict[str, tuple[Probe, dict[str, object], dict[str, str]]] = {
    "segment.bytes": (segments, {"1000": 5, "100000": 1}, {}),
    "internal.segment.bytes": (segments, {"1000": 5, "100000": 1}, {"segment.bytes": "2000"}),
    "segment.ms": (segments_in_time, {"10": 2, "1000": 1}, {}),
    "segment.jitter.ms": (rolls_early, {"1000": True, "0": False}, {"segment.ms": "1000"}),
    "segment.index.bytes": (segments, {"24": 5, "10000": 1}, {"index.interval.bytes": "0"}),
    "flush.messages": (asks_to_flush, {"2": True, "3": False}, {}),
    "flush.ms": (is_flushed_in_time, {"50": True, "1000": False}, {}),
    "retention.bytes": (is_shortened, {"1500": True, "-1": False}, {"segment.bytes": "1000", "retention.ms": "-1"}),
    "retention.ms": (is_shortened, {"1000": True, "-1": False}, {}),
    "max.decompressed.message.bytes": (
        refusal_of_compressed,
        {"100": ErrorCode.INVALID_RECORD, "1000": 0},
        {},
    ),
    "pykbroker.validate.records": (refusal_of_no_records, {"true": ErrorCode.INVALID_RECORD, "false": 0}, {}),
    "max.message.bytes": (refusal, {"400": ErrorCode.MESSAGE_TOO_LARGE, "1000": 0}, {}),
    "index.interval.bytes": (index_entries, {"0": 9, "800": 3, "100000": 0}, {}),
    "delete.retention.ms": (
        tombstones,
        {"10": 0, "100000": 1},
        {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0"},
    ),
    "min.compaction.lag.ms": (is_compacted, {"0": True, "5000": False}, {"cleanup.policy": "compact"}),
    "max.compaction.lag.ms": (
        is_compacted,
        {"10": True, "5000": False},
        {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1"},
    ),
    "file.delete.delay.ms": (
        deleted_files,
        {"50": False, "1000": True},
        {"segment.bytes": "1000", "retention.bytes": "1500"},
    ),
    "min.cleanable.dirty.ratio": (is_compacted_again, {"0.01": True, "0.5": False}, {"cleanup.policy": "compact"}),
    "cleanup.policy": (is_compacted, {"compact": True, "delete": False, "compact,delete": True}, {}),
    "compression.type": (
        codec,
        {
            "producer": Compression.NONE,
            "gzip": Compression.GZIP,
            "snappy": Compression.SNAPPY,
            "lz4": Compression.LZ4,
            "zstd": Compression.ZSTD,
            "uncompressed": Compression.NONE,
        },
        {},
    ),
    "preallocate": (file_bytes, {"true": 5000, "false": 0}, {"segment.bytes": "5000"}),
    "message.timestamp.type": (stored_time, {"CreateTime": START_MS, "LogAppendTime": START_MS + 5}, {}),
    "message.timestamp.before.max.ms": (refusal_of_old, {"500": ErrorCode.INVALID_TIMESTAMP, "2000": 0}, {}),
    "message.timestamp.after.max.ms": (refusal_of_future, {"500": ErrorCode.INVALID_TIMESTAMP, "2000": 0}, {}),
}

#: The level of a codec: more effort, fewer bytes.
LEVELS = {
    "compression.gzip.level": ("gzip", "1", "9"),
    "compression.lz4.level": ("lz4", "1", "17"),
    "compression.zstd.level": ("zstd", "-5", "19"),
}

ELSEWHERE = {
    **dict.fromkeys(
        (
            f"confluent.{part}.{what}"
            for part in ("key", "value")
            for what in ("schema.validation", "subject.name.strategy")
        ),
        "compat_tests/registry/test_validation.py",
    ),
    "min.insync.replicas": "pykbroker/tests/brokers/test_broker_changes.py",
    "leader.replication.throttled.replicas": "pykbroker/tests/brokers/test_replication_throttles.py",
    "follower.replication.throttled.replicas": "pykbroker/tests/brokers/test_replication_throttles.py",
    "unclean.leader.election.enable": "pykbroker/tests/controller/test_own_stores.py",
}

_NO_TIERS = "there is no tiered storage"
NOTHING = {
    "remote.storage.enable": _NO_TIERS,
    "local.retention.ms": _NO_TIERS,
    "local.retention.bytes": _NO_TIERS,
    "remote.log.copy.disable": _NO_TIERS,
    "remote.log.delete.on.disable": _NO_TIERS,
    "remote.copy.lag.ms": _NO_TIERS,
    "remote.copy.lag.bytes": _NO_TIERS,
    "errors.deadletterqueue.group.enable": "a log does not ask who writes to it: share groups do",
}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [(name, value, expected) for name, (_, values, _) in SEEN.items() for value, expected in values.items()],
)
def test_what_it_says(name: str, value: str, expected: object) -> None:
    probe, _, others = SEEN[name]
    assert probe(Store(), LogConfig.from_settings({**others, name: value})) == expected


@pytest.mark.parametrize("name", SEEN)
def test_each_table_tells_values_apart(name: str) -> None:
    assert len(set(SEEN[name][1].values())) > 1


@pytest.mark.parametrize("name", LEVELS)
def test_a_higher_level_takes_less_room(name: str) -> None:
    kind, low, high = LEVELS[name]
    few, many = (
        stored_bytes(Store(), LogConfig.from_settings({"compression.type": kind, name: level})) for level in (high, low)
    )
    assert few < many


def test_no_setting_is_forgotten() -> None:
    assert sorted([*SEEN, *LEVELS, *ELSEWHERE, *NOTHING]) == sorted(TOPIC_SETTINGS)
