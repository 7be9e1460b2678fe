"""Readers in other threads, which have their turn at every change of a name: compaction, retention, truncation.

The work is that of the compaction model, with retention beside it; the order of the threads is the seed's. Whatever a
reader finds was in the log, and no reader takes the directory offline. Any seed can be run alone:
``pytest -k 'test_random_readers[42]'``.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest

from pykbroker.storage.log import segment
from pykbroker.storage.log.reading import ReadPlan
from pykbroker.tests.storage.compaction.test_compaction_model import CONFIG, Worker
from pykbroker.tests.storage.seeds import seeds
from pykbroker.tests.storage.support import START_MS
from pykbroker.wire.batch_header import read_batch_header
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.records import decode_records


class ReaderWaits(BaseException):
    """The reader needs a lock that the other thread holds: it goes on at its next turn."""


class Lock:
    """In one thread: who wants it while it is held is a reader whose turn ends here."""

    def __init__(self) -> None:
        self._held = False

    def __enter__(self) -> None:
        if self._held:
            raise ReaderWaits
        self._held = True

    def __exit__(self, *_: object) -> None:
        self._held = False


class Observed(Worker):
    """One run. ``plans`` are reads that were planned and have not had their turn."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.plans: list[ReadPlan] = []
        self.log.update_config(replace(CONFIG, delete=self.random.random() < 0.5, retention_bytes=4000))

    def restart(self) -> None:
        """No reader is there before the log is open."""
        self.plans.clear()
        self.store.disk.renamed = lambda: None
        super().restart()
        self.adopt()
        self.log.update_config(replace(CONFIG, delete=self.random.random() < 0.5, retention_bytes=4000))

    def observe(self) -> None:
        self.store.disk.renamed = self.turn

    def step(self) -> None:
        """Descriptors come and go, reads are planned, and the work goes on."""
        for each in self.log.segments[:-1]:
            if self.random.random() < 0.5:
                each.close()
        start, end = self.log.log_start_offset, self.log.log_end_offset
        if start < end:
            plan = self.log.plan_read(self.random.randrange(start, end), 1500)
            assert plan is not None
            self.plans = [*self.plans[-3:], plan]
        self.random.choice((super().step, self.trim))()

    def trim(self) -> None:
        start, end = self.log.log_start_offset, self.log.log_end_offset
        if self.random.random() < 0.2:
            self.log.delete_records_before(self.random.randint(start, min(start + 5, end)))

    def make_again(self) -> None:
        """What was planned of the topic that goes is test_model's subject."""
        self.plans.clear()
        super().make_again()

    # -- a reader's turn ----------------------------------------------------------------------------------------------

    def turn(self) -> None:
        try:
            with contextlib.suppress(ReaderWaits):
                self.random.choice((self.search, self.search_newest, self.read, self.ask_for_aborted, self.measure))()
        except KafkaError as error:
            if not (self.log.deleted and error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
                raise
        assert not self.store.manager.metadata_directory.offline

    def search(self) -> None:
        wanted = START_MS + self.random.randrange(self.store.clock.now_ms() - START_MS + 100)
        found = self.log.offset_for_timestamp(wanted)
        assert found is None or found.timestamp >= wanted

    def search_newest(self) -> None:
        self.log.offset_of_max_timestamp()

    def ask_for_aborted(self) -> None:
        self.log.aborted_transactions(self.log.log_start_offset, self.log.log_end_offset)

    def measure(self) -> None:
        self.store.manager.size_of("t", 0)

    def read(self) -> None:
        if not self.plans:
            return
        try:
            data = memoryview(self.plans.pop(self.random.randrange(len(self.plans))).read())
        except KafkaError as error:
            if error.code is not ErrorCode.OFFSET_OUT_OF_RANGE:
                raise
            return
        position = 0
        while position < len(data):
            header = read_batch_header(data, position)
            if not header.is_control:
                for record in decode_records(data[position : position + header.size], header=header):
                    known = self.entries.get(record.offset)
                    assert known in (None, (record.key, record.value))
            position += header.size


@pytest.mark.parametrize("seed", seeds())
def test_random_readers(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment, "Lock", Lock)
    worker = Observed(seed)
    for _ in range(3):
        worker.observe()
        for _ in range(worker.random.randrange(40)):
            worker.step()
        worker.restart()
