"""What ``java-consumer`` doubles, if it does, is this: a Java consumer may work on a partition that it no longer has, and Apache Kafka commits
that as we do.

A consumer is told its partitions, and asks where to go on in each. Meanwhile its next heartbeat is lost. The one after that says that it
owns nothing yet, so the coordinator gives a partition to another member, and tells the first one so with the next epoch. With that epoch
it takes the partitions that it was told before, and commits for all of them, until it has read the newer answer.

A consumer without a listener for rebalances doubles more: fenced, it joins anew at any time, also while its program works on what it has polled, and
the program commits that with the next epoch. With a listener, as ``ExactlyOnce.java`` has, it joins anew in ``poll``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.cases.consumer_groups import beats, group, joins
from compat_tests.oracle.requests import Ask
from compat_tests.oracle.transacting import GROUP, coordinator_ready
from pykbroker.testing import Kafka
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)


def committed(ask: Ask, group_id: str, member_id: str, epoch: int, topic: str, partition: int) -> int:
    """The error of a commit of an offset."""
    positions = [OffsetCommitRequestPartition(partition, 7)]
    request = OffsetCommitRequest(
        group_id, epoch, member_id, topics=[OffsetCommitRequestTopic(topic, partitions=positions)]
    )
    code: int = ask.quietly(request, 9).topics[0].partitions[0].error_code
    return code


def committed_by_both(bootstrap: str, prefix: str) -> list[Any]:
    """What the two members are assigned, and the errors of their commits for the partition that was given away."""
    ask = Ask(bootstrap, 1, prefix)
    try:
        topic, name = ask.topic(partitions=2), group(ask)
        coordinator_ready(ask, name, GROUP)
        first = ask.quietly(joins(name, "one", topic), 1)
        second = ask.quietly(joins(name, "two", topic), 1)
        lost = ask.quietly(beats(name, "one", first.member_epoch, topic_partitions=[]), 1)
        given = ask.quietly(beats(name, "two", second.member_epoch), 1)
        seen: list[Any] = [
            [partition for each in answer.assignment.topic_partitions for partition in each.partitions]
            for answer in (first, lost, given)
        ]
        for member, epoch in (("one", lost.member_epoch), ("two", given.member_epoch)):
            seen.append(committed(ask, name, member, epoch, topic, given.assignment.topic_partitions[0].partitions[0]))
        return seen
    finally:
        ask.close()


def test_two_members_may_commit_for_one_partition(kafka: BrokerProcess, name: Callable[..., str]) -> None:
    prefix = name("both")
    with Kafka() as ours:
        here, there = committed_by_both(ours.bootstrap_servers, prefix), committed_by_both(kafka.bootstrap, prefix)
    kept, other = there[1], there[2]
    assert (there[0], sorted(kept + other), there[3:]) == ([0, 1], [0, 1], [0, 0])
    assert here == there


def committed_after_rejoining(bootstrap: str, prefix: str) -> list[Any]:
    """What the other member has when the first one is gone, and the errors of commits for that by the first, with its epoch of before and the
    one that it gets by joining anew.
    """
    ask = Ask(bootstrap, 1, prefix)
    try:
        topic, name = ask.topic(partitions=1), group(ask)
        coordinator_ready(ask, name, GROUP)
        first = ask.quietly(joins(name, "one", topic), 1)
        second = ask.quietly(joins(name, "two", topic), 1)
        ask.quietly(beats(name, "one", -1), 1)
        given = ask.quietly(beats(name, "two", second.member_epoch), 1)
        seen: list[Any] = [[each.partitions for each in given.assignment.topic_partitions]]
        for epoch in (first.member_epoch, None):
            if epoch is None:
                epoch = ask.quietly(joins(name, "one", topic), 1).member_epoch
            seen.append(committed(ask, name, "one", epoch, topic, 0))
        return seen
    finally:
        ask.close()


def test_who_joins_anew_may_commit_for_what_another_member_has(kafka: BrokerProcess, name: Callable[..., str]) -> None:
    prefix = name("anew")
    with Kafka() as ours:
        here = committed_after_rejoining(ours.bootstrap_servers, prefix)
        there = committed_after_rejoining(kafka.bootstrap, prefix)
    assert here == there == [[[0]], ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]
