"""Idempotence and transactions, as a log sees them."""

from __future__ import annotations

import pytest

from pykbroker.storage.log.producers import CorruptSnapshotError, Producers
from pykbroker.tests.storage.support import START_MS, Store, append, append_marker, batch
from pykbroker.wire.batch_header import read_batch_header
from pykbroker.wire.control_records import EndTxnMarker
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.records import Record, encode_batch

PID = 77


def header(producer_id, epoch, sequence, offset, *, count=1, transactional=False):
    """The header of a batch that stands in the log."""
    records = [Record(offset=offset + number, timestamp=START_MS, value=b"x") for number in range(count)]
    return read_batch_header(
        encode_batch(
            records,
            base_offset=offset,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional,
        )
    )


@pytest.fixture
def log():
    return Store().log()


def send(log, sequence, count=1, *, epoch=0, transactional=False):
    return append(log, batch([b"x"] * count, producer=(PID, epoch, sequence), transactional=transactional))


def refused(log, sequence, **more):
    end = log.log_end_offset
    with pytest.raises(KafkaError) as caught:
        send(log, sequence, **more)
    assert log.log_end_offset == end
    return caught.value.code


def test_the_last_five_batches_are_remembered(log):
    for sequence in range(0, 14, 2):
        send(log, sequence, 2)
    for sequence in range(4, 14, 2):
        again = send(log, sequence, 2)
        assert again.duplicate
        assert (again.base_offset, again.last_offset) == (sequence, sequence + 1)
        assert again.log_append_time == START_MS + 1
    assert refused(log, 2, count=2) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.log_end_offset == 14


def test_a_repeat_must_be_the_same_batch(log):
    send(log, 0, 2)
    send(log, 2, 2)
    assert refused(log, 0, count=1) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_gap(log):
    send(log, 0)
    assert refused(log, 2) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_an_unknown_producer_may_begin_anywhere(log):
    assert send(log, 1234).base_offset == 0
    assert send(log, 1235).base_offset == 1


def test_epochs(log):
    send(log, 0, epoch=3)
    assert refused(log, 1, epoch=2) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert refused(log, 1, epoch=4) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    send(log, 0, epoch=4)
    assert send(log, 0, epoch=4).duplicate
    assert refused(log, 1, epoch=3) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_sequences_wrap(log):
    send(log, 2**31 - 2, 2)
    assert send(log, 0).base_offset == 2
    send(log, 1, 2)
    assert send(log, 2**31 - 2, 2).base_offset == 0


def test_an_open_transaction_holds_the_last_stable_offset(log):
    append(log, batch([b"plain"]))
    send(log, 0, transactional=True)
    append(log, batch([b"plain"]))
    assert log.last_stable_offset == 1
    assert log.has_open_transaction(PID)
    assert refused(log, 1) is ErrorCode.INVALID_TXN_STATE
    append_marker(log, PID, 0, commit=True)
    assert log.last_stable_offset == log.log_end_offset == 4
    assert not log.has_open_transaction(PID)
    assert log.aborted_transactions(0, 4) == []


def test_aborted_transactions_are_found_where_they_overlap(log):
    send(log, 0, 3, transactional=True)
    append(log, batch([b"plain"]))
    append(log, batch([b"other"], producer=(8, 0, 0), transactional=True))
    append_marker(log, PID, 0, commit=False)
    append_marker(log, 8, 0, commit=False)
    first, second = log.aborted_transactions(0, 7)
    assert first == (PID, 0, 5, 4)
    assert second == (8, 4, 6, 7)
    assert log.aborted_transactions(6, 7) == [second]
    assert log.aborted_transactions(0, 3) == [first]
    assert log.aborted_transactions(7, 7) == []


def test_markers_of_an_old_coordinator_or_epoch(log):
    send(log, 0, epoch=2, transactional=True)
    append_marker(log, PID, 2, commit=True, coordinator_epoch=5)
    with pytest.raises(KafkaError) as caught:
        append_marker(log, PID, 2, commit=True, coordinator_epoch=4)
    assert caught.value.code is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    with pytest.raises(KafkaError) as caught:
        append_marker(log, PID, 1, commit=True, coordinator_epoch=6)
    assert caught.value.code is ErrorCode.INVALID_PRODUCER_EPOCH


