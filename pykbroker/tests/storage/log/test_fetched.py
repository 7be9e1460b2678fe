"""What a follower appends: its log becomes the leader's, whatever the leader has done."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.log import Log
from pykbroker.storage.log.validate import Origin
from pykbroker.tests.kit.depth import examples
from pykbroker.tests.storage.rounds import checkpoint_round
from pykbroker.tests.storage.support import START_MS, Store, append, batch, contents
from pykbroker.wire.batch_header import patch_batch
from pykbroker.wire.control_records import EndTxnMarker, encode_end_txn_batch
from pykbroker.wire.errors import ErrorCode, KafkaError

SMALL = LogConfig(segment_bytes=600, index_interval_bytes=100)


def fetch(leader: Log, follower: Log, max_bytes: int = 10**6, *, epoch: int = 100) -> int:
    """Fetch once; returns the bytes that were appended."""
    plan = leader.plan_read(follower.log_end_offset, max_bytes)
    if plan is None:
        return 0
    return follower.append_as_follower(bytes(plan.read()), leader_epoch=epoch, now_ms=START_MS)


def catch_up(leader: Log, follower: Log, max_bytes: int = 10**6) -> None:
    while fetch(leader, follower, max_bytes):
        pass


def end_transaction(leader: Log, producer_id: int, *, commit: bool, epoch: int) -> None:
    marker = EndTxnMarker(commit, 0)
    data = encode_end_txn_batch(marker, producer_id=producer_id, producer_epoch=0, timestamp=START_MS)
    leader.append_as_leader(data, leader_epoch=epoch, now_ms=START_MS, origin=Origin.COORDINATOR)
    leader.commit_to(leader.log_end_offset)


def producers(log: Log) -> list[tuple[object, ...]]:
    return sorted(
        (each.producer_id, each.epoch, each.last_sequence, each.txn_first_offset, each.coordinator_epoch)
        for each in log.producers.entries.values()
    )


def assert_alike(leader: Log, follower: Log) -> None:
    assert contents(follower) == contents(leader)
    assert follower.log_end_offset == leader.log_end_offset
    assert follower.epochs.entries() == [entry for entry in leader.epochs.entries() if entry[1] < leader.log_end_offset]
    assert producers(follower) == producers(leader)
    assert follower.first_unstable_offset == leader.first_unstable_offset
    end = leader.log_end_offset
    assert follower.aborted_transactions(0, end) == leader.aborted_transactions(0, end)


_steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 3), st.integers(0, 150)),
        st.tuples(st.just("transaction"), st.integers(1, 3), st.booleans()),
        st.tuples(st.just("epoch"), st.integers(1, 2), st.just(0)),
        st.tuples(st.just("fetch"), st.sampled_from([1, 200, 10_000]), st.just(0)),
        st.tuples(st.just("restart"), st.booleans(), st.just(0)),
    ),
    max_size=12,
)


@settings(max_examples=examples(100), deadline=None)
@given(_steps)
def test_a_follower_has_what_its_leader_has(steps: list[tuple[str, int, int]]) -> None:
    leaders, followers = Store(), Store(1)
    leader, follower = leaders.log(SMALL), followers.log(SMALL)
    epoch = 1
    sequences = dict.fromkeys((1, 2, 3), 0)
    for step, first, second in steps:
        if step == "append":
            append(leader, batch([bytes(second)] * first), epoch=epoch)
        elif step == "transaction":
            append(leader, batch([b"t"], producer=(first, 0, sequences[first]), transactional=True), epoch=epoch)
            sequences[first] += 1
            end_transaction(leader, first, commit=bool(second), epoch=epoch)
        elif step == "epoch":
            epoch += first
            leader.begin_epoch(epoch)
        elif step == "fetch":
            fetch(leader, follower, first)
        else:
            if not first:
                followers.stop()
            followers.start()
            follower = followers.log(SMALL)
    catch_up(leader, follower, 300)
    assert_alike(leader, follower)
    followers.start()  # after a kill
    assert_alike(leader, followers.log(SMALL))


@pytest.fixture
def logs() -> tuple[Log, Log]:
    return Store().log(), Store(1).log()


def test_gaps_of_compaction_are_kept(logs: tuple[Log, Log]) -> None:
    _, follower = logs
    data = batch([b"a", b"b"])
    later = batch([b"c"])
    patch_batch(later, 0, 7, 1)
    patch_batch(data, 0, 0, 1)
    follower.append_as_follower(bytes(data + later), leader_epoch=1, now_ms=START_MS)
    assert contents(follower) == [(0, b"a"), (1, b"b"), (7, b"c")]
    assert follower.log_end_offset == 8


def test_a_batch_that_is_cut_off_is_left_out(logs: tuple[Log, Log]) -> None:
    leader, follower = logs
    append(leader, batch([b"a"]))
    append(leader, batch([b"b"]))
    plan = leader.plan_read(0, 10**6)
    assert plan is not None
    data = bytes(plan.read())
    for cut in (1, 30, 70):
        assert follower.append_as_follower(data[: len(data) - cut], leader_epoch=100, now_ms=START_MS) in (
            0,
            len(data) // 2,
        )
        follower.truncate_to(0)


def test_a_batch_of_a_later_epoch_ends_an_answer(logs: tuple[Log, Log]) -> None:
    """KAFKA-18723: the leader of epoch 1 was a follower in epoch 2 before it answered."""
    leader, follower = logs
    append(leader, batch([b"a"]), epoch=1)
    append(leader, batch([b"b"]), epoch=2)
    fetch(leader, follower, epoch=1)
    assert contents(follower) == [(0, b"a")]


def test_what_is_damaged_is_refused_as_a_whole(logs: tuple[Log, Log]) -> None:
    leader, follower = logs
    append(leader, batch([b"a"]))
    append(leader, batch([b"b"]))
    plan = leader.plan_read(0, 10**6)
    assert plan is not None
    data = bytearray(plan.read())
    data[-1] ^= 1
    first = bytes(data[: len(data) // 2])
    ends_beyond_all = (2**63 - 1).to_bytes(8, "big") + first[8:]
    for bad in (bytes(data), b"\x00" * 80, first * 2, ends_beyond_all):
        with pytest.raises(KafkaError) as caught:
            follower.append_as_follower(bad, leader_epoch=100, now_ms=START_MS)
        assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
        assert follower.log_end_offset == 0


def test_what_is_there_already_is_refused(logs: tuple[Log, Log]) -> None:
    leader, follower = logs
    append(leader, batch([b"a"]))
    fetch(leader, follower)
    plan = leader.plan_read(0, 10**6)
    assert plan is not None
    with pytest.raises(KafkaError) as caught:
        follower.append_as_follower(bytes(plan.read()), leader_epoch=100, now_ms=START_MS)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    assert follower.log_end_offset == 1


def test_a_new_replica_begins_within_a_batch_where_records_were_deleted(logs: tuple[Log, Log]) -> None:
    leader, follower = logs
    append(leader, batch([b"a", b"b", b"c"]))
    append(leader, batch([b"d"]))
    leader.commit_to(4)
    leader.delete_records_before(1)
    follower.start_over(1)
    assert (follower.log_start_offset, follower.high_watermark, follower.log_end_offset) == (1, 1, 1)
    fetch(leader, follower)
    assert (follower.log_start_offset, follower.log_end_offset) == (1, 4)
    assert follower.high_watermark == 1
    assert contents(follower) == contents(leader)


def test_a_log_that_starts_over_forgets_all_before() -> None:
    store = Store()
    log = store.log(SMALL)
    for number in range(20):
        append(log, batch([bytes(50)], producer=(1, 0, number)), epoch=number // 10)
    log.start_over(500)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (500, 500, 500)
    assert log.epochs.entries() == []
    assert producers(log) == []
    checkpoint_round(store.manager)
    store.start()
    log = store.log(SMALL)
    assert (log.log_start_offset, log.log_end_offset) == (500, 500)


def test_an_epoch_of_no_batch_is_not_noted_by_a_follower(logs: tuple[Log, Log]) -> None:
    """Only the leader of an epoch knows where it begins (KIP-101): a follower's log may diverge before that, unseen."""
    leader, follower = logs
    append(leader, batch([b"a"]), epoch=1)
    fetch(leader, follower)
    leader.begin_epoch(2)
    fetch(leader, follower)
    assert follower.epochs.entries() == [(1, 0)]


def test_the_epoch_of_a_leader_that_appended_nothing_is_cut_off(logs: tuple[Log, Log]) -> None:
    """Else its log diverges for ever from that of the next leader."""
    leader, follower = logs
    append(leader, batch([b"a"]), epoch=1)
    fetch(leader, follower)
    follower.begin_epoch(2)
    leader.begin_epoch(3)
    follower.truncate_to(1)
    assert follower.epochs.entries() == [(1, 0)]
