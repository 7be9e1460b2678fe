"""Every event in every state of a member of the consumer protocol: what it is answered, and where it then is.

The member "m", static under the name "i", shares a topic of four partitions with "other". The table is whole: a state or
an event without a line fails.
"""

from __future__ import annotations

from enum import Enum, auto

import pytest

from pykbroker.coordination.groups.consumer.member import MemberState
from pykbroker.coordination.groups.member_group import LEAVING_FOR_NOW
from pykbroker.tests.coordination.groups.consumer.every_event import (
    FENCED,
    FENCED_INSTANCE,
    INVALID,
    OK,
    RAISES,
    STALE,
    TAKEN_INSTANCE,
    Scene,
    Table,
    check_row,
    check_whole,
)
from pykbroker.tests.coordination.groups.consumer.harness import REBALANCE_MS, SESSION_MS, ConsumerHarness, Partitions
from pykbroker.wire.errors import ErrorCode

ALL = {("t", index) for index in range(4)}
HALF = {("t", 0), ("t", 1)}
OTHER_HALF = ALL - HALF


class Standing(Enum):
    """A member as ConsumerGroupDescribe shows it."""

    #: It has its target.
    STABLE = auto()
    #: It has something that it must give back first.
    UNREVOKED = auto()
    #: It is at the target's epoch, and waits for partitions that another has still.
    UNRELEASED = auto()
    #: It is static, and has left to come back.
    AWAY = auto()
    #: There is a newer target, and it has not heard of it.
    BEHIND = auto()
    GONE = auto()


STABLE, UNREVOKED, UNRELEASED, AWAY, BEHIND, GONE = Standing
STATES = (STABLE, UNREVOKED, UNRELEASED, AWAY)


def standing(h: ConsumerHarness, member_id: str) -> Standing:
    """Where a member stands."""
    group = h.described()
    member = next((each for each in group.members or [] if each.member_id == member_id), None)
    if member is None:
        return GONE
    has, target = (
        {(topic.topic_id, index) for topic in assignment.topic_partitions for index in topic.partitions}
        for assignment in (member.assignment, member.target_assignment)
    )
    if member.member_epoch == LEAVING_FOR_NOW:
        return AWAY
    if has - target:
        return UNREVOKED
    if member.member_epoch < group.assignment_epoch:
        return BEHIND
    return STABLE if has == target else UNRELEASED


