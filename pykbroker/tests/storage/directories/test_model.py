"""Random work on compacted topics over several directories: moved, deleted and made again, compacted, killed in the middle, while
a directory fails and is back after a later start. Transactions are open meanwhile, are committed and aborted.

Any seed can be run alone: ``pytest -k 'test_random_directories[42]'``.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from pykbroker.runtime.clock import ManualClock
from pykbroker.storage.checkpoints import read_topic_id
from pykbroker.storage.compaction.cleaning import CleaningResult, clean
from pykbroker.storage.compaction.compaction import CompactionPlan
from pykbroker.storage.directories.manager import LogManager
from pykbroker.storage.directories.moving import LogMove
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.log import AppendResult, Log
from pykbroker.tests.storage.rounds import checkpoint_round, flush_round, retention_round
from pykbroker.tests.storage.seeds import seeds
from pykbroker.tests.storage.support import START_MS, append, append_marker, batch, contents
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.records import decode_records
from pykbroker.worlds.disk import ProcessDied, SimulatedDisk

#: What more seeds than these have found: an old directory that came back after a move, an empty one that had a log's name, and one of
#: a former topic that was served in place of one that was offline.
FOUND = (209, 225, 244, 269, 287, 3144, 3463)
#: The first one, which has the metadata, never fails: nothing is served then.
DIRECTORIES = ("/a", "/b", "/c")
NAMES = ("s", "t", "u", "v")
CONFIG = LogConfig(
    segment_bytes=300,
    index_interval_bytes=100,
    retention_ms=-1,
    delete=False,
    compact=True,
    min_cleanable_dirty_ratio=0.01,
    file_delete_delay_ms=50,
)

PRODUCERS = (7, 8)

Entry = tuple[bytes, bytes]


class Topic:
    """One that is in the metadata; ``entries`` has what was acknowledged."""

    def __init__(self, topic_id: bytes) -> None:
        self.id = topic_id
        self.entries: dict[int, Entry] = {}
        self.end = 0
        self.synced = 0
        #: The directory with its files, if it has any.
        self.home: str | None = None
        #: What is being appended, or was refused, and may be there after the next start; None for a marker.
        self.sending: list[Entry | None] = []
        #: Offsets of open transactions by producer, and those of aborted ones.
        self.open: dict[int, list[int]] = {}
        self.aborted: set[int] = set()
        self.sequences = dict.fromkeys(PRODUCERS, 0)
        #: The power was lost since its log was last seen.
        self.power_lost = False


class Worker:
    """One run."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        #: Those that found something have told their stories without transactions.
        self.transacts = seed not in FOUND
        self.disk = SimulatedDisk()
        self.clock = ManualClock(START_MS)
        self.topics: dict[str, Topic] = {}
        #: Directories in which every change is refused.
        self.failing: set[str] = set()
        self.start()

    def start(self) -> None:
        """Begin a new process; the disks of some directories are mended by then."""
        self.failing = {path for path in sorted(self.failing) if self.random.random() < 0.4}
        self.disk.fail = self.refuse
        first, *others = map(Path, DIRECTORIES)
        self.manager = LogManager(
            first, self.disk, self.clock, node_id=1, cluster_id="c", random=self.random, others=others
        )
        self.manager.load()
        self.manager.directories.put_strays_aside({(name, 0): topic.id for name, topic in self.topics.items()})
        for name, topic in self.topics.items():
            if topic.home not in self.offline:
                holding = self.manager.directories.holding((name, 0))
                topic.home = holding.path if holding is not None else None
                self.adopt(name, topic)

    def refuse(self, _: int, operation: str) -> OSError | None:
        if any(f"{path}/" in f"{operation}/" for path in self.failing):
            return OSError(errno.EIO, "on purpose")
        return None

    @property
    def offline(self) -> set[str]:
        return {contents.path for contents in self.manager.directories if contents.directory.offline}

    # -- work ---------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        self.clock.advance(20_000 if self.random.random() < 0.05 else self.random.randrange(60))
        actions = (self.append, self.make, self.delete, self.move, self.compact, self.flush, self.rounds, self.fail)
        self.random.choices(actions, (8, 2, 0.7, 2, 2, 2, 1, 0.1))[0]()

    def fail(self) -> None:
        self.failing.add(self.random.choice(DIRECTORIES[1:]))

    def make(self) -> None:
        """A topic is in the metadata when there is room for its files."""
        key = self.random.choice(NAMES), 0
        if key[0] not in self.topics:
            make_room = self.manager.directories.plan_room([key])
            if make_room is not None:
                make_room()
            self.topics[key[0]] = Topic(self.random.randbytes(16))
            self.manager.directories.place(key)

    def delete(self) -> None:
        """A topic's files go when it is in the metadata no more."""
        name = self.random.choice(NAMES)
        topic = self.topics.pop(name, None)
        if topic is None:
            return
        log = self.manager.logs.get((name, 0))
        try:
            if log is not None:
                self.manager.delete(log)
            else:
                self.manager.delete_unopened(name, topic.id, 0, CONFIG)
        except KafkaError:
            assert topic.home in self.failing

    def chosen(self) -> tuple[Topic, Log] | None:
        """A topic, if there is one, whose log is not in a directory that is offline."""
        name = self.random.choice(NAMES)
        topic = self.topics.get(name)
        log = self.opened(name, topic) if topic is not None else None
        return (topic, log) if topic is not None and log is not None else None

    def opened(self, name: str, topic: Topic) -> Log | None:
        try:
            log = self.manager.open(name, topic.id, 0, CONFIG)
        except KafkaError:
            assert self.failing
            assert topic.home is None or topic.home in self.offline or not self.is_told_by(topic.home, name, topic)
            return None
        topic.home = log.directory.path
        return log

    def is_told_by(self, home: str, name: str, topic: Topic) -> bool:
        """Whether a directory says that it is the topic's; where it does not, and another one is offline, that may have it."""
        return read_topic_id(self.disk, f"{home}/{name}-0") == topic.id

    def append(self) -> None:
        chosen = self.chosen()
        if chosen is None:
            return
        topic, log = chosen
        producer = self.random.choice((None, None, *PRODUCERS)) if self.transacts else None
        if producer in topic.open and self.random.random() < 0.5:
            self.end_transaction(topic, log, producer)
            return
        entries = [
            (b"key%d" % self.random.randrange(6), self.random.randbytes(self.random.randrange(40)))
            for _ in range(self.random.choice((1, 1, 3)))
        ]
        data = batch(
            [value for _, value in entries],
            keys=[key for key, _ in entries],
            producer=None if producer is None else (producer, 0, topic.sequences[producer]),
            transactional=producer is not None,
        )
        offsets = range(topic.end, topic.end + len(entries))
        sent = self.send(topic, [*entries], partial(append, log, data, now_ms=self.clock.now_ms()))
        if sent and producer is not None:
            topic.sequences[producer] += len(entries)
            topic.open.setdefault(producer, []).extend(offsets)

    def end_transaction(self, topic: Topic, log: Log, producer: int) -> None:
        commit = self.random.random() < 0.5
        if self.send(topic, [None], partial(append_marker, log, producer, 0, commit=commit)):
            offsets = topic.open.pop(producer)
            if not commit:
                topic.aborted.update(offsets)

    def send(self, topic: Topic, sending: list[Entry | None], append: Callable[[], AppendResult]) -> bool:
        """Whether it is acknowledged."""
        topic.sending = sending
        try:
            result = append()
        except KafkaError:
            assert topic.home in self.failing
            return False
        assert result.base_offset == topic.end
        self.acknowledge(topic)
        return True

    def acknowledge(self, topic: Topic) -> None:
        for entry in topic.sending:
            if entry is not None:
                topic.entries[topic.end] = entry
            topic.end += 1
        topic.sending = []

    def flush(self) -> None:
        chosen = self.chosen()
        if chosen is not None:
            topic, log = chosen
            try:
                log.flush()
                topic.synced = topic.end
            except KafkaError:
                assert topic.home in self.failing

    def rounds(self) -> None:
        try:
            flush_round(self.manager)
            retention_round(self.manager, self.clock.now_ms())
            checkpoint_round(self.manager)
        except KafkaError:
            assert self.failing
        self.note_synced()

    def note_synced(self) -> None:
        for name, topic in self.topics.items():
            log = self.manager.logs.get((name, 0))
            if log is not None:
                topic.synced = max(topic.synced, min(log.recovery_point, topic.end))

    def move(self) -> None:
        chosen = self.chosen()
        targets = [each for each in self.manager.directories if not each.directory.offline]
        if chosen is None or chosen[1].pinned_by is not None:
            return
        topic, log = chosen
        target = self.random.choice(targets)
        if target.directory is log.directory:
            return
        move = LogMove(log, target)
        try:
            move.copy()
            self.do_other_things()
            if move.wanted:
                self.manager.finish_move(move)
                topic.home, topic.synced = target.path, topic.end
                return
        except (OSError, KafkaError):
            assert {topic.home, target.path} & self.failing
        move.give_up()
        move.remove_copy()

    def compact(self) -> None:
        try:
            plan = self.manager.compactions.plan(self.clock.now_ms())
            if plan is not None:
                self.do_other_things()
                result = self.cleaned(plan)
                self.do_other_things()
                self.manager.compactions.finish(plan, result)
        except KafkaError:
            assert self.failing

    def cleaned(self, plan: CompactionPlan) -> CleaningResult | OSError:
        try:
            return clean(plan.job, self.disk)
        except OSError as error:
            plan.remove_leftovers()
            return error

    def do_other_things(self) -> None:
        """While threads are at work."""
        for _ in range(self.random.choice((0, 0, 2))):
            self.random.choice((self.append, self.flush, self.rounds, self.delete, self.make, self.move))()

    # -- ends ---------------------------------------------------------------------------------------------------------

    def stop_cleanly(self) -> None:
        try:
            self.manager.shutdown()
        except KafkaError:
            assert self.failing
        self.note_synced()
        self.start()

    def lose_power(self) -> None:
        for topic in self.topics.values():
            topic.power_lost = True
        self.disk.crash(self.random)
        self.start()

    def die(self) -> None:
        """Killed at a random one of the next operations; then, perhaps, the power goes too."""
        last = self.disk.operations + self.random.randint(1, 40)
        self.disk.fail = lambda number, name: ProcessDied() if number >= last else self.refuse(number, name)
        try:
            while True:
                self.step()
        except ProcessDied:
            self.random.choice((self.start, self.lose_power))()

    # -- what must hold -----------------------------------------------------------------------------------------------

    def adopt(self, name: str, topic: Topic) -> None:
        """See what a new process finds of a topic."""
        log = self.opened(name, topic)
        if log is None:
            return
        found = dict(contents(log))
        unsure = bool(topic.sending) or topic.power_lost
        if log.log_end_offset > topic.end:
            self.acknowledge(topic)
            assert log.log_end_offset == topic.end
        topic.sending = []
        if topic.power_lost:
            # Where compaction leaves gaps, recovery takes one for another: of what was not synced, any part may be lost.
            for offset in range(topic.synced, topic.end):
                if offset not in found:
                    topic.entries.pop(offset, None)
            assert log.log_end_offset >= topic.synced
            topic.end = log.log_end_offset
        topic.power_lost = False
        if unsure:
            self.adopt_transactions(topic, log)
        self.check(topic, log)

    def adopt_transactions(self, topic: Topic, log: Log) -> None:
        """The log knows which are open, and how those ended whose markers were being written."""
        topic.aborted = {offset for offset in topic.aborted if offset < topic.end}
        begun = {producer: first for first, producer in log.producers.open_txns.items()}
        for producer in PRODUCERS:
            entry = log.producers.entries.get(producer)
            topic.sequences[producer] = 0 if entry is None else entry.last_sequence + 1
            ended = topic.open.pop(producer, [])
            if producer in begun:
                topic.open[producer] = offsets_of(log, producer, begun[producer])
                topic.aborted.difference_update(topic.open[producer])
            else:
                for txn in log.aborted_transactions(0, topic.end):
                    if txn.producer_id == producer:
                        topic.aborted.update(o for o in ended if txn.first_offset <= o <= txn.last_offset)

    def check(self, topic: Topic, log: Log) -> None:
        assert log.log_end_offset == topic.end
        found: dict[int, Entry] = {}
        for header, data in log.batches():
            for record in () if header.is_control else decode_records(data, header=header):
                found[record.offset] = record.key or b"", record.value or b""
        assert found.items() <= topic.entries.items()
        undecided = {offset for offsets in topic.open.values() for offset in offsets}
        assert undecided <= found.keys()
        settled = (each for each in sorted(topic.entries.items()) if each[0] not in undecided | topic.aborted)
        newest = {key: offset for offset, (key, _) in settled}
        assert found.keys() >= set(newest.values())
        self.check_transactions(topic, log)
        told = log.aborted_transactions(0, topic.end)
        for offset in topic.aborted & found.keys():
            assert any(txn.first_offset <= offset <= txn.last_offset for txn in told)

    def check_transactions(self, topic: Topic, log: Log) -> None:
        firsts = {offsets[0]: producer for producer, offsets in topic.open.items()}
        assert log.producers.open_txns == firsts
        assert log.last_stable_offset == min(firsts, default=topic.end)
        for producer in PRODUCERS:
            entry = log.producers.entries.get(producer)
            assert topic.sequences[producer] == (0 if entry is None else entry.last_sequence + 1)

    def check_all(self) -> None:
        for name, topic in self.topics.items():
            log = self.opened(name, topic)
            if log is not None:
                self.check(topic, log)


def offsets_of(log: Log, producer: int, first: int) -> list[int]:
    """The offsets of a producer's records from ``first`` on."""
    return [
        record.offset
        for header, data in log.batches(first)
        if header.producer_id == producer and not header.is_control
        for record in decode_records(data, header=header)
    ]


@pytest.mark.parametrize("seed", seeds(100, found=FOUND))
def test_random_directories(seed: int) -> None:
    worker = Worker(seed)
    ends = (worker.stop_cleanly, worker.start, worker.lose_power, worker.die, worker.die)
    for _ in range(5):
        for _ in range(worker.random.randrange(40)):
            worker.step()
        worker.check_all()
        worker.random.choice(ends)()
