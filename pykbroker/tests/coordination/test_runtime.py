"""Nobody is told what a loss of power would undo: answers of coordinators, to readers too, leave when the state that they
were computed from is committed.
"""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.coordination.markers import write_marker
from pykbroker.metadata.names import CONSUMER_OFFSETS
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.cluster import GROUP, MemoryCluster
from pykbroker.tests.kit.transactions import Producer
from pykbroker.wire.control_records import EndTxnMarker
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.describe_transactions import DescribeTransactionsRequest
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.init_producer_id import InitProducerIdRequest
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pykbroker.wire.messages.list_groups import ListGroupsRequest
from pykbroker.wire.messages.list_transactions import ListTransactionsRequest
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from pykbroker.wire.messages.sync_group import SyncGroupRequest
from pykbroker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)


class SlowDisk(MemoryCluster):
    """Everything is synced before it is acknowledged, and syncs end when the test says so."""

    def __init__(self) -> None:
        super().__init__(log_flush_interval_messages="1", transaction_state_log_num_partitions="1")
        self.topic(partitions=1)
        self.producer = Producer(self, "tx").started()
        assert self.coordinator(GROUP) == 1
        self.threads = self.hold_threads()

    def sync(self) -> None:
        self.settle()
        while self.threads:
            self.threads.run_one()
            self.settle()

    def commit_offset(self, group: str = GROUP) -> Deferred:
        topic = OffsetCommitRequestTopic("t", partitions=[OffsetCommitRequestPartition(0, committed_offset=7)])
        return self.post(OffsetCommitRequest(group, generation_id_or_member_epoch=-1, topics=[topic]), 8)

    def new_incarnation(self) -> Deferred:
        return self.post(InitProducerIdRequest("tx", 60_000, -1, -1), 4)


def offset(answer: Any) -> int:
    assert answer.groups[0].error_code == ErrorCode.NONE
    return answer.groups[0].topics[0].partitions[0].committed_offset


#: What is asked: the change that is not committed yet, the question, its version, and what of the answer is looked at.
QUESTIONS = {
    "offsets": (
        SlowDisk.commit_offset,
        OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=None)]),
        9,
        offset,
        7,
    ),
    "a description of a group": (
        SlowDisk.commit_offset,
        DescribeGroupsRequest([GROUP]),
        5,
        lambda answer: answer.groups[0].group_state,
        "Empty",
    ),
    "a list of groups": (
        SlowDisk.commit_offset,
        ListGroupsRequest(),
        4,
        lambda answer: [group.group_id for group in answer.groups],
        [GROUP],
    ),
    "a description of a transaction": (
        SlowDisk.new_incarnation,
        DescribeTransactionsRequest(["tx"]),
        0,
        lambda answer: answer.transaction_states[0].producer_epoch,
        1,
    ),
    "a list of transactions": (
        SlowDisk.new_incarnation,
        ListTransactionsRequest(),
        0,
        lambda answer: [each.transactional_id for each in answer.transaction_states],
        ["tx"],
    ),
}


@pytest.mark.parametrize(("change", "question", "version", "seen", "expected"), QUESTIONS.values(), ids=QUESTIONS)
def test_an_answer_waits_for_the_state_it_shows(change, question, version, seen, expected):
    world = SlowDisk()
    changed = change(world)
    asked = world.post(question, version)
    world.settle()
    assert world.threads, "the change is being synced"
    assert not changed.done
    assert not asked.done
    world.sync()
    assert changed.done
    assert seen(asked.value) == expected


def test_a_refusal_waits_for_the_state_that_it_comes_of():
    world = SlowDisk()
    committed = world.commit_offset()
    world.sync()
    assert committed.done
    deleted = world.post(DeleteGroupsRequest([GROUP]), 2)
    asked = world.post(DescribeGroupsRequest([GROUP]), 6)
    world.settle()
    assert not deleted.done
    assert not asked.done
    world.sync()
    assert deleted.value.results[0].error_code == ErrorCode.NONE
    assert asked.value.groups[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_an_answer_about_one_group_does_not_wait_for_another():
    """As with copies, where one slow follower would hold up every group of a partition."""
    world = SlowDisk()
    first = world.commit_offset()
    world.sync()
    assert first.done
    other = next(
        group
        for group in map(str, range(100))
        if world.broker.groups.partition_of(group) == world.broker.groups.partition_of(GROUP)
    )
    changed = world.commit_offset(other)
    world.settle()
    asked = world.post(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=None)]), 9)
    listed = world.post(ListGroupsRequest(), 4)
    world.settle()
    assert not changed.done
    assert offset(asked.value) == 7
    assert not listed.done, "a list tells of all groups"
    world.sync()
    assert changed.done
    assert {group.group_id for group in listed.value.groups} == {GROUP, other}


