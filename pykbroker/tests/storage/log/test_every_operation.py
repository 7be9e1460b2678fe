"""One run that does everything, ended or hindered at each of its operations on the disk in turn.

Appends, rolls, transactions, flushes, retention, compaction and a clean shutdown; the process is killed, loses power, or finds
the disk full at the first, the second, ... operation. Whatever is found afterwards holds what was acknowledged (or, with
the power, what was synced), once and in order, and takes appends again.
"""

from __future__ import annotations

import contextlib
import errno
import random
from dataclasses import replace

import pytest

from pykbroker.storage.compaction.cleaning import clean
from pykbroker.storage.log.config import LogConfig
from pykbroker.tests.storage.rounds import checkpoint_round, retention_round
from pykbroker.tests.storage.support import Store, append, append_marker, batch
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.records import decode_records
from pykbroker.worlds.disk import ProcessDied

PLAIN = LogConfig(
    segment_bytes=400, index_interval_bytes=50, retention_bytes=1500, retention_ms=-1, file_delete_delay_ms=1
)
COMPACTED = LogConfig(
    segment_bytes=600,
    index_interval_bytes=50,
    delete=False,
    compact=True,
    min_cleanable_dirty_ratio=0.0,
    file_delete_delay_ms=1,
)


class Run:
    """Two logs, and what is known of them."""

    def __init__(self, *, preallocate: bool = False) -> None:
        self.plain = replace(PLAIN, preallocate=preallocate)
        self.compacted = replace(COMPACTED, preallocate=preallocate)
        self.store = Store()
        self.acknowledged: dict[str, dict[int, tuple[bytes | None, bytes]]] = {"plain": {}, "compacted": {}}
        self.synced = {"plain": 0, "compacted": 0}
        self.refused = 0

    def logs(self):
        return {"plain": self.store.log(self.plain, "plain"), "compacted": self.store.log(self.compacted, "compacted")}

    def send(self, name, log, key, value, **more) -> None:
        try:
            result = append(log, batch([value], keys=[key], **more))
        except KafkaError as error:
            self.note(error)
            return
        self.acknowledged[name][result.base_offset] = (key, value)

    def work(self) -> None:
        while not self.attempt(self.logs):
            pass
        logs = self.logs()
        for turn in range(3):
            for number in range(12):
                value = b"%d.%d" % (turn, number) + bytes(20)
                self.send("plain", logs["plain"], None, value)
                self.send("compacted", logs["compacted"], b"key%d" % (number % 4), value)
            self.send("compacted", logs["compacted"], b"t", b"aborted", producer=(7, turn, 0), transactional=True)
            self.attempt(lambda turn=turn: append_marker(logs["compacted"], 7, turn, commit=False))
            for name, log in logs.items():
                if self.attempt(log.flush):
                    self.synced[name] = log.log_end_offset
            self.attempt(self.round)
        # Gaps of a compaction that no checkpoint may know of are met under another policy from now on.
        self.compacted = replace(self.compacted, compact=False, delete=True, retention_ms=-1)
        self.logs()
        self.attempt(self.store.stop)

    def attempt(self, action) -> bool:
        """Do it; with a full disk it may be refused."""
        try:
            action()
        except KafkaError as error:
            self.note(error)
            return False
        return True

    def note(self, error: KafkaError) -> None:
        assert error.code is ErrorCode.KAFKA_STORAGE_ERROR
        self.refused += 1

    def round(self) -> None:
        manager = self.store.manager
        self.store.clock.advance(1000)
        retention_round(manager, self.store.clock.now_ms())
        plan = manager.compactions.plan(self.store.clock.now_ms())
        if plan is not None:
            try:
                result = clean(plan.job, self.store.disk)
            except OSError as error:
                result = error
                self.refused += 1
            manager.compactions.finish(plan, result)
        checkpoint_round(manager)

    def check(self, sure: dict[str, int]) -> None:
        """Everything up to ``sure`` is there, nothing else than what was sent, and the logs go on."""
        self.store.start()
        for name, log in self.logs().items():
            assert log.log_end_offset >= sure[name]
            found = {}
            for header, data in log.batches():
                if not header.is_control:
                    for record in decode_records(data, header=header):
                        assert record.offset not in found
                        found[record.offset] = (record.key, record.value)
            sent = self.acknowledged[name]
            for offset, entry in found.items():
                assert sent.get(offset, entry) == entry
            self.check_kept(name, log, {o: e for o, e in sent.items() if o < sure[name]}, found)
            end = log.log_end_offset
            assert append(log, batch([b"next"], keys=[b"next"])).base_offset == end
        self.store.stop()

    def check_kept(self, name, log, sent, found) -> None:
        if name == "plain":
            for offset in sent:
                assert offset in found or offset < log.log_start_offset
            return
        newest = {key: offset for offset, (key, _) in sorted(sent.items()) if key != b"t"}
        later = {key for offset, (key, _) in found.items() if offset >= log.log_end_offset}
        for key, offset in newest.items():
            assert offset in found or key in later or max(o for o, (k, _) in found.items() if k == key) > offset


def count_operations(*, preallocate: bool) -> int:
    run = Run(preallocate=preallocate)
    before = run.store.disk.operations
    run.work()
    run.check({name: max(sent) + 1 for name, sent in run.acknowledged.items()})
    return run.store.disk.operations - before


#: (preallocate, number of the operation).
OPERATIONS = [
    (preallocate, number)
    for preallocate in (False, True)
    for number in range(1, count_operations(preallocate=preallocate) + 1)
]


@pytest.mark.parametrize("preallocate", [False, True])
def test_the_run_does_everything(preallocate):
    run = Run(preallocate=preallocate)
    names: list[str] = []
    run.store.disk.fail = lambda _number, name: names.append(name)
    run.work()
    assert run.refused == 0
    done = {name.split("/")[0].strip() for name in names}
    expected = {"write", "create", "sync", "rename", "remove", "make directory", "sync directory"}
    assert done == expected | ({"extend", "truncate"} if preallocate else set())
    for part in (
        ".swap",
        ".cleaned",
        ".deleted",
        ".snapshot",
        ".txnindex",
        "leader-epoch",
        "cleaner-offset",
        "cleanshutdown",
    ):
        assert any(part in name for name in names), part


@pytest.mark.parametrize("end", ["kill", "power loss"])
@pytest.mark.parametrize(("preallocate", "number"), OPERATIONS)
def test_ended_at(preallocate, number, end):
    run = Run(preallocate=preallocate)
    last = run.store.disk.operations + number
    run.store.disk.fail = lambda at, _: ProcessDied() if at >= last else None
    with contextlib.suppress(ProcessDied):
        run.work()
    run.store.disk.fail = None
    if end == "kill":
        run.check({name: max(sent, default=-1) + 1 for name, sent in run.acknowledged.items()})
    else:
        run.store.disk.crash(random.Random(number))
        run.check(run.synced)


@pytest.mark.parametrize(("preallocate", "number"), OPERATIONS)
def test_no_space_at(preallocate, number):
    run = Run(preallocate=preallocate)
    full = range(run.store.disk.operations + number, run.store.disk.operations + number + 3)
    taking = ("write", "create", "make", "extend")
    run.store.disk.fail = lambda at, name: (
        OSError(errno.ENOSPC, "no space") if at in full and name.split()[0] in taking else None
    )
    run.work()
    run.store.disk.fail = None
    run.check({name: max(sent, default=-1) + 1 for name, sent in run.acknowledged.items()})
