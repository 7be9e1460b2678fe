"""Two legal batches, and everything that makes the broker read the records of a stranger: nobody else waits, and memory has a bound.

One holds many small records, the other a huge one. What the loop does in a turn is counted in executed lines and in decompressed
bytes, and the memory of the loop and its threads together in bytes: all are the same on every machine.
PYKBROKER_HOSTILE_BATCHES=whole has half a million records and 250 MiB; otherwise it is a part of that, which a broker that fails takes
too long for, too.
"""

from __future__ import annotations

import os
import re
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.coordination.groups import records as group_records
from pykbroker.coordination.transactions import records as transaction_records
from pykbroker.metadata.names import CONSUMER_OFFSETS, TRANSACTION_STATE
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.runtime import run_inline
from pykbroker.runtime.waits import Deferred
from pykbroker.seeding.dumping import TooMuch, dump_in_slices
from pykbroker.share_partitions.states import Acknowledge, GivenUp
from pykbroker.tests.kit.cluster import GROUP_KEY, TRANSACTION_KEY, MemoryCluster
from pykbroker.tests.kit.share_groups import SHARE_GROUP, ShareCluster, ShareMember
from pykbroker.wire import codecs
from pykbroker.wire.batch_header import patch_timestamps
from pykbroker.wire.compression import Compression
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.offset_commit import OffsetCommitValue
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, TimestampType, encode_batch

#: The package.
ROOT = Path(__file__).resolve().parents[2]
WHOLE = os.environ.get("PYKBROKER_HOSTILE_BATCHES") == "whole"
RECORDS, BYTES = (500_000, 250 * 1024 * 1024) if WHOLE else (5_000, 32 * 1024 * 1024)
#: A turn of the loop: executed lines, and bytes that it decompresses itself.
MOST_LINES = 80_000
MOST_DECOMPRESSED = 512 * 1024
#: Bytes of memory beside the batch.
MOST_MEMORY = 24 * 1024 * 1024
NOW = 1_700_000_000_000


W = TypeVar("W", bound="Watched")


class Ticking(ManualClock):
    """Time goes on as it is looked at: what is due at once is due in the next turn."""

    def monotonic(self) -> float:
        self._passed_ms += 1
        return super().monotonic()


class Watched(MemoryCluster):
    """It measures what the loop does in each turn. Threads are done at once, and their lines hold nobody."""

    def __init__(self, **settings: str) -> None:
        #: The most of a turn since the last time that it was set to 0.
        self.lines = self.decompressed = 0
        self._of_turn = 0
        self._on_loop = True
        super().__init__(**settings)

    def start(self) -> None:
        self.clock = Ticking(self.clock.now_ms())
        super().start()
        self.cluster.runtime.offload = self.cluster.runtime.offload_read = self._in_a_thread

    def _in_a_thread(self, function: Callable[..., Any], *args: Any) -> Deferred[Any]:
        former, self._on_loop = sys.gettrace(), False
        sys.settrace(None)
        try:
            return run_inline(function, *args)
        finally:
            self._on_loop = True
            sys.settrace(former)

    def count(self, codec: Callable[..., Iterator[bytes]]) -> Callable[..., Iterator[bytes]]:
        """The codec, with what it decompresses counted where the loop does it."""

        def counting(*args: Any) -> Iterator[bytes]:
            for piece in codec(*args):
                self._of_turn += len(piece) if self._on_loop else 0
                yield piece

        return counting

    def turn(self, work: Callable[[], Any]) -> Any:
        """Do what is one turn."""
        lines = self._of_turn = 0

        def count(frame: FrameType, event: str, arg: object) -> Any:
            nonlocal lines
            lines += event == "line"
            return count

        sys.settrace(count)
        try:
            return work()
        finally:
            sys.settrace(None)
            self.lines = max(self.lines, lines)
            self.decompressed = max(self.decompressed, self._of_turn)

    def until(self, done: Callable[[], bool]) -> None:
        """Turns, until something is so."""
        for _ in range(20_000):
            if done():
                return
            self.turn(self.run_turn)
        raise AssertionError("it never ends")

    def outcome(self, ask: Callable[[], Deferred[Any]]) -> Any:
        """What is asked for in one turn, and comes in that one or a later one."""
        wait = self.turn(ask)
        self.until(lambda: wait.done)
        return wait.value


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Watched:
    return counting(Watched(), monkeypatch)


def counting(world: W, monkeypatch: pytest.MonkeyPatch) -> W:
    for codec, pieces in dict(codecs.PIECES).items():
        monkeypatch.setitem(codecs.PIECES, codec, world.count(pieces))
    return world