def test_transactions_of_version_2_end_with_a_higher_epoch():
    producers = Producers()
    producers.note(header(PID, 3, 0, 0, transactional=True), None)
    marker = EndTxnMarker(commit=True, coordinator_epoch=0)
    with pytest.raises(KafkaError) as caught:
        producers.check_marker(header(PID, 3, -1, 1), marker, transaction_version=2)
    assert caught.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
    producers.check_marker(header(PID, 4, -1, 1), marker, transaction_version=2)
    producers.note(header(PID, 4, -1, 1), marker)
    producers.check_marker(header(PID, 4, -1, 2), marker, transaction_version=2)


def test_idle_producers_are_forgotten_but_not_those_with_a_transaction(log):
    send(log, 0, transactional=True)
    append(log, batch([b"x"], producer=(5, 0, 0)))
    log.producers.remove_expired(START_MS + 999, 1000)
    assert set(log.producers.entries) == {PID, 5}
    log.producers.remove_expired(START_MS + 1000, 1000)
    assert set(log.producers.entries) == {PID}


def test_snapshots_keep_what_counts():
    before = Producers()
    before.note(header(PID, 3, 7, 100, count=3, transactional=True), None)
    before.note(header(5, 0, 2**31 - 1, 103, count=3), None)
    before.note(header(6, 1, -1, 106), EndTxnMarker(commit=False, coordinator_epoch=9))
    after = Producers()
    after.decode(before.encode(), 107)
    assert after.end_offset == 107
    assert after.open_txns == {100: PID}
    assert after.first_unstable_offset == 100
    assert after.entries[PID].batches[-1] == (7, 9, 100, 102, START_MS)
    assert after.entries[5].batches[-1] == (2**31 - 1, 1, 103, 105, START_MS)
    assert not after.entries[6].batches
    assert after.entries[6].coordinator_epoch == 9


@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: data[:-1], lambda data: data[:10] + b"!" + data[11:]]
)
def test_damaged_snapshots(damage):
    producers = Producers()
    producers.note(header(PID, 0, 0, 0), None)
    with pytest.raises(CorruptSnapshotError):
        Producers().decode(damage(producers.encode()), 1)


def test_a_transaction_may_begin_at_offset_0(log):
    send(log, 0, transactional=True)
    assert log.has_open_transaction(PID)
    assert log.last_stable_offset == 0
    assert refused(log, 1) is ErrorCode.INVALID_TXN_STATE
    send(log, 1, transactional=True)
    assert log.last_stable_offset == 0
    append_marker(log, PID, 0, commit=True)
    assert log.last_stable_offset == 3


@pytest.mark.parametrize(("version", "transactional", "begins"), [(2, True, False), (1, True, True), (2, False, True)])
def test_only_transactions_of_version_2_begin_with_sequence_0(version: int, transactional: bool, begins: bool) -> None:
    producers, first = Producers(), header(1, 0, 5, 0, transactional=transactional)
    if begins:
        assert producers.check_batch(first, check_sequence=True, transaction_version=version) is None
    else:
        with pytest.raises(KafkaError) as error:
            producers.check_batch(first, check_sequence=True, transaction_version=version)
        assert error.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert (
        producers.check_batch(header(1, 0, 0, 0, transactional=True), check_sequence=True, transaction_version=2)
        is None
    )


def test_a_snapshot_remembers_a_batch_of_one_record_at_sequence_0():
    producers, restored = Producers(), Producers()
    producers.note(header(1, 0, 0, 0), None)
    restored.decode(producers.encode(), 1)
    repeated = restored.check_batch(header(1, 0, 0, 7), check_sequence=True)
    assert repeated is not None
    assert (repeated.first_sequence, repeated.last_sequence, repeated.first_offset) == (0, 0, 0)


def test_the_last_stable_offset_is_never_before_the_log_start(log):
    """As in Kafka: what DeleteRecords took of an open transaction is stable."""
    append(log, batch([b"a"] * 4, producer=(1, 0, 0), transactional=True))
    append(log, batch([b"b"] * 6))
    assert log.last_stable_offset == 0
    assert log.delete_records_before(8) == 8
    assert log.last_stable_offset == 8
    append_marker(log, 1, 0, commit=True)
    assert log.last_stable_offset == log.log_end_offset == 11
