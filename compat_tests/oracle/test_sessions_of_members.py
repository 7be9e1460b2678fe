"""Which requests renew the session of a classic member: one request, over and over, for twice as long as the session lasts.

Each scene is a group of its own, in one state, with a member that then sends one kind of request and nothing else; all scenes
go on side by side. A member whose requests do not renew its session is soon unknown. The sessions of the others in its group
are long.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Any

import pytest

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.cases import consumer_groups
from compat_tests.oracle.cases.consumer_group_migration import subscribed
from compat_tests.oracle.cases.groups import BEAT, JOIN, SYNC, enter, join, sync
from compat_tests.oracle.requests import UNKNOWN_MEMBER_ID, Ask
from compat_tests.oracle.transacting import GROUP, Transacting, coordinator_ready, quiet_until
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.join_group import JoinGroupRequestProtocol
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

SESSION_MS = 3000
ROUNDS_IN_A_SESSION = 10
SETTINGS = {"group.min.session.timeout.ms": str(SESSION_MS), "offsets.topic.num.partitions": "5"}
REBALANCE_IN_PROGRESS = 27
_PATIENT = {"rebalance_timeout_ms": 60_000}
_SHORT = {"session_timeout_ms": SESSION_MS, **_PATIENT}


class Member:
    """A classic member with a short session, in a group of its own."""

    def __init__(self, ask: Ask, *, transacts: bool = False) -> None:
        self.ask = ask
        self.topic = ask.topic(partitions=2)
        self.group = consumer_groups.group(ask)
        self.protocols = [JoinGroupRequestProtocol("range", subscribed(self.topic))]
        self.id = self.leader = ""
        self.generation = -1
        coordinator_ready(ask, self.group, GROUP)
        self._txn: Transacting | None = None
        if transacts:
            self._txn = Transacting(ask)
            self._txn.quietly(self._txn.adding_offsets(self.group), 3)

    def beat(self) -> int:
        return self._error(HeartbeatRequest(self.group, self.generation, self.id), BEAT)

    def join(self) -> int:
        return self._error(join(self.group, self.id, protocols=self.protocols, **_SHORT), JOIN)

    def sync(self) -> int:
        return self._error(sync(self.group, self.generation, self.id), SYNC)

    def commit(self) -> int:
        wanted = OffsetCommitRequestTopic(self.topic, partitions=[OffsetCommitRequestPartition(0, 5)])
        answer = self.ask.quietly(OffsetCommitRequest(self.group, self.generation, self.id, topics=[wanted]), 8)
        code: int = answer.topics[0].partitions[0].error_code
        return code

    def commit_in_transaction(self) -> int:
        assert self._txn is not None
        who = {"generation_id_or_member_epoch": self.generation, "member_id": self.id}
        answer = self.ask.quietly(self._txn.committing_offsets(self.group, (self.topic, 0, 5), **who), 3)
        code: int = answer.topics[0].partitions[0].error_code
        return code

    def read(self) -> int:
        """Who asks for committed offsets does not matter in a classic group."""
        group = OffsetFetchRequestGroup(self.group, self.id, self.generation, None)
        self.ask.quietly(OffsetFetchRequest(groups=[group]), 9)
        return 0

    def _error(self, request: Any, version: int) -> int:
        code: int = self.ask.quietly(request, version).error_code
        return code


# ---- the states of a group


def completing(member: Member) -> None:
    """The leader has not sent the assignment yet. Generation 2 begins as the member is the second to join."""
    ask, group = member.ask, member.group
    options = {"protocols": member.protocols, **_PATIENT}
    leader = enter(ask, group, **options)
    ask.quietly(sync(group, 1, leader, {leader: b"all"}), SYNC)
    member.leader = leader
    member.id = ask.quietly(join(group, protocols=member.protocols, **_SHORT), JOIN).member_id
    waiting = ask.send(join(group, member.id, protocols=member.protocols, **_SHORT), JOIN)
    _rebalancing(ask, group, 1, leader)
    ask.quietly(join(group, leader, **options), JOIN)
    assert ask.answered(waiting).error_code == 0
    member.generation = 2


def stable(member: Member) -> None:
    completing(member)
    given = {member.leader: b"for the leader", member.id: b"for the follower"}
    member.ask.quietly(sync(member.group, 2, member.leader, given), SYNC)
    assert member.sync() == 0


def preparing(member: Member) -> None:
    """Another one joins and waits for the leader."""
    stable(member)
    ask, group = member.ask, member.group
    options = {"protocols": member.protocols, **_PATIENT}
    other = ask.quietly(join(group, **options), JOIN).member_id
    ask.send(join(group, other, **options), JOIN)
    _rebalancing(ask, group, 2, member.leader)


def _rebalancing(ask: Ask, group: str, generation: int, leader: str) -> None:
    request = HeartbeatRequest(group, generation, leader)
    quiet_until(ask, lambda found: found.error_code == REBALANCE_IN_PROGRESS, request, BEAT)


def consumer(member: Member) -> None:
    """A group of the consumer protocol, in which this member is the only classic one and has what it is to have."""
    ask, group = member.ask, member.group
    assert ask.quietly(consumer_groups.joins(group, "other", member.topic), 1).error_code == 0
    member.id = enter(ask, group, protocols=member.protocols, **_SHORT)
    other = consumer_groups.owns(ask, {member.topic: [0]})
    ask.quietly(consumer_groups.beats(group, "other", 1, topic_partitions=other), 1)
    member.generation = ask.quietly(join(group, member.id, protocols=member.protocols, **_SHORT), JOIN).generation_id
    assert member.sync() == 0


State = Callable[[Member], None]
Act = Callable[[Member], int]
STATES: tuple[State, ...] = (completing, stable, preparing, consumer)
ACTS: tuple[Act, ...] = (
    Member.beat,
    Member.join,
    Member.sync,
    Member.commit,
    Member.commit_in_transaction,
    Member.read,
)
#: These name no generation that would be checked.
OF_NO_GENERATION = (Member.join, Member.read)
#: These wait for others.
WAITING = {(preparing, Member.join), (completing, Member.sync)}
SCENES = [
    (state, act, old)
    for state in STATES
    for act in ACTS
    for old in (False, True)
    if (state, act) not in WAITING and not (old and act in OF_NO_GENERATION)
]


#: The scenes in which the session is renewed.
RENEWING = {
    "completing: beat",
    "stable: beat",
    "stable: commit",
    "preparing: beat",
    "preparing: commit",
    "consumer: beat",
    "consumer: join",
    "consumer: sync",
}


def _name(state: State, act: Act, old: bool) -> str:
    return f"{state.__name__}: {act.__name__}{' of an old generation' if old else ''}"


def _watched(bootstrap: str, state: State, act: Act, old: bool) -> list[int]:
    """The errors that the member was answered, repeats left out, and at last the answer to a heartbeat."""
    with closing(Ask(bootstrap, 9, f"{state.__name__}-{act.__name__}-{old}", patience_s=60)) as ask:
        member = Member(ask, transacts=act is Member.commit_in_transaction)
        state(member)
        seen: list[int] = []
        for _ in range(2 * ROUNDS_IN_A_SESSION):
            member.generation -= old
            seen.append(act(member))
            member.generation += old
            time.sleep(SESSION_MS / 1000 / ROUNDS_IN_A_SESSION)
        seen.append(member.beat())
        return [code for before, code in zip([None, *seen[:-1]], seen, strict=True) if code != before]


def _watch(broker: BrokerProcess) -> dict[str, list[int]]:
    with closing(Ask(broker.bootstrap, 9, "waiting")) as ask:
        ask.wait_for_coordinators()
    with ThreadPoolExecutor(len(SCENES)) as pool:
        going = {_name(*scene): pool.submit(_watched, broker.bootstrap, *scene) for scene in SCENES}
        return {what: answers.result() for what, answers in going.items()}


def test_the_same_requests_renew_a_session(tmp_path_factory: pytest.TempPathFactory) -> None:
    brokers = (
        ApacheKafka(tmp_path_factory.mktemp("kafka-sessions"), SETTINGS),
        Pykbroker(tmp_path_factory.mktemp("pykbroker-sessions"), SETTINGS),
    )
    with ExitStack() as running:
        for broker in brokers:
            running.callback(broker.stop)
            broker.start()
        theirs, ours = map(_watch, brokers)
    assert ours == theirs
    assert {what for what, seen in ours.items() if UNKNOWN_MEMBER_ID not in seen} == RENEWING
