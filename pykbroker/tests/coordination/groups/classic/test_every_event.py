"""Every event in every state of a classic group: what is answered, and what becomes of the group.

The table is whole: a state or an event without a line fails. A group of two is meant, its leader and a follower; what
concerns a member is asked by the follower. DEAD is a group that was deleted: to its members it never was.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pykbroker.coordination.groups.classic.group import ClassicGroupState
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.coordination.groups.harness import REBALANCE_MS, SESSION_MS, Harness
from pykbroker.tests.kit.cluster import GROUP
from pykbroker.tests.kit.groups import SUBSCRIBED_TO_T
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = ClassicGroupState
WAITS = "waits"
CHANGED = {"range": SUBSCRIBED_TO_T + b"\0"}


class Group:
    """A group of two, brought to a state."""

    def __init__(self, state: ClassicGroupState) -> None:
        self.h = h = Harness()
        self.leader, self.follower = h.stable(2)
        self.generation = h.group.generation
        self.leaders = {"range": SUBSCRIBED_TO_T}
        {
            EMPTY: self._to_empty,
            PREPARING: self._to_preparing,
            COMPLETING: self._to_completing,
            STABLE: lambda: None,
            DEAD: self._to_dead,
        }[state]()
        assert self.state is state

    def _to_empty(self) -> None:
        self.h.leave(self.leader, self.follower)

    def _to_preparing(self) -> None:
        self.h.new_member()

    def _to_completing(self) -> None:
        self.leaders = CHANGED
        joins = [self.h.join(self.leader, protocols=CHANGED), self.h.join(self.follower)]
        assert all(each.value.error_code == 0 for each in joins)
        self.generation = self.h.group.generation

    def _to_dead(self) -> None:
        self._to_empty()
        assert self.h.delete_group() is ErrorCode.NONE

    @property
    def state(self) -> ClassicGroupState:
        return self.h.state if GROUP in self.h.shard.groups else DEAD

    # Events; each returns an ErrorCode, or WAITS

    def new_member_asks_for_an_id(self):
        return answer(self.h.join())

    def new_member_joins(self):
        return answer(self.h.join(version=3))

    def member_joins_again(self):
        return answer(self.h.join(self.follower))

    def member_joins_with_another_subscription(self):
        return answer(self.h.join(self.follower, protocols=CHANGED))

    def leader_joins_again(self):
        return answer(self.h.join(self.leader, protocols=self.leaders))

    def stranger_joins(self):
        return answer(self.h.join("stranger"))

    def member_joins_with_another_protocol(self):
        return answer(self.h.join(self.follower, protocols={"sticky": b""}))

    def leader_syncs(self):
        return answer(self.h.sync(self.leader, {self.follower: b"all"}, generation=self.generation))

    def follower_syncs(self):
        return answer(self.h.sync(self.follower, generation=self.generation))

    def member_syncs_an_old_generation(self):
        return answer(self.h.sync(self.follower, generation=self.generation - 1))

    def stranger_syncs(self):
        return answer(self.h.sync("stranger", generation=self.generation))

    def member_beats(self):
        return self.h.heartbeat(self.follower, generation=self.generation)

    def member_beats_in_an_old_generation(self):
        return self.h.heartbeat(self.follower, generation=self.generation - 1)

    def stranger_beats(self):
        return self.h.heartbeat("stranger", generation=self.generation)

    def member_leaves(self):
        return ErrorCode(self.h.leave(self.follower).members[0].error_code)

    def stranger_leaves(self):
        return ErrorCode(self.h.leave("stranger").members[0].error_code)

    def member_commits(self):
        return self.h.commit({("t", 0): 1}, self.follower, self.generation)

    def member_commits_for_an_old_generation(self):
        return self.h.commit({("t", 0): 1}, self.follower, self.generation - 1)

    def nobody_commits(self):
        return self.h.commit({("t", 0): 1})

    def member_commits_in_a_transaction(self):
        return self._transactional(self.follower, self.generation)

    def member_commits_in_a_transaction_for_an_old_generation(self):
        return self._transactional(self.follower, self.generation - 1)

    def nobody_commits_in_a_transaction(self):
        return self._transactional("", -1)

    def _transactional(self, member_id: str, generation: int):
        topics = [TxnOffsetCommitRequestTopic("t", partitions=[TxnOffsetCommitRequestPartition(0, 1)])]
        request = TxnOffsetCommitRequest("tx", GROUP, 7, 0, generation, member_id, None, topics)
        try:
            answer = self.h.decide(self.h.shard.commit_in_transaction(request)).value
        except KafkaError as error:
            return error.code
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def administrator_deletes_the_group(self):
        return self.h.delete_group()

    def administrator_deletes_an_offset(self):
        return self.h.delete_offset("t", 0)

    def members_fall_silent(self):
        self.h.advance(REBALANCE_MS + SESSION_MS)

    def server_restarts(self):
        self.h.restart()


def answer(reply: Deferred):
    return ErrorCode(reply.value.error_code) if reply.done else WAITS


EVENTS: dict[str, Callable] = {
    name: event for name, event in vars(Group).items() if callable(event) and not name.startswith("_")
}

OK = ErrorCode.NONE
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID
OLD = ErrorCode.ILLEGAL_GENERATION
REBALANCE = ErrorCode.REBALANCE_IN_PROGRESS
ID_REQUIRED = ErrorCode.MEMBER_ID_REQUIRED
INCONSISTENT = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
NOT_FOUND = ErrorCode.GROUP_ID_NOT_FOUND
NON_EMPTY = ErrorCode.NON_EMPTY_GROUP
SUBSCRIBED = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC

#: For each event and state (EMPTY, PREPARING, COMPLETING, STABLE, DEAD) the answer, with the next state where it changes.
TABLE = {
    "new_member_asks_for_an_id": (ID_REQUIRED, ID_REQUIRED, ID_REQUIRED, ID_REQUIRED, (ID_REQUIRED, EMPTY)),
    "new_member_joins": ((WAITS, PREPARING), WAITS, (WAITS, PREPARING), (WAITS, PREPARING), (WAITS, PREPARING)),
    "member_joins_again": (UNKNOWN, WAITS, OK, OK, UNKNOWN),
    "member_joins_with_another_subscription": (UNKNOWN, WAITS, (WAITS, PREPARING), (WAITS, PREPARING), UNKNOWN),
    "leader_joins_again": (UNKNOWN, WAITS, OK, (WAITS, PREPARING), UNKNOWN),
    "stranger_joins": (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    "member_joins_with_another_protocol": (UNKNOWN, INCONSISTENT, INCONSISTENT, INCONSISTENT, UNKNOWN),
    "leader_syncs": (UNKNOWN, REBALANCE, (OK, STABLE), OK, UNKNOWN),
    "follower_syncs": (UNKNOWN, REBALANCE, WAITS, OK, UNKNOWN),
    "member_syncs_an_old_generation": (UNKNOWN, OLD, OLD, OLD, UNKNOWN),
    "stranger_syncs": (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    "member_beats": (UNKNOWN, REBALANCE, OK, OK, UNKNOWN),
    "member_beats_in_an_old_generation": (UNKNOWN, OLD, OLD, OLD, UNKNOWN),
    "stranger_beats": (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    "member_leaves": (UNKNOWN, OK, (OK, PREPARING), (OK, PREPARING), UNKNOWN),
    "stranger_leaves": (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    "member_commits": (UNKNOWN, OK, REBALANCE, OK, NOT_FOUND),
    "member_commits_for_an_old_generation": (UNKNOWN, OLD, OLD, OLD, NOT_FOUND),
    "nobody_commits": (OK, UNKNOWN, UNKNOWN, UNKNOWN, (OK, EMPTY)),
    "member_commits_in_a_transaction": (UNKNOWN, OK, OK, OK, NOT_FOUND),
    "member_commits_in_a_transaction_for_an_old_generation": (UNKNOWN, OLD, OLD, OLD, NOT_FOUND),
    "nobody_commits_in_a_transaction": (OK, OK, OK, OK, (OK, EMPTY)),
    "administrator_deletes_the_group": ((OK, DEAD), NON_EMPTY, NON_EMPTY, NON_EMPTY, NOT_FOUND),
    "administrator_deletes_an_offset": (OK, SUBSCRIBED, SUBSCRIBED, SUBSCRIBED, NOT_FOUND),
    "members_fall_silent": (None, (None, EMPTY), (None, EMPTY), (None, EMPTY), None),
    "server_restarts": (None, (None, STABLE), (None, STABLE), None, None),
}


def test_the_table_is_whole():
    assert TABLE.keys() == EVENTS.keys()
    assert {len(row) for row in TABLE.values()} == {len(ClassicGroupState)}


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_in_every_state(event):
    for state, expected in zip(ClassicGroupState, TABLE[event], strict=True):
        code, following = expected if isinstance(expected, tuple) else (expected, state)
        group = Group(state)
        assert (state, EVENTS[event](group), group.state) == (state, code, following)