def of_many(key: bytes = b"k", value: bytes | None = b"some words") -> bytes:
    records = [Record(timestamp=NOW, key=key, value=value)] * RECORDS
    return encode_batch(records, compression=Compression.ZSTD)


def of_a_huge_one(key: bytes = b"k") -> bytes:
    return encode_batch([Record(timestamp=NOW, key=key, value=bytes(BYTES))], compression=Compression.ZSTD)


MAKE = {"many records": of_many, "a huge record": of_a_huge_one}
both = pytest.mark.parametrize("kind", MAKE)


@pytest.fixture
def measuring(world: Watched) -> Iterator[Watched]:
    """Asserts at the end that no turn was long, and that little memory was used at once."""
    with measured(world):
        yield world


@contextmanager
def measured(world: Watched) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert world.lines <= MOST_LINES
    assert world.decompressed <= MOST_DECOMPRESSED
    assert peak <= MOST_MEMORY
    assert world.cluster.runtime.memory.used == 0


def produced(world: Watched, topic: str, batch: bytes) -> int:
    """The error code of the answer."""
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch)])
    answer = world.outcome(lambda: world.post(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[data]), 9))
    return int(answer.responses[0].partition_responses[0].error_code)


def a_claim(batch: bytes) -> bytes:
    """The batch, with a largest timestamp that is before the first one: the answer depends on the records."""
    claiming = bytearray(batch)
    patch_timestamps(claiming, 0, len(claiming), TimestampType.CREATE_TIME, NOW - 1)
    return bytes(claiming)


#: What has Produce read records: settings of the topic, and the answers for both batches.
NONE, INVALID = ErrorCode.NONE, ErrorCode.INVALID_RECORD
SETTINGS: dict[str, tuple[dict[str, str], dict[str, ErrorCode]]] = {
    "compacted": ({"cleanup_policy": "compact"}, {}),
    "timestamps": ({"message_timestamp_before_max_ms": "1000000000"}, {}),
    "append time": ({"message_timestamp_type": "LogAppendTime"}, {}),
    "validated": ({"pykbroker_validate_records": "true"}, {}),
    "limited": ({"max_decompressed_message_bytes": "100000"}, {"a huge record": INVALID}),
    # what is written anew has each of its records in memory, and those that grow too much are refused
    "to lz4": ({"compression_type": "lz4", "max_message_bytes": "9000000"}, {"a huge record": INVALID}),
    "to gzip": ({"compression_type": "gzip", "max_message_bytes": "9000000"}, {"a huge record": INVALID}),
    "to nothing": (
        {"compression_type": "uncompressed", "max_message_bytes": "50000"},
        {"many records": ErrorCode.MESSAGE_TOO_LARGE, "a huge record": INVALID},
    ),
}


@both
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.deep(but=4)
def test_produce(measuring: Watched, kind: str, setting: str) -> None:
    settings, answers = SETTINGS[setting]
    measuring.cluster.runtime.memory.limit = 32 * 1024 * 1024
    measuring.topic("t", 1, **settings)
    tracemalloc.stop()
    batch = MAKE[kind]()
    tracemalloc.start()
    assert produced(measuring, "t", batch) == answers.get(kind, NONE)


@both
def test_produce_of_a_batch_whose_timestamps_contradict_themselves(measuring: Watched, kind: str) -> None:
    measuring.topic("t", 1)
    tracemalloc.stop()
    batch = a_claim(MAKE[kind]())
    tracemalloc.start()
    assert produced(measuring, "t", batch) == NONE


def append(world: Watched, topic: str, make: Callable[[], bytes], index: int = 0) -> None:
    """The batch lies in the log, and has cost nothing."""
    _ = world.partition(topic, index).append_produce(bytearray(make()))
    world.cluster.runtime.wake_queue.run()
    world.lines = world.decompressed = 0
    tracemalloc.reset_peak()


@both
@pytest.mark.parametrize("timestamp", [NOW, -3], ids=["by timestamp", "the largest"])
def test_list_offsets(measuring: Watched, kind: str, timestamp: int) -> None:
    measuring.topic("t", 1)
    append(measuring, "t", MAKE[kind])
    partition = ListOffsetsPartition(partition_index=0, current_leader_epoch=-1, timestamp=timestamp)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[partition])])
    answer = measuring.outcome(lambda: measuring.post(request, 8))
    assert answer.topics[0].partitions[0].offset == 0


def a_commit() -> tuple[bytes, bytes | None]:
    return group_records.encode(group_records.offset_record("g", "t", 0, OffsetCommitValue(7, -1, "", NOW)))


