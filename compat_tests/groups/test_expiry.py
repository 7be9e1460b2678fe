"""Offsets that nobody wants any more go, and groups with them. Commits of OffsetCommit 2 to 4 may say when (KIP-211)."""

from __future__ import annotations

from contextlib import closing

from compat_tests.groups.members import GroupMember, generation
from compat_tests.oracle.cases.groups import subscription
from compat_tests.oracle.requests import Ask
from compat_tests.oracle.transacting import GROUP, coordinator_ready, quiet_until
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest

SOON_MS = 200
COMMIT = 4


def commit(ask: Ask, group: str, topics: list[str], *, generation: int = -1, member: str = "", keep_ms: int) -> None:
    wanted = [
        OffsetCommitRequestTopic(topic, partitions=[OffsetCommitRequestPartition(0, 7, committed_metadata="")])
        for topic in topics
    ]
    answer = ask.quietly(OffsetCommitRequest(group, generation, member, None, keep_ms, wanted), COMMIT)
    assert {partition.error_code for topic in answer.topics for partition in topic.partitions} == {0}


def committed(ask: Ask, group: str) -> set[str]:
    return {topic.name for topic in ask.quietly(OffsetFetchRequest(group, None), 5).topics}


def test_offsets_expire_and_empty_groups_with_them(start_target):
    broker = start_target({"offsets.retention.check.interval.ms": str(SOON_MS)})
    with closing(Ask(broker.bootstrap, 0, "expiry")) as ask:
        read, unread = ask.topic("read"), ask.topic("unread")
        for group in ("short", "kept", "consumers"):
            coordinator_ready(ask, group, GROUP)
        with closing(GroupMember(broker.bootstrap, "consumers", "consumer", {"range": subscription(read)})) as member:
            generation([member])
            who = {"generation": member.joined.generation_id, "member": member.member_id}
            commit(ask, "consumers", [read, unread], **who, keep_ms=1)
            commit(ask, "kept", [read], keep_ms=3_600_000)
            commit(ask, "kept", [unread], keep_ms=1)
            commit(ask, "short", [read, unread], keep_ms=1)

            # The group that has no offset left is gone itself.
            quiet_until(ask, lambda found: found.groups[0].group_state == "Dead", DescribeGroupsRequest(["short"]), 5)
            # One that has keeps it, and what members read is not forgotten, whatever the commit said.
            for group in ("kept", "consumers"):
                quiet_until(ask, lambda found: len(found.topics) == 1, OffsetFetchRequest(group, None), 5)
                assert committed(ask, group) == {read}
            assert ask.quietly(DescribeGroupsRequest(["kept"]), 5).groups[0].group_state == "Empty"
