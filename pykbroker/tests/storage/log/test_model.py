"""Random work on a log, with kills, power losses and full disks in between, against a list of what was appended.

The topic is deleted and made again on the way, opened at once or only after the next start, and what threads do for a
log (flushes, checkpoints, reads) may begin before that and end after it.

Any seed can be run alone: ``pytest -k 'test_random_work[137]'``.
"""

from __future__ import annotations

import contextlib
import errno
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.flushing import FlushPlan
from pykbroker.storage.log.log import Log
from pykbroker.storage.log.reading import ReadPlan
from pykbroker.tests.storage.rounds import checkpoint_round, flush_round, planned_checkpoints, retention_round
from pykbroker.tests.storage.seeds import seeds
from pykbroker.tests.storage.support import START_MS, TOPIC_ID, Store, append, append_marker, batch, contents
from pykbroker.wire.batch_header import iter_batches
from pykbroker.wire.compression import Compression
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.records import decode_records
from pykbroker.worlds.disk import ProcessDied

#: What more seeds than these have found: a producer snapshot that a truncation removed and a power loss brought back (and
#: 2274: that a recovery point that follows the log start says nothing of flushes).
FOUND = (1657, 2274, 2344, 4489, 7721)
CONFIG = LogConfig(segment_bytes=2000, index_interval_bytes=200, retention_ms=-1)
PRODUCERS = (7, 8, 9)