@pytest.mark.deep(but=1)
@both
@pytest.mark.parametrize("of", ["groups", "transactions"])
def test_loading_of_coordinators(measuring: Watched, kind: str, of: str) -> None:
    """Administrative clients may write to their topics."""
    groups = of == "groups"
    key, value = a_commit() if groups else transaction_records.encode(transaction_records.tombstone("id"))
    measuring.coordinator("g", GROUP_KEY if groups else TRANSACTION_KEY)
    topic = CONSUMER_OFFSETS if groups else TRANSACTION_STATE
    make = (lambda: of_many(key, value)) if kind == "many records" else (lambda: of_a_huge_one(key))
    for index in range(2):
        append(measuring, topic, make, index)
    measuring.restart()
    tracemalloc.reset_peak()
    coordinator = measuring.broker.groups if groups else measuring.broker.transactions

    def is_loaded() -> bool:
        with suppress(KafkaError):  # COORDINATOR_LOAD_IN_PROGRESS
            return bool(coordinator.shards.at(0))
        return False

    measuring.until(is_loaded)


@both
def test_export_over_http(measuring: Watched, kind: str) -> None:
    measuring.topic("t", 1)
    append(measuring, "t", MAKE[kind])
    exported = measuring.turn(lambda: dump_in_slices(measuring.cluster, ["t"], 10 * RECORDS))
    measuring.until(lambda: exported.done)
    with pytest.raises(TooMuch):
        _ = exported.value


class SharesWatched(Watched, ShareCluster):
    """With a share group that has dead letters."""


@pytest.mark.deep
@both
def test_dead_letters(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Records that a share group gives up, and what else lies among its letters."""
    world = counting(SharesWatched(), monkeypatch)
    with measured(world):
        give_up(world, kind)


def give_up(world: SharesWatched, kind: str) -> None:
    world.configure("errors.deadletterqueue.topic.name", "dlq.t")
    world.configure("errors.deadletterqueue.copy.record.enable", "true")
    world.create(NewTopic("dlq.t", 1, 1, configs={"errors.deadletterqueue.group.enable": "true"}))
    world.joined()
    append(world, "t", MAKE[kind])
    append(world, "dlq.t", MAKE[kind])
    end = world.partition("t").log_end_offset
    member = ShareMember(world)
    member.acquired(max_records=1)
    world.outcome(lambda: member.post_acknowledge(0, end - 1, Acknowledge.REJECT))
    world.until(lambda: world.partition("dlq.t").log_end_offset >= 2 * end)
    (led,) = world.broker.share_partitions.led_of(SHARE_GROUP)
    given_up = [GivenUp(0, end - 1, 1, rejected=True)]
    world.outcome(lambda: world.broker.share_partitions._letters.write(led, given_up, 0))
    assert world.partition("dlq.t").log_end_offset == 2 * end


#: What decodes or decompresses records in the broker's process, and why it holds nobody up. Whoever adds one adds a test, too.
READERS = {
    "client/aborted.py": "control batches, which clients cannot write",
    "http/console/reading.py": "in a thread, and decoded in slices: tests/http/console",
    "metadata/batches.py": "the metadata log, which clients cannot write",
    "partitions/record_chunks.py": "loading of coordinators, exports, and dead letters: here",
    "registry/topic.py": "in a thread, and decoded in slices, up to a bound: tests/registry",
    "registry/validation.py": "kilobytes here, the rest in a thread, up to a bound, two batches at once: tests/registry/test_validation.py",
    "seeding/dumping.py": "what the test asks for in its own process",
    "sessions/values.py": "what a test records in its own process, of small batches: tests/sessions",
    "storage/compaction/cleaned_batches.py": "in the cleaner's process: tests/storage/compaction",
    "storage/compaction/cleaned_transactions.py": "in the cleaner's process, control batches",
    "storage/compaction/large_batches.py": "in the cleaner's process: tests/storage/compaction",
    "storage/log/content.py": "Produce: here",
    "storage/log/fetched.py": "control batches, which clients cannot write",
    "storage/log/log.py": "control batches, which clients cannot write",
    "storage/log/lookup.py": "ListOffsets: here",
    "storage/log/snapshots.py": "control batches, which clients cannot write",
    "telemetry/manager.py": "PushTelemetry: telemetry.max.bytes bounds it, in a thread, and the memory budget counts it",
}
_DECODING = re.compile(
    r"\b(decode_records|decode_some|decode_one_by_one|unpacked|RecordWalk|decompress|decompressed_pieces)\("
)
#: Rooms of clients, and of what runs outside the broker's process.
_OF_CLIENTS = ("cli/", "client/fetcher.py", "lake/", "simulation/", "tests/", "wire")


def test_all_that_reads_records_is_known() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if not str(path.relative_to(ROOT)).startswith(_OF_CLIENTS) and _DECODING.search(path.read_text())
    }
    assert found == READERS.keys()