def test_an_answer_about_one_transactional_id_does_not_wait_for_another():
    world = SlowDisk()
    begun = world.post(InitProducerIdRequest("other", 60_000, -1, -1), 4)
    world.sync()
    assert begun.value.error_code == ErrorCode.NONE
    changed = world.new_incarnation()
    asked, unknown = (world.post(DescribeTransactionsRequest([name]), 0) for name in ("other", "nobody's"))
    listed = world.post(ListTransactionsRequest(), 0)
    world.settle()
    assert world.threads, "the new incarnation is being synced, in the one partition that both ids have"
    assert not changed.done
    assert asked.value.transaction_states[0].producer_id == begun.value.producer_id
    assert unknown.value.transaction_states[0].error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert not listed.done, "a list tells of all transactional ids"
    world.sync()
    assert changed.value.producer_epoch == 1
    assert {each.transactional_id for each in listed.value.transaction_states} == {"tx", "other"}


def test_an_answer_waits_for_the_marker_that_settles_its_offsets():
    world = SlowDisk()
    begun = world.post(AddOffsetsToTxnRequest("tx", world.producer.producer_id, world.producer.epoch, GROUP), 3)
    world.sync()
    assert begun.done
    topic = TxnOffsetCommitRequestTopic("t", partitions=[TxnOffsetCommitRequestPartition(0, committed_offset=9)])
    committed = world.post(
        TxnOffsetCommitRequest("tx", GROUP, world.producer.producer_id, world.producer.epoch, topics=[topic]), 3
    )
    world.sync()
    assert committed.done
    partition = world.partition(CONSUMER_OFFSETS, world.broker.groups.partition_of(GROUP))
    write_marker(
        world.broker,
        partition,
        EndTxnMarker(commit=True, coordinator_epoch=0),
        producer_id=world.producer.producer_id,
        producer_epoch=world.producer.epoch,
        transaction_version=0,
    )
    asked = world.post(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=None)]), 9)
    other = world.post(OffsetFetchRequest(groups=[OffsetFetchRequestGroup("another", topics=None)]), 9)
    world.settle()
    assert not asked.done
    assert other.done
    world.sync()
    assert offset(asked.value) == 9


@pytest.mark.parametrize("is_member", [True, False])
def test_a_heartbeat_waits_for_the_state_that_it_tells_of(is_member):
    world = SlowDisk()
    joining = JoinGroupRequest(
        GROUP, 60_000, 60_000, "", protocol_type="consumer", protocols=[JoinGroupRequestProtocol("range")]
    )
    joined = world.post(joining, 3)
    while not joined.done:
        world.sync()
        world.advance(1000)
    member_id, generation = joined.value.member_id, joined.value.generation_id
    assigned = world.post(SyncGroupRequest(GROUP, generation, member_id), 3)
    beat = world.post(HeartbeatRequest(GROUP, generation, member_id if is_member else "nobody"), 4)
    world.settle()
    assert world.threads, "the assignment is being synced"
    assert not beat.done
    world.sync()
    assert assigned.value.error_code == ErrorCode.NONE
    assert beat.value.error_code == (ErrorCode.NONE if is_member else ErrorCode.UNKNOWN_MEMBER_ID)


def test_what_may_be_lost_is_not_told():
    world = SlowDisk()
    committed = world.commit_offset()
    fetched = world.post(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=None)]), 9)
    world.settle()
    world.threads.fail_one(RuntimeError("can't start new thread"))
    world.settle()
    assert committed.value.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR
    assert fetched.value.groups[0].error_code == ErrorCode.NOT_COORDINATOR


def test_an_answer_waits_for_nothing_where_all_is_committed():
    world = SlowDisk()
    world.commit_offset()
    world.sync()
    assert offset(world.post(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=None)]), 9).value) == 7
