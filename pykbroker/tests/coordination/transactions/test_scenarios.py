"""Transactions from their beginning to their end, in both protocols, with a restart between any two steps."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from pykbroker.coordination.transactions.records import record
from pykbroker.tests.kit.cluster import GROUP, TRANSACTION_KEY, MemoryCluster
from pykbroker.tests.kit.metadata import registration
from pykbroker.tests.kit.transactions import Producer
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.end_txn import EndTxnRequest
from pykbroker.wire.records import decode_records

NONE = ErrorCode.NONE


@pytest.fixture
def world() -> MemoryCluster:
    world = MemoryCluster()
    world.topic()
    return world


@pytest.fixture(params=[1, 2], ids=["protocol 1", "protocol 2"])
def producer(world: MemoryCluster, request) -> Producer:
    return Producer(world, "tx", request.param).started()


def test_what_is_committed_is_read_and_what_is_aborted_is_not(world, producer):
    for number, end in enumerate([producer.commit, producer.abort, producer.commit, producer.abort]):
        assert producer.send(b"%d" % number) is NONE
        assert producer.send(b"%d" % number, index=1) is NONE
        assert end() is NONE
    assert world.read() == world.read(index=1) == [b"0", b"2"]


def test_readers_stop_where_a_transaction_is_open(world, producer):
    other = Producer(world, "other").started()
    assert producer.send(b"open") is NONE
    assert other.send(b"done") is NONE
    assert other.commit() is NONE
    assert world.read() == []
    assert world.fetch("t", 0, 0).last_stable_offset == 0
    assert producer.abort() is NONE
    assert world.read() == [b"done"]


@pytest.mark.parametrize("kill", [True, False], ids=["killed", "stopped"])
@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
def test_a_restart_between_any_two_steps_changes_nothing(world, producer, commit, kill):
    for number in range(2):
        value = b"%d" % number
        for step in (
            partial(producer.send, value),
            partial(producer.send, value, index=1),
            partial(producer.commit_offset, 7 + number),
            partial(producer.end, commit=commit),
        ):
            assert step() is NONE
            world.restart(kill=kill)
    expected = [b"0", b"1"] if commit else []
    assert world.read() == world.read(index=1) == expected
    assert world.committed() == ({("t", 0): 8} if commit else {})
    assert world.state("tx") == ("CompleteCommit" if commit else "CompleteAbort")


def test_offsets_count_when_the_transaction_is_committed(world, producer):
    assert producer.commit_offset(5) is NONE
    assert world.committed() == {}
    assert producer.commit() is NONE
    assert producer.commit_offset(9) is NONE
    assert world.committed() == {("t", 0): 5}
    assert world.committed(stable=True) == {("t", 0): -ErrorCode.UNSTABLE_OFFSET_COMMIT}
    world.restart(kill=True)
    assert world.committed(stable=True) == {("t", 0): -ErrorCode.UNSTABLE_OFFSET_COMMIT}
    assert producer.abort() is NONE
    assert world.committed(stable=True) == {("t", 0): 5}
    world.restart(kill=True)
    assert world.committed(stable=True) == {("t", 0): 5}


def test_a_new_incarnation_aborts_and_fences_the_old(world, producer):
    assert producer.send(b"old") is NONE
    young = Producer(world, "tx", producer.protocol)
    assert young.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert young.init() is NONE
    assert young.producer_id == producer.producer_id
    assert young.epoch > producer.epoch
    # Where no offset of the young producer is in the log, it is the coordinator that knows better.
    assert producer.send(b"zombie", index=1) in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
    assert producer.write(b"zombie") is ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.commit() is ErrorCode.PRODUCER_FENCED
    assert young.send(b"young") is NONE
    assert young.commit() is NONE
    assert world.read() == [b"young"]


def test_a_producer_that_recovers_keeps_its_place(world, producer):
    epoch = producer.epoch
    assert producer.init(recover=True) is NONE
    assert producer.epoch == epoch + 1
    stale = Producer(world, "tx")
    stale.producer_id, stale.epoch = producer.producer_id, epoch
    assert stale.init(recover=True) is NONE  # its answer was lost, and it asks again
    assert stale.epoch == epoch + 1
    assert Producer(world, "tx").init() is NONE
    assert producer.init(recover=True) is ErrorCode.PRODUCER_FENCED


def test_a_transaction_that_takes_too_long_is_aborted(world, producer):
    late = Producer(world, "late", producer.protocol, timeout_ms=15_000).started()
    assert late.send(b"late") is NONE
    assert late.commit_offset(3) is NONE
    world.advance(10_000)
    assert world.state("late") == "Ongoing"
    world.advance(10_000)
    assert world.state("late") == "CompleteAbort"
    assert late.commit() in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_TXN_STATE)
    assert late.write(b"too late") is ErrorCode.INVALID_PRODUCER_EPOCH
    assert world.read() == []
    assert world.committed(stable=True) == {}


def test_a_transaction_that_takes_too_long_is_aborted_after_a_restart_that_nobody_follows(world, producer):
    assert producer.send(b"late") is NONE
    world.restart(kill=True)
    world.advance(10_000)
    world.advance(60_000)
    assert world.read() == []
    assert world.fetch("t", 0, 0).last_stable_offset == 2


def test_unused_transactional_ids_are_forgotten(world, producer):
    assert producer.send(b"x") is NONE
    assert producer.commit() is NONE
    used = Producer(world, "used").started()
    day = 24 * 3_600_000
    world.advance(6 * day)
    assert used.init() is NONE
    assert world.state("tx") == "CompleteCommit"
    world.advance(day)
    world.advance(3_600_000)
    for _ in range(2):
        assert world.state("tx") == ""
        assert world.state("used") == "Empty"
        world.restart(kill=True)
    assert producer.send(b"z") is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_the_group_may_be_deleted_with_its_pending_offsets(world, producer):
    assert producer.commit_offset(5) is NONE
    assert world.ask(DeleteGroupsRequest([GROUP]), 2).results[0].error_code == 0
    assert producer.commit() is NONE
    assert world.committed() == {}


def test_a_deleted_topic_does_not_stand_in_the_way_of_the_end(world, producer):
    world.topic("gone")
    assert producer.send(b"x", "gone") is NONE
    assert producer.send(b"x") is NONE
    world.cluster.controller.delete_topics([world.cluster.metadata.image.topics["gone"].id])
    assert producer.commit() is NONE
    assert world.state("tx") == "CompleteCommit"
    assert world.read() == [b"x"]


def test_partitions_that_were_not_added_are_refused_in_protocol_1(world):
    producer = Producer(world, "tx", protocol=1).started()
    assert producer.write(b"stray") is ErrorCode.INVALID_TXN_STATE
    assert producer.add("t", 1) is NONE
    assert producer.write(b"stray") is ErrorCode.INVALID_TXN_STATE
    assert world.fetch("t", 0, 0, isolation=0).records in (b"", None)


def test_only_the_broker_that_leads_the_partition_coordinates():
    world = MemoryCluster(brokers=2)
    world.topic(partitions=4)
    producer = Producer(world, "tx").started()
    away = 3 - producer.coordinator
    request = EndTxnRequest("tx", producer.producer_id, producer.epoch, True)
    assert world.ask(request, 5, broker=away).error_code == ErrorCode.NOT_COORDINATOR
    for index in range(4):  # led by both brokers
        assert producer.send(b"x", index=index) is NONE
    assert producer.commit() is NONE
    assert [world.read(index=index) for index in range(4)] == [[b"x"]] * 4


def test_the_coordinator_moves_with_its_partition():
    world = MemoryCluster(brokers=2, transaction_state_log_replication_factor="2")
    world.topic()
    producer = Producer(world, "tx").started()
    assert producer.send(b"x") is NONE
    first = producer.coordinator
    world.cluster.controller.fence_broker(first)
    world.advance(0)
    assert producer.coordinator == 3 - first
    assert producer.commit() is NONE
    world.cluster.controller.start_broker(registration(first))
    world.advance(2_000)  # the marker of a partition that nobody led is tried again
    assert world.read() == [b"x"]


def test_epochs_that_are_used_up_bring_a_new_producer_id(world, producer):
    first = producer.producer_id
    coordinator = world.cluster.brokers[world.coordinator("tx", TRANSACTION_KEY)].transactions
    loaded = coordinator.shards.loaded[coordinator.partition_of("tx")]
    loaded.shard.replay(record(replace(loaded.shard.transactions["tx"], producer_epoch=32765), 2))
    producer._follow(first, 32765)
    seen = []
    for number in range(4):
        assert producer.send(b"%d" % number) is NONE
        assert producer.commit() is NONE
        if producer.protocol == 1:
            assert producer.init() is NONE
        seen.append((producer.producer_id == first, producer.epoch))
    assert seen == [(True, 32766), (False, 0), (False, 1), (False, 2)]
    assert world.read() == [b"0", b"1", b"2", b"3"]


def test_data_of_a_cluster_that_does_not_know_transaction_versions(world):
    """LogDirectories made before transaction.version was finalized: records without tags, and fencing by one epoch more."""
    del world.cluster.metadata.image.features["transaction.version"]
    producer = Producer(world, "tx", protocol=1).started()
    assert producer.send(b"old") is NONE
    assert producer.commit() is NONE
    assert producer.send(b"open") is NONE
    log = world.cluster.partition("__transaction_state", world.broker.transactions.partition_of("tx")).log
    for header, batch in log.batches():
        assert {record.value[:2] for record in decode_records(batch, header=header)} == {b"\0\0"}
    young = Producer(world, "tx", protocol=1)
    assert young.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert young.init() is NONE
    assert young.epoch == producer.epoch + 2
    assert world.read() == [b"old"]
