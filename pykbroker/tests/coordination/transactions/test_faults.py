"""Too few replicas in sync, of the transaction log or of what a transaction writes to: clients are told Kafka's codes,
nothing has changed, and everything ends when the replicas are back. (What a disk refuses is in ``test_crash``.)
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.names import CONSUMER_OFFSETS, TRANSACTION_STATE
from pykbroker.tests.kit.cluster import GROUP, TRANSACTION_KEY, MemoryCluster
from pykbroker.tests.kit.transactions import Producer
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.describe_transactions import DescribeTransactionsRequest
from pykbroker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

REFUSED = ErrorCode.COORDINATOR_NOT_AVAILABLE
TIMEOUT_MS = 10_000
#: Which logs need both brokers.
THE_COORDINATORS = {"transaction_state_log_replication_factor": "2", "transaction_state_log_min_isr": "2"}
THE_DATAS = {"min_insync_replicas": "2"}


class FaultyWorld(MemoryCluster):
    """Two brokers, the first of which leads everything."""

    def __init__(self, **settings: str) -> None:
        super().__init__(
            brokers=2,
            transaction_state_log_num_partitions="1",
            transaction_abort_timed_out_transaction_cleanup_interval_ms="1000",
            **settings,
        )
        self.cluster.controller.create_topics([NewTopic("t", -1, -1, [(0, [1, 2])])])
        self.coordinator("tx", TRANSACTION_KEY)

    @contextmanager
    def too_few_replicas(self) -> Iterator[None]:
        """The broker stops that does not coordinate; what it led moves, and comes back with it."""
        with self.without(3 - self.partition(TRANSACTION_STATE).leader):
            yield


@pytest.fixture(params=[1, 2], ids=["version 1", "version 2"])
def protocol(request) -> int:
    return request.param


def test_a_new_incarnation_is_refused_and_changes_nothing(protocol):
    world = FaultyWorld(**THE_COORDINATORS)
    producer = Producer(world, "tx", protocol).started()
    with world.too_few_replicas():
        assert Producer(world, "tx", protocol).init() is REFUSED
    assert producer.send(b"x") is ErrorCode.NONE
    assert producer.commit() is ErrorCode.NONE
    assert world.read() == [b"x"]


def test_a_first_batch_is_refused_and_changes_nothing(protocol):
    world = FaultyWorld(**THE_COORDINATORS)
    producer = Producer(world, "tx", protocol).started()
    with world.too_few_replicas():
        # As producers of version 2 do not know the coordinator's errors, they are told one that they know.
        assert producer.send(b"x") is (REFUSED if protocol == 1 else ErrorCode.NOT_ENOUGH_REPLICAS)
        assert world.state("tx") == "Empty"
    assert producer.send(b"x") is ErrorCode.NONE
    assert producer.commit() is ErrorCode.NONE
    assert world.read() == [b"x"]


@pytest.mark.parametrize("commit", [True, False])
def test_an_end_is_refused_and_changes_nothing(protocol, commit):
    world = FaultyWorld(**THE_COORDINATORS)
    producer = Producer(world, "tx", protocol).started()
    assert producer.send(b"x") is ErrorCode.NONE
    with world.too_few_replicas():
        assert producer.end(commit=commit) is REFUSED
        assert world.state("tx") == "Ongoing"
    assert producer.end(commit=commit) is ErrorCode.NONE
    assert world.read() == [b"x"][: int(commit)]


def test_a_late_transaction_is_aborted_when_that_can_be_written(protocol):
    world = FaultyWorld(**THE_COORDINATORS)
    producer = Producer(world, "tx", protocol, TIMEOUT_MS).started()
    assert producer.send(b"x") is ErrorCode.NONE
    with world.too_few_replicas():
        world.advance(2 * TIMEOUT_MS)
        assert world.state("tx") == "Ongoing"
    world.advance(1000)
    assert world.state("tx") == "CompleteAbort"
    assert world.read() == []


@pytest.mark.parametrize("restarts", [False, True])
def test_markers_are_written_when_they_can_be(protocol, restarts):
    world = FaultyWorld(**THE_DATAS)
    producer = Producer(world, "tx", protocol).started()
    assert producer.send(b"x") is ErrorCode.NONE
    with world.too_few_replicas():
        assert producer.commit() is ErrorCode.NONE
        assert world.state("tx") == "PrepareCommit"
        assert world.read() == []
        if restarts:
            world.restart(kill=True)
    world.advance(20_000)
    assert world.state("tx") == "CompleteCommit"
    assert world.read() == [b"x"]


def test_an_end_that_the_disk_does_not_take_is_not_told(protocol):
    """Where every append is synced before it is acknowledged, the decision counts once that is done."""
    world = MemoryCluster(log_flush_interval_messages="1")
    world.topic()
    producer = Producer(world, "tx", protocol).started()
    assert producer.send(b"x") is ErrorCode.NONE
    world.disk.fail = lambda _, name: OSError(errno.EIO, "no more") if "sync" in name else None
    assert producer.commit() is ErrorCode.NOT_COORDINATOR
    described = world.ask(
        DescribeTransactionsRequest(["tx"]), 0, broker=world.coordinator("tx", TRANSACTION_KEY)
    ).transaction_states[0]
    assert described.error_code == ErrorCode.NOT_COORDINATOR, "nor to whoever asks"
    world.disk.fail = None


def test_a_marker_that_the_disk_does_not_take_leaves_the_end_to_come(protocol):
    """The data lies on another disk than the coordinator's log, and that one fails."""
    world = MemoryCluster(others=[Path("/other")], log_flush_interval_messages="1")
    world.topic(partitions=2)
    producer = Producer(world, "tx", protocol).started()
    home = folder_of(world, TRANSACTION_STATE, world.broker.transactions.partition_of("tx"))
    index = next(index for index in (0, 1) if folder_of(world, "t", index) != home)
    failing = folder_of(world, "t", index)
    assert producer.send(b"x", index=index) is ErrorCode.NONE
    world.disk.fail = lambda _, name: OSError(errno.EIO, "no more") if name.startswith(f"sync {failing}/t-") else None
    assert producer.commit() is ErrorCode.NONE
    world.settle()
    assert world.state("tx") == "PrepareCommit"


