"""ShareAcknowledge: what becomes of records, batch by batch, and of the share session."""

from __future__ import annotations

from collections import Counter

import pytest

from pykbroker.handlers.sharing.acknowledging import checked
from pykbroker.share_partitions.states import Acknowledge
from pykbroker.tests.kit.share_groups import SHARE_GROUP, ShareCluster, ShareMember
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)

ACCEPT, RELEASE, REJECT, RENEW, GAP = (
    Acknowledge.ACCEPT, Acknowledge.RELEASE, Acknowledge.REJECT, Acknowledge.RENEW, Acknowledge.GAP,
)  # fmt: skip


def started(**settings: str) -> tuple[ShareCluster, ShareMember]:
    world = ShareCluster(**settings)
    world.joined()
    world.produce(10)
    member = ShareMember(world)
    assert member.acquired() == [(0, 9, 1)]
    return world, member


def test_each_offset_may_have_a_type_of_its_own() -> None:
    world, member = started()
    assert member.acknowledge(0, 5, ACCEPT, RELEASE, REJECT, GAP, ACCEPT, RELEASE) == ErrorCode.NONE
    other = ShareMember(world, "other")
    assert other.acquired() == [(1, 1, 2), (5, 5, 2)]
    assert member.acknowledge(6, 9, RELEASE) == ErrorCode.NONE
    assert other.acquired() == [(6, 9, 2)]


@pytest.mark.parametrize(
    ("batches", "code"),
    [
        ([(3, 2, [1])], ErrorCode.INVALID_REQUEST),
        ([(0, 3, [1]), (3, 4, [1])], ErrorCode.INVALID_REQUEST),
        ([(0, 3, [1, 1])], ErrorCode.INVALID_REQUEST),
        ([(0, 3, [])], ErrorCode.INVALID_REQUEST),
        ([(0, 3, [5])], ErrorCode.INVALID_REQUEST),
        ([(0, 3, [-1])], ErrorCode.INVALID_REQUEST),
        ([(8, 12, [1])], ErrorCode.INVALID_REQUEST),
        ([(0, 1, [1]), (2, 3, [2]), (9, 9, [0])], ErrorCode.NONE),
    ],
)
def test_batches_are_in_order_and_complete(batches: list[tuple[int, int, list[int]]], code: ErrorCode) -> None:
    world, member = started()
    said = [AcknowledgementBatch(*each) for each in batches]
    request = ShareAcknowledgeRequest(
        group_id=SHARE_GROUP,
        member_id=member.name,
        share_session_epoch=member.epoch,
        topics=[AcknowledgeTopic(world.topic_id, [AcknowledgePartition(0, said)])],
    )
    waiting = world.post(request, 2, peer=member.peer)
    world.settle()
    (data,) = waiting.value.responses[0].partitions
    assert data.error_code == code
    member.epoch += 1
    if code:  # nothing has changed
        assert member.acknowledge(0, 9, ACCEPT) == ErrorCode.NONE


def test_the_epoch_is_that_of_the_session() -> None:
    _, member = started()
    assert member.acknowledge(0, 0, ACCEPT, epoch=0) == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert member.acknowledge(0, 0, ACCEPT, epoch=7) == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert ShareMember(member.world, "stranger").acknowledge(0, 0, ACCEPT, epoch=1) == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert member.acknowledge(0, 0, ACCEPT, epoch=1) == ErrorCode.NONE


def test_the_last_one_releases_what_is_left() -> None:
    world, member = started()
    other = ShareMember(world, "other")
    assert other.acquired() == []
    assert member.acknowledge(0, 4, ACCEPT, epoch=-1) == ErrorCode.NONE
    world.settle()
    assert other.acquired() == [(5, 9, 2)]
    assert member.acknowledge(5, 9, ACCEPT, epoch=2) == ErrorCode.SHARE_SESSION_NOT_FOUND


def test_locks_are_renewed_where_the_group_lets_them() -> None:
    world, member = started()
    world.advance(20_000)
    assert member.acknowledge(0, 4, RENEW) == ErrorCode.NONE
    world.advance(11_000)
    world.settle()
    assert member.acknowledge(0, 4, ACCEPT) == ErrorCode.NONE
    assert member.acknowledge(5, 9, ACCEPT) == ErrorCode.INVALID_RECORD_STATE
    world.configure("share.renew.acknowledge.enable", "false")
    assert ShareMember(world, "other").acquired() == [(5, 9, 2)]
    assert member.acknowledge(5, 9, RENEW) == ErrorCode.INVALID_REQUEST


def test_a_topic_that_is_unknown() -> None:
    world, member = started()
    world.topic_id = bytes(16)
    assert member.acknowledge(0, 1, ACCEPT) == ErrorCode.UNKNOWN_TOPIC_ID


def test_what_a_batch_weighs_grows_with_its_types() -> None:
    """A frame has a million of them in a hundred batches."""
    few, many = (
        sum(checked([AcknowledgementBatch(0, count - 1, [1] * count)], 0, Counter(), may_renew=False))
        for count in (1, 10_000)
    )
    assert few < 1
    assert many >= 50


def test_a_partition_that_no_member_reads_is_not_opened() -> None:
    """It would stay open if the member were gone, and what it knows would grow old."""
    world = ShareCluster(partitions=2)
    world.joined()
    world.produce(3, index=1)
    member = ShareMember(world, partitions=1)
    assert member.acquired() == []
    assert member.acknowledge(0, 2, ACCEPT, index=1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [led.key.partition for led in world.broker.share_partitions.led_of(SHARE_GROUP)] == [0]