class Member(Scene):
    """``has`` is all that the member may use now, ``keeps`` what of it is in its target."""

    def __init__(self, state: Standing, h: ConsumerHarness | None = None) -> None:
        self.h = h = ConsumerHarness() if h is None else h
        self.topic_id = h.topic("t", 4)
        h.topic("u", 1)
        self.epoch, self.has, self.keeps = 3, HALF, HALF
        if state is UNRELEASED:
            self.enter("other")
            self.enter("m", instance_id="i")
            self.has = self.keeps = set()
        else:
            self._give_half_to_the_other(heeded=state is not UNREVOKED)
        if state is UNREVOKED:
            self.epoch, self.has = 2, ALL
        if state is AWAY:
            self.leaves_for_now()

    def _give_half_to_the_other(self, *, heeded: bool) -> None:
        self.enter("m", instance_id="i")
        self.enter("other")
        self._says(ALL, epoch=2)
        if heeded:
            self._says(HALF, epoch=2)
            self.says_all("other", 3, set())

    @property
    def state(self) -> Standing:
        return standing(self.h, "m")

    def _says(self, owned: Partitions, *topics: str, epoch: int | None = None) -> ErrorCode:
        return self.says_all("m", self.epoch if epoch is None else epoch, owned, *topics, instance_id="i")

    def _beats(self, epoch: int | None = None, member_id: str = "m") -> ErrorCode:
        return self.beats(member_id, self.epoch if epoch is None else epoch, instance_id="i")

    # Heartbeats

    def says_nothing(self):
        return self._beats()

    def says_nothing_and_forgets_its_name(self):
        return self.beats("m", self.epoch)

    def says_what_it_has(self):
        return self._says(self.has)

    def says_what_it_keeps(self):
        return self._says(self.keeps)

    def says_more_than_it_has(self):
        return self._says(ALL | {("u", 0)})

    def says_nothing_at_the_epoch_before(self):
        return self._beats(self.epoch - 1) if self.epoch == 3 else self._beats(1)

    def says_what_it_keeps_at_the_epoch_before(self):
        return self._says(self.keeps, epoch=self.epoch - 1)

    def says_more_than_it_has_at_the_epoch_before(self):
        return self._says(ALL | {("u", 0)}, epoch=self.epoch - 1)

    def says_what_it_keeps_at_an_epoch_long_ago(self):
        return self._says(self.keeps, epoch=1)

    def says_what_it_keeps_at_a_later_epoch(self):
        return self._says(self.keeps, epoch=self.epoch + 1)

    def begins_anew(self):
        return self._says(set(), epoch=0)

    def begins_anew_with_partitions(self):
        return self._says(HALF, epoch=0)

    def comes_under_another_id(self):
        return self.says_all("n", 0, set(), instance_id="i")

    def another_uses_its_name(self):
        return self._beats(member_id="n")

    def reads_nothing_any_more(self):
        return self.beats("m", self.epoch, topics=[], owned=self.has, instance_id="i")

    def reads_another_topic_and_has_let_go_of_this_one(self):
        return self.beats("m", self.epoch, topics=["u"], owned=set(), instance_id="i")

    def reads_one_topic_more(self):
        return self._says(self.has, "t", "u")

    # Leaving

    def leaves(self):
        return self._beats(-1)

    def leaves_for_now(self):
        return self._beats(-2)

    def leaves_under_another_id(self):
        return self._beats(-1, "n")

    def administrator_removes_it_by_its_name(self):
        return ErrorCode(self.h.leave(("", "i")).members[0].error_code)

    # What others do, before it says what it has

    def topic_grows(self):
        self.h.topic("t", 6)
        return self._says(self.has)

    def topic_goes(self):
        self.h.delete_topic("t")
        return self._says(set())

    def other_gives_back(self):
        epoch = 2 if self.has == set() else 3
        self.says_all("other", epoch, ALL)
        self.says_all("other", epoch, HALF if epoch == 2 else set())
        return self._says(self.has)

    def other_leaves(self):
        self.beats("other", -1)
        return self._says(self.has)

    # Offsets

    def commits(self):
        return self._commits(self.epoch)

    def commits_at_the_epoch_before(self):
        return self._commits(self.epoch - 1)

    def commits_at_the_epoch_before_what_it_never_had(self):
        return self._commits(self.epoch - 1, ("u", 0))

    def commits_what_it_must_give_back_at_the_epoch_before(self):
        return self._commits(self.epoch - 1, ("t", 3))

    def commits_at_a_later_epoch(self):
        return self._commits(self.epoch + 1)

    def commits_without_an_epoch(self):
        return self._commits(-1)

    def _commits(self, epoch: int, where: tuple[str, int] = ("t", 0)) -> ErrorCode:
        topic_id = self.topic_id if where[0] == "t" else bytes(16)
        return self.h.commit({where: 7}, "m", epoch, instance_id="i", topic_id=topic_id)

    def fetches(self):
        return self.h.fetch_as("m", self.epoch)

    def fetches_at_the_epoch_before(self):
        return self.h.fetch_as("m", self.epoch - 1)

    # Time, and the broker

    def falls_silent(self):
        self.h.advance(SESSION_MS)

    def does_not_give_back_in_time(self):
        for _ in range(2):
            self.h.advance(REBALANCE_MS // 2)
            self.beats("other", 3 if self.has else 2)
            if self.state is not GONE and self.state is not AWAY:
                self._says(self.has)

    def server_restarts(self):
        self.h.restart()


#: For each event and state (STABLE, UNREVOKED, UNRELEASED, AWAY) the answer, with the next state where it changes.
TABLE: Table = {
    "says_nothing": (OK, OK, OK, FENCED),
    "says_nothing_and_forgets_its_name": (OK, OK, OK, FENCED),
    "says_what_it_has": (OK, OK, OK, FENCED),
    "says_what_it_keeps": (OK, (OK, STABLE), OK, FENCED),
    "says_more_than_it_has": (OK, OK, OK, FENCED),
    "says_nothing_at_the_epoch_before": (FENCED, FENCED, FENCED, FENCED),
    "says_what_it_keeps_at_the_epoch_before": (OK, FENCED, FENCED, FENCED),
    "says_more_than_it_has_at_the_epoch_before": (FENCED, FENCED, FENCED, FENCED),
    "says_what_it_keeps_at_an_epoch_long_ago": (FENCED, FENCED, FENCED, FENCED),
    "says_what_it_keeps_at_a_later_epoch": (FENCED, FENCED, FENCED, FENCED),
    "begins_anew": (TAKEN_INSTANCE, TAKEN_INSTANCE, TAKEN_INSTANCE, (OK, STABLE)),
    "begins_anew_with_partitions": (INVALID, INVALID, INVALID, INVALID),
    "comes_under_another_id": (TAKEN_INSTANCE, TAKEN_INSTANCE, TAKEN_INSTANCE, (OK, GONE)),
    "another_uses_its_name": (FENCED_INSTANCE, FENCED_INSTANCE, FENCED_INSTANCE, FENCED_INSTANCE),
    "reads_nothing_any_more": ((RAISES, UNREVOKED), RAISES, (RAISES, STABLE), FENCED),
    "reads_another_topic_and_has_let_go_of_this_one": (RAISES, (RAISES, STABLE), (RAISES, STABLE), FENCED),
    "reads_one_topic_more": (RAISES, RAISES, RAISES, FENCED),
    "leaves": ((RAISES, GONE), (RAISES, GONE), (RAISES, GONE), (RAISES, GONE)),
    "leaves_for_now": ((OK, AWAY), (OK, AWAY), (OK, AWAY), OK),
    "leaves_under_another_id": (FENCED_INSTANCE, FENCED_INSTANCE, FENCED_INSTANCE, FENCED_INSTANCE),
    "administrator_removes_it_by_its_name": ((RAISES, GONE), (RAISES, GONE), (RAISES, GONE), (RAISES, GONE)),
    "topic_grows": (RAISES, RAISES, RAISES, FENCED),
    "topic_goes": (RAISES, (RAISES, STABLE), (RAISES, STABLE), FENCED),
    "other_gives_back": (OK, OK, (OK, STABLE), FENCED),
    "other_leaves": (RAISES, (RAISES, BEHIND), (RAISES, STABLE), FENCED),
    "commits": (OK, OK, OK, STALE),
    "commits_at_the_epoch_before": (OK, STALE, STALE, STALE),
    "commits_at_the_epoch_before_what_it_never_had": (STALE, STALE, STALE, STALE),
    "commits_what_it_must_give_back_at_the_epoch_before": (STALE, STALE, STALE, STALE),
    "commits_at_a_later_epoch": (STALE, STALE, STALE, STALE),
    "commits_without_an_epoch": (STALE, STALE, STALE, STALE),
    "fetches": (OK, OK, OK, STALE),
    "fetches_at_the_epoch_before": (STALE, STALE, STALE, STALE),
    "falls_silent": ((None, GONE), (None, GONE), (None, GONE), (None, GONE)),
    "does_not_give_back_in_time": (None, (None, GONE), None, (None, GONE)),
    "server_restarts": (None, None, None, None),
}

#: These are not asked of Apache Kafka: they need its clock, or its end.
WITH_THE_CLOCK = ("falls_silent", "does_not_give_back_in_time", "server_restarts")


def test_the_table_is_whole():
    check_whole(Member, TABLE, STATES)


@pytest.mark.parametrize("event", TABLE)
def test_every_event_in_every_state(event):
    check_row(Member, event, TABLE, STATES)


def test_states_are_what_they_seem():
    """What is seen from outside is what the records say."""
    kept = [Member(state).h.consumers.members["m"].state for state in (STABLE, UNREVOKED, UNRELEASED)]
    assert kept == [MemberState.STABLE, MemberState.UNREVOKED_PARTITIONS, MemberState.UNRELEASED_PARTITIONS]
