"""Random work on a compacted log: the newest record of every key stays, whatever dies in between.

Its settings are altered on the way: to other policies and back, with and without what a clean round wrote down, to other codecs
and timestamps; while it deletes, records are deleted; and the topic is deleted and made again, while a compaction is at work,
too.

Any seed can be run alone: ``pytest -k 'test_random_compaction[42]'``.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from pykbroker.storage.compaction.cleaning import CleaningResult, clean
from pykbroker.storage.compaction.compaction import CompactionPlan
from pykbroker.storage.directory import CLEANED, COMPACTED_MARK, SWAP
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.log import Log
from pykbroker.tests.storage.rounds import checkpoint_round, flush_round, retention_round
from pykbroker.tests.storage.seeds import seeds
from pykbroker.tests.storage.support import TOPIC_ID, Store, append, append_marker, batch
from pykbroker.wire.compression import Compression
from pykbroker.wire.records import decode_records
from pykbroker.worlds.disk import ProcessDied

#: What more seeds than these have found: the process died after a topic was deleted, before its files were put aside.
FOUND = (4267,)
CONFIG = LogConfig(
    segment_bytes=1500,
    index_interval_bytes=200,
    retention_ms=-1,
    delete=False,
    compact=True,
    delete_retention_ms=500,
    min_cleanable_dirty_ratio=0.01,
    file_delete_delay_ms=50,
)
#: (delete, compact) of cleanup.policy.
POLICIES = ((False, True), (True, True), (True, False))
PRODUCERS = (7, 8)

#: What is known of an offset: key and value, producer of an open transaction.
Entry = tuple[bytes, bytes | None]


class CleanerDied(BaseException):
    """The cleaner's process is killed at this operation."""


