"""A group whose offsets are committed plainly, in transactions, and deleted, at random the same way in both brokers.

The group has only offsets, or members that have left, or one that is there; DeleteGroups, OffsetDelete and the deletion of a
topic meet transactions that are open and later commit or abort. After each step: what OffsetFetch, ListGroups and DescribeGroups say.
"""

from __future__ import annotations

import random
from contextlib import closing
from typing import Any

import pytest

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.oracle.cases.groups import JOIN, LEAVE, SYNC, join, subscription, sync
from compat_tests.oracle.cases.transactional_data import stored
from compat_tests.oracle.compare import divergences
from compat_tests.oracle.requests import Ask
from compat_tests.oracle.transacting import GROUP, Transacting, coordinator_ready, quiet_until
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.join_group import JoinGroupRequestProtocol
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pykbroker.wire.messages.list_groups import ListGroupsRequest
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

STEPS = 50
PARTITIONS = 2
UNKNOWN_TOPIC = 3


class Story:
    def __init__(self, ask: Ask, version: int, seed: int) -> None:
        self.ask, self.version = ask, version
        self.random = random.Random(seed)
        self.topic, self.other = ask.topic("read", PARTITIONS), ask.topic("unread", PARTITIONS)
        self.group = ask.name("group")
        coordinator_ready(ask, self.group, GROUP)
        self.transactions = [Transacting(ask, "one"), Transacting(ask, "two")]
        self.open: set[str] = set()
        self.member: str | None = None
        self.offset = 0

    def run(self) -> None:
        steps = (
            self.commit,
            *[self.commit_in_transaction] * 3,
            *[self.end] * 2,
            self.delete_group,
            self.delete_offsets,
            self.enter_or_leave,
            self.create_again,
        )
        for _ in range(STEPS):
            step = self.random.choice(steps)
            self.ask.keep(step.__name__)
            step()
            self.look()

    def look(self) -> None:
        stored(self.ask, self.group, self.topic)
        listed = self.ask.quietly(ListGroupsRequest(), 5)
        listed.groups = [found for found in listed.groups if found.group_id == self.group]
        self.ask.keep(listed)
        self.ask(DescribeGroupsRequest([self.group]), 6)

    def drawn(self) -> tuple[str, int]:
        return self.random.choice((self.topic, self.topic, self.other)), self.random.randrange(PARTITIONS)

    def commit(self) -> None:
        self.offset += 1
        topic, index = self.drawn()
        wanted = OffsetCommitRequestTopic(topic, partitions=[OffsetCommitRequestPartition(index, self.offset)])
        self.ask(OffsetCommitRequest(self.group, *self.who(), topics=[wanted]), 8)

    def who(self) -> tuple[int, str]:
        return (-1, "") if self.member is None or self.random.random() < 0.3 else (self.generation, self.member)

    def commit_in_transaction(self) -> None:
        self.offset += 1
        txn = self.random.choice(self.transactions)
        if self.version < 5:
            txn.quietly(txn.adding_offsets(self.group), 3)
        where = {self.drawn() for _ in range(self.random.randint(1, 2))}
        offsets = [(topic, index, self.offset) for topic, index in sorted(where)]
        generation, member = self.who()
        request = txn.committing_offsets(
            self.group, *offsets, generation_id_or_member_epoch=generation, member_id=member
        )
        self.ask(request, self.version)
        self.open.add(txn.id)

    def end(self) -> None:
        txn, commit = self.random.choice(self.transactions), self.random.random() < 0.6
        if txn.id in self.open:
            self.open.discard(txn.id)
            txn.end(commit=commit, version=self.version)

    def delete_group(self) -> None:
        self.ask(DeleteGroupsRequest([self.group]), 2)

    def delete_offsets(self) -> None:
        topic, index = self.drawn()
        where = OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(index)])
        self.ask(OffsetDeleteRequest(self.group, [where]), 0)

    def create_again(self) -> None:
        """Delete a topic and create it under the same name, once the group has forgotten what it had committed there."""
        who = (-1, "") if self.member is None else (self.generation, self.member)
        wanted = OffsetCommitRequestTopic(self.other, partitions=[OffsetCommitRequestPartition(0, 1000)])
        self.ask(OffsetCommitRequest(self.group, *who, topics=[wanted]), 8)
        self.ask.quietly(DeleteTopicsRequest(topic_names=[self.other], timeout_ms=10_000), 5)
        gone = MetadataRequest([MetadataRequestTopic(name=self.other)], False)
        quiet_until(self.ask, lambda found: found.topics[0].error_code == UNKNOWN_TOPIC, gone, 12)
        read = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(self.group, topics=None)])
        quiet_until(self.ask, lambda found: self.other not in {each.name for each in found.groups[0].topics}, read, 9)
        self.ask.topic("unread", PARTITIONS)

    def enter_or_leave(self) -> None:
        if self.member is not None:
            self.ask(LeaveGroupRequest(self.group, members=[MemberIdentity(self.member)]), LEAVE)
            self.member = None
            return
        protocols = [JoinGroupRequestProtocol("range", subscription(self.topic))]
        given: Any = self.ask.quietly(join(self.group, protocols=protocols), JOIN)
        joined = self.ask.quietly(join(self.group, given.member_id, protocols=protocols), JOIN)
        self.member, self.generation = joined.member_id, joined.generation_id
        self.ask.keep(self.generation)
        self.ask(sync(self.group, self.generation, self.member, {self.member: b"all"}), SYNC)


@pytest.mark.parametrize("version", [3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_committed(kafka: ApacheKafka, pykbroker: Pykbroker, version: int, seed: int) -> None:
    seen = []
    for broker in (kafka, pykbroker):
        with closing(Ask(broker.bootstrap, version, f"pending-{version}-{seed}")) as ask:
            Story(ask, version, seed).run()
            seen.append(ask.answers)
    theirs, ours = seen
    steps = [answer for answer in ours if isinstance(answer, str)]
    found = [str(each) for each in divergences(theirs, ours)]
    if found:
        pytest.fail("\n".join([f"{len(found)} differences:", *found[:20], str(steps)]), pytrace=False)