def test_a_completion_that_the_disk_does_not_take_is_tried_again(protocol):
    world = MemoryCluster()
    world.topic()
    producer = Producer(world, "tx", protocol).started()
    assert producer.send(b"x") is ErrorCode.NONE
    writes: list[str] = []

    def fail(_: int, name: str) -> OSError | None:
        if not (name.startswith("write") and TRANSACTION_STATE in name and name.endswith(".log")):
            return None
        writes.append(name)
        return OSError(errno.ENOSPC, "full") if len(writes) == 2 else None  # the first one is the decision

    world.disk.fail = fail
    assert producer.commit() is ErrorCode.NONE
    assert world.state("tx") == "PrepareCommit"
    world.disk.fail = None
    world.advance(1000)
    assert world.state("tx") == "CompleteCommit"
    assert world.read() == [b"x"]


def folder_of(world: MemoryCluster, topic: str, index: int) -> str:
    """The log directory of a partition."""
    return world.cluster.partition(topic, index).log.path.rsplit("/", 1)[0]


def test_offsets_for_a_group_that_moves_meanwhile_are_refused():
    """They wait until the transaction knows the group; then the group has another coordinator."""
    world = MemoryCluster(brokers=2, log_flush_interval_messages="1", offsets_topic_replication_factor="2")
    world.cluster.controller.create_topics([NewTopic("t", -1, -1, [(0, [1, 2])])])
    leader = world.coordinator(GROUP)
    name = next(name for name in map(str, range(100)) if world.coordinator(name, TRANSACTION_KEY) != leader)
    producer = Producer(world, name).started()
    topics = [TxnOffsetCommitRequestTopic("t", partitions=[TxnOffsetCommitRequestPartition(0, 7)])]
    request = TxnOffsetCommitRequest(name, GROUP, producer.producer_id, producer.epoch, topics=topics)
    answer = world.post(request, 5, broker=leader)
    assert not answer.done
    world.lifecycle.begin_stop(leader)
    world.lifecycle.stop(leader)
    world.settle()
    assert answer.value.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR
    index = world.broker.groups.partition_of(GROUP)
    assert world.cluster.partition(CONSUMER_OFFSETS, index).log_end_offset == 0