class Worker:
    """One run. ``entries`` has what was acknowledged; ``aborted`` and ``undecided`` the offsets of such transactions."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        #: Those that found something have told their stories without DeleteRecords, other timestamps and codecs.
        self.trims = seed not in FOUND
        self.store = Store(seed)
        self.entries: dict[int, Entry] = {}
        self.end = 0
        self.synced = 0
        #: The log start that a checkpoint has.
        self.start_synced = 0
        self.aborted: set[int] = set()
        self.open: dict[int, list[int]] = {}
        self.sequences = dict.fromkeys(PRODUCERS, 0)
        self.last_written = dict.fromkeys(PRODUCERS, -1)
        self.cleaned_to = 0
        self.config = CONFIG
        self.topic_id = TOPIC_ID
        #: Whether the topic is in the metadata: not before there is room for its files.
        self.made = True
        #: What is being appended, and not acknowledged; None for a marker.
        self.sending: list[Entry | None] = []
        self.log: Log = self.opened()

    def opened(self) -> Log:
        return self.store.log(self.config, topic_id=self.topic_id)

    def step(self) -> None:
        # Now and then long enough for a compaction that failed to be tried again.
        self.store.clock.advance(20_000 if self.random.random() < 0.05 else self.random.randrange(60))
        actions = (
            self.append,
            self.transact,
            self.flush,
            self.compact,
            self.rounds,
            self.alter,
            self.make_again,
            self.trim,
        )
        self.random.choices(actions, (8, 5, 2, 3, 1, 2, 0.2, 0.5 if self.trims else 0))[0]()

    def alter(self) -> None:
        """Another policy, other settings. The metadata has them before the log does."""
        delete, compact = self.random.choice(POLICIES)
        self.config = replace(
            CONFIG,
            delete=delete,
            compact=compact,
            segment_bytes=self.random.choice((600, 1500, 5000)),
            min_compaction_lag_ms=self.random.choice((0, 0, 100)),
            preallocate=self.random.random() < 0.2,
        )
        if self.trims:
            self.config = replace(
                self.config,
                log_append_time=self.random.random() < 0.2,
                compression_type=self.random.choice(("producer", "producer", "gzip", "uncompressed")),
            )
        self.log.update_config(self.config)

    def trim(self) -> None:
        """DeleteRecords, which is for topics that delete."""
        if self.config.delete:
            self.log.delete_records_before(self.random.randint(self.log.log_start_offset, self.log.high_watermark))

    def make_again(self) -> None:
        """Delete the topic and make another one of its name."""
        old, self.topic_id, self.made = self.log, self.random.randbytes(16), False
        self.entries, self.open, self.aborted, self.sending = {}, {}, set(), []
        self.end = self.synced = self.start_synced = self.cleaned_to = 0
        self.sequences = dict.fromkeys(PRODUCERS, 0)
        self.last_written = dict.fromkeys(PRODUCERS, -1)
        self.store.manager.delete(old)
        self.make_room()
        self.log = self.opened()
        assert self.log.log_end_offset == 0

    def make_room(self) -> None:
        self.store.make_room(self.log.topic)
        self.made = True

    def new_entries(self) -> list[Entry]:
        return [
            (
                b"key%d" % self.random.randrange(12),
                None if self.random.random() < 0.2 else self.random.randbytes(self.random.randrange(40)),
            )
            for _ in range(self.random.choice((1, 1, 2, 6)))
        ]

    def send(self, entries: list[Entry], producer: int | None) -> None:
        data = batch(
            [value for _, value in entries],
            keys=[key for key, _ in entries],
            timestamp=self.store.clock.now_ms(),
            compression=self.random.choice((Compression.NONE, Compression.ZSTD)),
            producer=None if producer is None else (producer, 0, self.sequences[producer]),
            transactional=producer is not None,
        )
        self.sending = [*entries]
        result = append(self.log, data, now_ms=self.store.clock.now_ms())
        self.sending = []
        offsets = range(result.base_offset, result.last_offset + 1)
        self.entries.update(zip(offsets, entries, strict=True))
        self.end = result.last_offset + 1
        if producer is not None:
            self.sequences[producer] += len(entries)
            self.last_written[producer] = result.last_offset
            self.open.setdefault(producer, []).extend(offsets)

    def append(self) -> None:
        self.send(self.new_entries(), None)

    def transact(self) -> None:
        producer = self.random.choice(PRODUCERS)
        if producer in self.open and self.random.random() < 0.5:
            commit = self.random.random() < 0.5
            self.sending = [None]
            result = append_marker(self.log, producer, 0, commit=commit)
            self.sending = []
            self.end = result.last_offset + 1
            offsets = self.open.pop(producer)
            if not commit:
                self.aborted.update(offsets)
        else:
            self.send(self.new_entries(), producer)

    def flush(self) -> None:
        self.log.flush()
        self.synced = self.end

    def rounds(self) -> None:
        now = self.store.clock.now_ms()
        flush_round(self.store.manager)
        retention_round(self.store.manager, now)
        checkpoint_round(self.store.manager)
        self.start_synced = self.log.log_start_offset
        self.synced = max(self.synced, self.log.recovery_point)

    def compact(self) -> None:
        manager = self.store.manager
        plan = manager.compactions.plan(self.store.clock.now_ms())
        if plan is None:
            return
        plan.job.memory_bytes = self.random.choice((500, 1500, 10**6))
        log, result = self.log, self.cleaned(plan)
        manager.compactions.finish(plan, result)
        assert not manager.metadata_directory.offline
        if log is not self.log:
            return
        if isinstance(result, CleaningResult):
            if result.complete:
                assert result.end_offset > plan.job.first_dirty_offset
            self.check_superseded(result.end_offset)
        assert not [name for name in self.store.disk.list(self.log.path) if name.endswith((CLEANED, SWAP))]

    def cleaned(self, plan: CompactionPlan) -> CleaningResult | BaseException:
        """Other things happen before a cleaner has begun, and after it has ended."""
        self.do_other_things()
        result = self.clean(plan)
        self.do_other_things()
        return result

    def do_other_things(self) -> None:
        for _ in range(self.random.choice((0, 0, 0, 2))):
            others = (self.append, self.flush, self.rounds, self.alter, self.make_again)
            self.random.choice((*others, self.trim) if self.trims else others)()

    def clean(self, plan: CompactionPlan) -> CleaningResult | BaseException:
        """What the cleaner's process does; it may die, or find the disk full, while the broker lives on."""
        disk = self.store.disk
        hindrance = self.random.choice((None, None, None, "death", "full"))
        fail, used = disk.fail, disk.used_bytes
        if hindrance == "death":
            last = disk.operations + self.random.randint(1, 30)
            disk.fail = lambda number, name: (
                (fail and fail(number, name)) or (CleanerDied() if number >= last else None)
            )
        elif hindrance == "full":
            disk.capacity = used + self.random.randrange(4000)
        try:
            return clean(plan.job, disk)
        except (CleanerDied, OSError) as error:
            disk.fail, disk.capacity = fail, None
            plan.remove_leftovers()
            assert 0 <= disk.used_bytes - used <= len(COMPACTED_MARK)
            return error
        finally:
            disk.fail, disk.capacity = fail, None

    def check_superseded(self, end: int) -> None:
        """Below the cleaned offset each key is there once, but for the last batches of producers."""
        newest = {
            self.entries[offset][0]: offset
            for offset in sorted(self.entries)
            if offset < end and offset not in self.aborted
        }
        for offset, key, _ in self.found():
            if self.log.log_start_offset <= offset < end:
                assert offset not in self.aborted
                assert newest[key] == offset

    # -- ends ---------------------------------------------------------------------------------------------------------

    def restart(self) -> None:
        self.store.start()
        if self.synced > self.log.log_start_offset:  # by a flush: the recovery point follows the log start, too
            assert self.store.topic_id_on_disk() == self.topic_id
        if not self.made:
            self.store.manager.directories.put_strays_aside({})
            self.make_room()
        self.log = self.opened()
        for producer, last in self.last_written.items():
            if last < self.log.log_start_offset:  # Kafka forgets it, too, where no file has its batches any more
                entry = self.log.producers.entries.get(producer)
                self.sequences[producer] = entry.last_sequence + 1 if entry is not None else 0

    def stop_cleanly(self) -> None:
        self.store.stop()
        self.restart()
        assert self.log.log_end_offset == self.end
        self.synced = self.end

    def kill(self) -> None:
        self.restart()
        assert self.log.log_end_offset == self.end

    def die(self) -> None:
        """Killed in the middle of something, perhaps of a compaction; then, perhaps, the power goes too."""
        disk = self.store.disk
        last = disk.operations + self.random.randint(1, 40)
        disk.fail = lambda number, _: ProcessDied() if number >= last else None
        sure = self.end
        try:
            while True:
                self.random.choice((self.step, self.compact))()
        except ProcessDied:
            disk.fail = None
        power_lost = self.random.random() < 0.5
        if power_lost:
            self.store.lose_power()
        sure = self.synced if power_lost else self.end
        self.restart()
        assert self.log.log_end_offset >= sure
        self.adopt()

    def lose_power(self) -> None:
        self.store.lose_power()
        self.restart()
        assert self.log.log_end_offset >= self.synced
        self.adopt()

    def adopt(self) -> None:
        """Take over what is in the log behind what is sure, and forget what is not."""
        found = {offset: (key, value) for offset, key, value in self.found()}
        # Where compaction leaves gaps, recovery takes one for another: of what was not synced, any part may be lost.
        # What was deleted may come back with the next loss of power.
        sure = max(self.synced, self.log.log_start_offset)
        lost = [offset for offset in self.entries if offset >= sure and offset not in found]
        for offset in lost:
            del self.entries[offset]
        self.aborted = {offset for offset in self.aborted if offset < self.log.log_end_offset}
        unsure = range(self.end, self.log.log_end_offset)
        if unsure:
            assert [found.get(offset) for offset in unsure] == self.sending
        self.entries.update({offset: found[offset] for offset in unsure if offset in found})
        self.sending = []
        self.end = self.log.log_end_offset
        self.synced = min(self.synced, self.end)
        still_open = {pid: first for first, pid in self.log.producers.open_txns.items()}
        for producer in PRODUCERS:
            entry = self.log.producers.entries.get(producer)
            self.sequences[producer] = entry.last_sequence + 1 if entry is not None else 0
            self.last_written[producer] = entry.batches[-1].last_offset if entry is not None and entry.batches else -1
            first = still_open.get(producer)
            offsets = self.open.pop(producer, [])
            if first is not None:
                self.open[producer] = [
                    record.offset
                    for header, data in self.log.batches(first)
                    if header.producer_id == producer and not header.is_control
                    for record in decode_records(data, header=header)
                ]
                # The marker that aborted it may be lost: it is open again.
                self.aborted.difference_update(self.open[producer])
            else:
                # Its end was being written when the process died: the log knows how it ended.
                for txn in self.log.aborted_transactions(0, self.end):
                    self.aborted.update(
                        o for o in offsets if txn.producer_id == producer and txn.first_offset <= o <= txn.last_offset
                    )

    # -- what must hold -----------------------------------------------------------------------------------------------

    def found(self) -> list[tuple[int, bytes, bytes | None]]:
        result = []
        for header, data in self.log.batches():
            if not header.is_control and header.record_count:
                for record in decode_records(data, header=header):
                    assert record.key is not None
                    result.append((record.offset, record.key, record.value))
        return result

    def check(self) -> None:
        found = self.found()
        offsets = [offset for offset, _, _ in found]
        assert offsets == sorted(set(offsets))
        for offset, key, value in found:
            assert self.entries[offset] == (key, value)
        undecided = {offset for offsets in self.open.values() for offset in offsets}
        newest: dict[bytes, int] = {}
        for offset in sorted(self.entries):
            if offset not in self.aborted and offset not in undecided:
                newest[self.entries[offset][0]] = offset
        there, start = set(offsets), self.log.log_start_offset
        assert self.start_synced <= start <= self.end
        assert {offset for offset in undecided if offset >= start} <= there
        for key, offset in newest.items():
            if offset < start:
                continue
            if self.entries[offset][1] is None:
                # A tombstone may go after its time, and only after all that it deletes.
                if offset not in there:
                    assert not [o for o, k, _ in found if k == key and start <= o < offset and o not in self.aborted]
            else:
                assert offset in there
        for producer in PRODUCERS:
            entry = self.log.producers.entries.get(producer)
            if self.sequences[producer] > 0:
                assert entry is not None
                assert entry.last_sequence == self.sequences[producer] - 1
        self.check_indexes()

    def check_indexes(self) -> None:
        for segment in self.log.segments:
            places = {position: header for position, header, _ in segment.batches()}
            assert sum(header.size for header in places.values()) == segment.size
            segment.indexes.by_offset.write_tail()
            for number in range(segment.indexes.by_offset.count):
                relative, position = segment.indexes.by_offset._read(number)
                assert places[position].last_offset == segment.base_offset + relative


@pytest.mark.parametrize("seed", seeds(found=FOUND))
def test_random_compaction(seed: int) -> None:
    worker = Worker(seed)
    ends = (worker.stop_cleanly, worker.kill, worker.lose_power, worker.die, worker.die)
    for _ in range(5):
        for _ in range(worker.random.randrange(40)):
            worker.step()
        worker.check()
        worker.random.choice(ends)()
        worker.check()