class Worker:
    """One run. ``values[n]`` is what was acknowledged for offset n (None for a marker)."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.store = Store(seed)
        self.values: list[bytes | None] = []
        self.synced = 0
        self.start_synced = 0
        self.sequences: dict[int, int] = {}
        self.epochs = dict.fromkeys(PRODUCERS, 0)
        self.epoch = 0
        self.written = 0
        self.config = replace(
            CONFIG,
            preallocate=self.random.random() < 0.3,
            retention_bytes=self.random.choice((-1, -1, 5000, 1000)),
        )
        #: Whether replicas elsewhere are late, so that the high watermark follows in steps of its own.
        self.late = self.random.random() < 0.4
        self.truncating: int | None = None
        self.topic_id = TOPIC_ID
        #: Whether the topic is in the metadata: not before there is room for its files.
        self.made = True
        #: What is being appended, and not acknowledged.
        self.sending: list[bytes | None] = []
        #: What threads have begun, each to be called to its end.
        self.begun: list[Callable[[], None]] = []
        #: Where readers go on, with chances of their own, so that they change nothing of the rest.
        self.readers, self.reading = [0, 0, 0], random.Random(seed)
        self.log: Log = self.opened()

    def opened(self) -> Log:
        return self.store.log(self.config, topic_id=self.topic_id)

    # -- work ---------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        action = self.random.choices(
            (
                self.append,
                self.append_idempotent,
                self.transact,
                self.repeat,
                self.flush,
                self.trim,
                self.truncate,
                self.rounds,
                self.lead,
                self.begin,
                self.end_what_has_begun,
                self.make_again,
                self.commit,
            ),
            (8, 6, 3, 2, 2, 1, 1, 2, 1, 2, 2, 0.5, 3),
        )[0]
        action()

    def new_values(self) -> list[bytes]:
        count = self.random.choice((1, 1, 2, 5, 20))
        self.written += count
        return [b"%d:%s" % (self.written - i, b"x" * self.random.randrange(60)) for i in range(count)]

    def codec(self) -> Compression:
        return self.random.choice((Compression.NONE, Compression.NONE, Compression.GZIP))

    def add(self, data: bytearray, values: list[bytes]) -> None:
        self.sending = [*values]
        usual = len(self.values) % 2 == 0
        result = append(self.log, data, epoch=self.epoch, now_ms=self.now(), committed=not self.late, usual=usual)
        assert result.base_offset == len(self.values)
        assert not result.duplicate
        self.acknowledge()

    def acknowledge(self) -> None:
        self.values += self.sending
        self.sending = []

    def now(self) -> int:
        self.store.clock.advance(self.random.randrange(100))
        return self.store.clock.now_ms()

    def append(self) -> None:
        values = self.new_values()
        self.add(batch(list(values), timestamp=self.now(), compression=self.codec()), values)

    def append_idempotent(self) -> None:
        producer = self.random.choice(PRODUCERS)
        if self.log.has_open_transaction(producer):
            return
        values = self.new_values()
        sequence = self.sequences.get(producer, 0)
        self.add(
            batch(list(values), timestamp=self.now(), producer=(producer, self.epochs[producer], sequence)), values
        )
        self.sequences[producer] = sequence + len(values)

    def transact(self) -> None:
        producer = self.random.choice(PRODUCERS)
        if self.log.has_open_transaction(producer):
            commit = self.random.random() < 0.5
            self.sending = [None]
            append_marker(self.log, producer, self.epochs[producer], commit=commit, committed=not self.late)
            self.acknowledge()
            return
        values = self.new_values()
        sequence = self.sequences.get(producer, 0)
        data = batch(
            list(values), timestamp=self.now(), producer=(producer, self.epochs[producer], sequence), transactional=True
        )
        self.add(data, values)
        self.sequences[producer] = sequence + len(values)

    def repeat(self) -> None:
        """A producer that saw no answer sends its last batch again."""
        producer = self.random.choice(PRODUCERS)
        entry = self.log.producers.entries.get(producer)
        if entry is None or not entry.batches:
            return
        last = entry.batches[-1]
        values: list[bytes | None] = [b"again"] * (last.last_offset - last.first_offset + 1)
        again = batch(values, producer=(producer, entry.epoch, last.first_sequence))
        result = append(self.log, again, committed=not self.late)
        assert result.duplicate
        assert result.base_offset == last.first_offset

    def flush(self) -> None:
        self.log.flush()
        self.synced = len(self.values)

    def trim(self) -> None:
        if self.values:
            self.log.delete_records_before(self.random.randint(self.log.log_start_offset, self.log.high_watermark))

    def commit(self) -> None:
        """Replicas have more of it."""
        self.log.commit_to(self.random.randint(self.log.high_watermark, self.log.log_end_offset))
        self.check_visible()

    def truncate(self) -> None:
        """Drop the last batches, as a replica does whose leader never had them. Nothing else is at work on its log then."""
        self.end_what_has_begun()
        batches = [header for header, _ in self.log.batches() if header.base_offset >= self.log.log_start_offset]
        if not batches:
            return
        offset = self.random.choice(batches[-5:]).base_offset
        # Killed in the middle, it may have dropped any part of that.
        self.truncating = offset
        self.log.truncate_to(offset)
        checkpoint_round(self.store.manager)
        self.truncating = None
        self.check_visible()
        del self.values[offset:]
        self.synced = min(self.synced, offset)
        self.go_on_as_the_log_knows()

    def rounds(self) -> None:
        flush_round(self.store.manager)
        retention_round(self.store.manager, self.now() + 100_000)
        checkpoint_round(self.store.manager)
        self.check_visible()
        self.start_synced = self.log.log_start_offset
        self.synced = max(self.synced, self.log.recovery_point)

    def lead(self) -> None:
        self.epoch += 1
        self.log.begin_epoch(self.epoch)

    # -- a topic's end and its next life ------------------------------------------------------------------------------

    def make_again(self) -> None:
        """Delete the topic, and have another one of its name, whose log somebody asks for now or after the next start."""
        old = self.log
        self.forget()
        self.made = False
        self.store.manager.delete(old)
        self.make_room()
        if self.random.random() < 0.3:
            self.random.choice((self.stop_cleanly, self.kill, self.lose_power))()
        self.log = self.opened()
        assert self.log.log_end_offset == 0

    def make_room(self) -> None:
        self.store.make_room(self.log.topic)
        self.made = True

    def forget(self) -> None:
        """Nothing is known of a topic that is new."""
        self.topic_id = self.random.randbytes(16)
        self.values, self.sending, self.sequences = [], [], {}
        self.synced = self.start_synced = self.epoch = 0

    # -- threads ------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """What the loop hands to a thread, which may take its time."""
        log = self.log
        flush, read = log.plan_flush(), log.plan_read(log.log_start_offset, 1000)
        if flush is not None and self.random.random() < 0.5:
            self.begun.append(partial(self.end_flush, log, flush))
        elif read is not None and self.random.random() < 0.5:
            self.begun.append(partial(self.end_read, self.values, read))
        else:
            self.begun.append(planned_checkpoints(self.store.manager))

    def end_what_has_begun(self) -> None:
        begun, self.begun = self.begun, []
        for end in begun:
            end()

    def end_flush(self, log: Log, flush: FlushPlan) -> None:
        flush.run()
        flush.finish()
        if log is self.log:
            self.synced = max(self.synced, min(flush.work.end_offset, len(self.values)))

    def end_read(self, values: list[bytes | None], read: ReadPlan) -> None:
        """It brings what was there when it began, or an error; never what a later topic of that name has, and no harm."""
        data = b""
        with contextlib.suppress(KafkaError):
            data = bytes(read.read())
        for position, header in iter_batches(data):
            if not header.is_control:
                for record in decode_records(data[position : position + header.size]):
                    assert record.value == values[record.offset]
        assert not self.store.manager.metadata_directory.offline

    # -- ends ---------------------------------------------------------------------------------------------------------

    def stop_cleanly(self) -> None:
        self.end_what_has_begun()
        self.store.stop()
        self.start()
        assert self.store.manager.clean
        self.log = self.opened()
        self.check(len(self.values))
        self.synced = len(self.values)

    def start(self) -> None:
        """Begin a new process; what the old one had begun is over."""
        self.begun = []
        self.store.start()
        if self.synced > self.log.log_start_offset:  # by a flush: the recovery point follows the log start, too
            assert self.store.topic_id_on_disk() == self.topic_id
        if not self.made:
            self.store.manager.directories.put_strays_aside({})
            self.make_room()
        if self.random.random() < 0.1:
            topic, topic_id = self.log.topic, self.topic_id
            self.forget()
            self.store.manager.delete_unopened(topic, topic_id, 0, self.config)
            self.store.make_room(topic)

    def kill(self) -> None:
        self.start()
        assert not self.store.manager.clean
        self.log = self.opened()
        self.check(len(self.values))

    def lose_power(self) -> None:
        self.store.lose_power()
        self.start()
        self.log = self.opened()
        self.check(self.synced)
        del self.values[self.log.log_end_offset :]
        self.synced = min(self.synced, len(self.values))

    def die_in_an_operation(self) -> None:
        """Killed at a random one of the next operations on the disk; then, perhaps, the power goes too."""
        disk = self.store.disk
        last = disk.operations + self.random.randint(1, 12)
        disk.fail = lambda number, _: ProcessDied() if number >= last else None
        try:
            while True:
                self.step()
        except ProcessDied:
            disk.fail = None
        # What was being appended may be in the log or not.
        power_lost = self.random.random() < 0.5
        if power_lost:
            self.store.lose_power()
        truncating, self.truncating = self.truncating, None
        self.start()
        sure = self.synced if power_lost else len(self.values)
        if truncating is not None:
            sure = min(sure, truncating)
        self.log = self.opened()
        self.adopt_unsure()
        self.check(sure)
        del self.values[self.log.log_end_offset :]
        self.synced = min(self.synced, len(self.values))
        if truncating is not None:
            self.flush()  # or else what it had begun to drop could come back with the next loss of power

    def adopt_unsure(self) -> None:
        """A batch without an answer: whole if it is there, and nothing else."""
        if self.log.log_end_offset > len(self.values):
            self.acknowledge()
            assert self.log.log_end_offset == len(self.values)

    def fill_the_disk(self) -> None:
        """Some appends are refused for lack of space; those that were not are kept, and later ones go through again."""
        disk = self.store.disk
        disk.fail = lambda _number, name: (
            OSError(errno.ENOSPC, "no space left") if name.startswith("write") and self.random.random() < 0.5 else None
        )
        for _ in range(5):
            end, refused = self.log.log_end_offset, None
            try:
                self.append()
            except KafkaError as error:
                refused = error.code
            assert refused in (None, ErrorCode.KAFKA_STORAGE_ERROR)
            assert (self.log.log_end_offset == end) == (refused is not None)
        disk.fail = None
        assert not self.store.manager.metadata_directory.offline
        self.append()
        self.check(len(self.values))

    # -- what must hold -----------------------------------------------------------------------------------------------

    def check(self, sure: int) -> None:
        log = self.log
        assert sure <= log.log_end_offset <= len(self.values)
        assert self.start_synced <= log.log_start_offset
        expected = [
            (offset, value)
            for offset, value in enumerate(self.values[: log.log_end_offset])
            if value is not None and offset >= log.log_start_offset
        ]
        assert contents(log) == expected
        self.check_visible()
        self.check_producers()
        self.check_indexes()

    def go_on_reading(self) -> None:
        """Readers that go on where one of them ended are given what going through the log gives."""
        log, upper = self.log, self.log.high_watermark
        for number, offset in enumerate(self.readers):
            limit = self.reading.choice((100, 400, 1000, 5000))
            if not log.log_start_offset <= offset < upper:
                self.readers[number] = self.reading.randint(log.log_start_offset, upper)
                continue
            there = [(header, data) for header, data in log.batches(offset) if header.base_offset < upper]
            found = log.read_on(offset, limit, upper)
            plan = log.plan_read(offset, limit, upper_offset=upper)
            assert plan is not None
            read = bytes(plan.read())
            if found is not None:
                assert (bytes(found[0]), found[1]) == (read, plan.end_offset)
                assert len(read) <= limit
            assert b"".join(bytes(data) for _, data in there).startswith(read)
            self.readers[number] = plan.end_offset if self.reading.random() < 0.9 else offset

    def check_visible(self) -> None:
        """What readers may see is what going through the log gives, and nothing is gone that is not committed."""
        self.go_on_reading()
        log = self.log
        assert log.log_start_offset <= log.high_watermark <= log.log_end_offset
        assert self.late or log.high_watermark == log.log_end_offset
        unsettled: dict[int, int] = {}
        stable = log.high_watermark
        for header, _ in log.batches():
            if header.is_transactional and not header.is_control:
                unsettled.setdefault(header.producer_id, header.base_offset)
            elif header.is_control:
                first = unsettled.pop(header.producer_id, stable)
                if header.base_offset >= log.high_watermark:
                    stable = min(stable, first)
        stable = max(min(stable, *unsettled.values(), log.high_watermark), log.log_start_offset)
        producers = log.producers
        begun_before = any(
            first < log.log_start_offset for first in (*producers.open_txns, *producers.uncommitted_ends.values())
        )
        if begun_before:  # their beginnings are deleted
            assert log.log_start_offset <= log.last_stable_offset <= stable
        else:
            assert log.last_stable_offset == stable

    def check_producers(self) -> None:
        """State is what going through the whole log gives."""
        log = self.log
        for producer in PRODUCERS:
            entry = log.producers.entries.get(producer)
            written = [
                header for header, _ in log.batches() if header.producer_id == producer and not header.is_control
            ]
            if written:
                assert entry is not None
                assert entry.last_sequence == written[-1].last_sequence
                assert entry.batches[-1].last_offset == written[-1].last_offset
        self.go_on_as_the_log_knows()
        assert log.producers.end_offset == log.log_end_offset
        open_now = {
            entry.txn_first_offset: entry.producer_id
            for entry in log.producers.entries.values()
            if entry.txn_first_offset >= 0
        }
        assert log.producers.open_txns == open_now
        if log.log_end_offset > log.log_start_offset:
            self.epoch = max(self.epoch, log.epochs.latest)

    def go_on_as_the_log_knows(self) -> None:
        """The producers' next epochs and sequences."""
        for producer in PRODUCERS:
            entry = self.log.producers.entries.get(producer)
            if entry is not None and entry.last_sequence >= 0:
                self.sequences[producer] = entry.last_sequence + 1
                self.epochs[producer] = entry.epoch
            elif self.sequences.get(producer):
                # What it wrote is gone: it begins again in a new epoch, as a client does.
                self.epochs[producer] += 1
                self.sequences[producer] = 0

    def check_indexes(self) -> None:
        log = self.log
        for segment in log.segments:
            places = {position: header for position, header, _ in segment.batches()}
            for number in range(segment.indexes.by_offset.count):
                segment.indexes.by_offset.write_tail()
                relative, position = segment.indexes.by_offset._read(number)
                assert places[position].last_offset == segment.base_offset + relative
        records = [
            record
            for header, data in log.batches()
            for record in decode_records(data, header=header)
            if record.offset >= log.log_start_offset
        ]
        largest = max((record.timestamp for record in records), default=-1)
        found = log.offset_of_max_timestamp()
        assert (found and found.timestamp) == (largest if records else None)
        wanted = START_MS + self.random.randrange(3000)
        first = next((record.offset for record in records if record.timestamp >= wanted), None)
        at = log.offset_for_timestamp(wanted)
        assert (at and at.offset) == first


@pytest.mark.parametrize("seed", seeds(found=FOUND))
def test_random_work(seed: int) -> None:
    worker = Worker(seed)
    ends = (worker.stop_cleanly, worker.kill, worker.lose_power, worker.die_in_an_operation, worker.fill_the_disk)
    for _ in range(6):
        for _ in range(worker.random.randrange(25)):
            worker.step()
        worker.random.choice(ends)()
