"""Every event in every state of a member of a consumer group that still speaks the classic protocol.

The member "m" shares a topic of four partitions with "other", who speaks the consumer protocol. The table is whole: a
state or an event without a line fails. REVERTED: the group is a classic one again.
"""

from __future__ import annotations

from enum import Enum, auto

import pytest

from pykbroker.coordination.groups.consumer.group import ConsumerGroupState
from pykbroker.tests.coordination.groups.consumer.every_event import (
    ILLEGAL,
    INCONSISTENT,
    OK,
    RAISES,
    REBALANCE,
    UNKNOWN,
    Scene,
    Table,
    check_row,
    check_whole,
)
from pykbroker.tests.coordination.groups.consumer.harness import REBALANCE_MS, ConsumerHarness, Partitions, subscription
from pykbroker.tests.coordination.groups.consumer.test_every_member_event import ALL, HALF, standing
from pykbroker.wire.errors import ErrorCode

CLASSIC_SESSION_MS = 10_000


class ClassicStanding(Enum):
    """``Standing``, of a member that knows its state by its generation alone."""

    STABLE = auto()
    #: It has something that it must give back first.
    UNREVOKED = auto()
    #: It is at the target's epoch, and waits for partitions that another has still.
    UNRELEASED = auto()
    #: There is a newer target, and it has not joined again.
    BEHIND = auto()
    #: It speaks the consumer protocol now.
    UPGRADED = auto()
    REVERTED = auto()
    GONE = auto()


STABLE, UNREVOKED, UNRELEASED, BEHIND, UPGRADED, REVERTED, GONE = ClassicStanding
STATES = (STABLE, UNREVOKED, UNRELEASED, BEHIND)


class ClassicMember(Scene):
    """``has`` is all that the member may use now, ``keeps`` what of it is in its target. A third member, who reads another
    topic, keeps the group from going back to the classic protocol.
    """

    def __init__(self, state: ClassicStanding, h: ConsumerHarness | None = None) -> None:
        self.h = h = ConsumerHarness() if h is None else h
        self.topic_id = h.topic("t", 4)
        h.topic("u", 1)
        self.has: Partitions = set()
        self.generation = 0
        self.enter("keeper", "u")
        if state is UNRELEASED:
            self.enter("other")
            self._joins()
        else:
            self._joins()
            self.enter("other")
            self._joins(ALL)
            self.has = ALL
        if state in (STABLE, BEHIND):
            self._joins(HALF)
            self.says_all("other", 4, set())
            self.has = HALF
        self._syncs()
        if state is BEHIND:
            h.topic("t", 6)
            self._beats_too("other")
        self.keeps = self.has & HALF

    @property
    def state(self) -> ClassicStanding:
        group = self.h.described()
        if group.group_state == ConsumerGroupState.DEAD.value:
            return REVERTED
        if any(each.member_id == "m" and each.member_type == 1 for each in group.members):
            return UPGRADED
        return ClassicStanding[standing(self.h, "m").name]

    def _joins(self, owned: Partitions = frozenset(), *topics: str, protocol: str = "range") -> ErrorCode:
        answer = self.h.join(
            "m",
            protocols={protocol: subscription(*topics or ("t",), owned=owned)},
            session_ms=CLASSIC_SESSION_MS,
            rebalance_ms=REBALANCE_MS,
        ).value
        self.generation = max(answer.generation_id, self.generation)
        return ErrorCode(answer.error_code)

    def _syncs(self, generation: int | None = None, **stated: str) -> ErrorCode:
        generation = self.generation if generation is None else generation
        return ErrorCode(self.h.sync("m", generation=generation, **stated).value.error_code)

    def _beats_too(self, member_id: str) -> None:
        """Another member, if it is there still, beats and says nothing."""
        if epoch := self._epoch_of(member_id):
            self.beats(member_id, epoch)

    def _epoch_of(self, member_id: str) -> int:
        epochs = {each.member_id: each.member_epoch for each in self.h.described().members}
        return epochs.get(member_id, 0)

    # The classic protocol

    def beats_as_ever(self):
        return self.h.heartbeat("m", generation=self.generation)

    def beats_in_the_generation_before(self):
        return self.h.heartbeat("m", generation=self.generation - 1)

    def beats_in_a_later_generation(self):
        return self.h.heartbeat("m", generation=self.generation + 1)

    def syncs(self):
        return self._syncs()

    def syncs_in_the_generation_before(self):
        return self._syncs(self.generation - 1)

    def syncs_with_another_protocol(self):
        return self._syncs(protocol_name="sticky")

    def syncs_with_another_protocol_type(self):
        return self._syncs(protocol_type="connect")

    def joins_with_what_it_has(self):
        return self._joins(self.has)

    def joins_with_what_it_keeps(self):
        return self._joins(self.keeps)

    def joins_with_more_than_it_has(self):
        return self._joins(ALL | {("u", 0)})

    def joins_reading_another_topic(self):
        return self._joins(set(), "u")

    def joins_with_another_protocol(self):
        return self._joins(self.has, protocol="sticky")

    def leaves(self):
        return ErrorCode(self.h.leave("m").members[0].error_code)

    def leaves_under_a_name(self):
        return ErrorCode(self.h.leave(("m", "i")).members[0].error_code)

    # The consumer protocol

    def begins_anew_in_the_consumer_protocol(self):
        return self.says_all("m", 0, set())

    def goes_on_in_the_consumer_protocol(self):
        return self.says_all("m", self.generation, self.has)

    def leaves_in_the_consumer_protocol(self):
        return self.beats("m", -1)

    # What others do, before it beats

    def other_gives_back(self):
        epoch = self._epoch_of("other")
        self.says_all("other", epoch, ALL)
        self.says_all("other", epoch, set() if self.has else HALF)
        return self.beats_as_ever()

    def other_leaves(self):
        self.beats("other", -1)
        return self.beats_as_ever()

    def others_leave(self):
        self.beats("other", -1)
        self.beats("keeper", -1)
        return self.beats_as_ever()

    def topic_grows(self):
        self.h.topic("t", 8)
        return self.beats_as_ever()

    def topic_grows_and_another_hears_of_it(self):
        self.h.topic("t", 8)
        self._beats_too("other")
        return self.beats_as_ever()

    # Offsets

    def commits(self):
        return self._commits(self.generation)

    def commits_in_the_generation_before(self):
        return self._commits(self.generation - 1)

    def commits_in_a_later_generation(self):
        return self._commits(self.generation + 1)

    def commits_in_no_generation(self):
        return self._commits(-1)

    def commits_in_an_old_version(self):
        return self._commits(self.generation, version=8)

    def _commits(self, generation: int, version: int = 9) -> ErrorCode:
        return self.h.commit({("t", 3): 7}, "m", generation, version=version, topic_id=self.topic_id)

    # Time, and the broker

    def falls_silent(self):
        self.h.advance(CLASSIC_SESSION_MS)

    def beats_and_does_not_join_again(self):
        """Others do not change meanwhile."""
        for _ in range(REBALANCE_MS // 5_000 + 1):
            self.beats_as_ever()
            self.h.advance(5_000)
            self._beats_too("keeper")
            self._beats_too("other")

    def joins_and_does_not_sync(self):
        """Others do not change meanwhile."""
        self._joins(self.has)
        for _ in range(REBALANCE_MS // 5_000):
            self.h.advance(5_000)
            self.beats_as_ever()
            self._beats_too("keeper")
            self._beats_too("other")

    def server_restarts(self):
        self.h.restart()


#: For each event and state (STABLE, UNREVOKED, UNRELEASED, BEHIND) the answer, with the next state where it changes.
TABLE: Table = {
    "beats_as_ever": (OK, REBALANCE, OK, REBALANCE),
    "beats_in_the_generation_before": (ILLEGAL, ILLEGAL, ILLEGAL, ILLEGAL),
    "beats_in_a_later_generation": (ILLEGAL, ILLEGAL, ILLEGAL, ILLEGAL),
    "syncs": (OK, OK, OK, REBALANCE),
    "syncs_in_the_generation_before": (ILLEGAL, ILLEGAL, ILLEGAL, ILLEGAL),
    "syncs_with_another_protocol": (INCONSISTENT, INCONSISTENT, INCONSISTENT, INCONSISTENT),
    "syncs_with_another_protocol_type": (INCONSISTENT, INCONSISTENT, INCONSISTENT, INCONSISTENT),
    "joins_with_what_it_has": (OK, OK, OK, (OK, STABLE)),
    "joins_with_what_it_keeps": (OK, (OK, STABLE), OK, (OK, STABLE)),
    "joins_with_more_than_it_has": (OK, OK, OK, (OK, STABLE)),
    "joins_reading_another_topic": (RAISES, (RAISES, STABLE), (RAISES, STABLE), (RAISES, STABLE)),
    "joins_with_another_protocol": (INCONSISTENT, INCONSISTENT, INCONSISTENT, INCONSISTENT),
    "leaves": ((RAISES, GONE), (RAISES, GONE), (RAISES, GONE), (RAISES, GONE)),
    "leaves_under_a_name": (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    "begins_anew_in_the_consumer_protocol": ((OK, UPGRADED), (OK, UPGRADED), (OK, UPGRADED), (OK, UPGRADED)),
    "goes_on_in_the_consumer_protocol": ((OK, UPGRADED), (OK, UPGRADED), (OK, UPGRADED), (OK, UPGRADED)),
    "leaves_in_the_consumer_protocol": ((RAISES, GONE), (RAISES, GONE), (RAISES, GONE), (RAISES, GONE)),
    "other_gives_back": (OK, REBALANCE, REBALANCE, REBALANCE),
    "other_leaves": (RAISES, REBALANCE, REBALANCE, REBALANCE),
    "others_leave": ((ILLEGAL, REVERTED), (ILLEGAL, REVERTED), (ILLEGAL, REVERTED), (ILLEGAL, REVERTED)),
    "topic_grows": (OK, REBALANCE, OK, REBALANCE),
    "topic_grows_and_another_hears_of_it": ((REBALANCE, BEHIND), REBALANCE, (REBALANCE, BEHIND), REBALANCE),
    "commits": (OK, OK, OK, OK),
    "commits_in_the_generation_before": (ILLEGAL, ILLEGAL, ILLEGAL, ILLEGAL),
    "commits_in_a_later_generation": (ILLEGAL, ILLEGAL, ILLEGAL, ILLEGAL),
    "commits_in_no_generation": (ILLEGAL, ILLEGAL, ILLEGAL, ILLEGAL),
    "commits_in_an_old_version": (OK, OK, OK, OK),
    "falls_silent": ((None, GONE), (None, GONE), (None, GONE), (None, GONE)),
    "beats_and_does_not_join_again": (None, (None, GONE), (None, BEHIND), (None, GONE)),
    "joins_and_does_not_sync": ((None, GONE), (None, GONE), (None, GONE), (None, GONE)),
    "server_restarts": (None, None, None, None),
}

#: These are not asked of Apache Kafka: they need its clock, or its end.
WITH_THE_CLOCK = ("falls_silent", "beats_and_does_not_join_again", "joins_and_does_not_sync", "server_restarts")


def test_the_table_is_whole():
    check_whole(ClassicMember, TABLE, STATES)


@pytest.mark.parametrize("event", TABLE)
def test_every_event_in_every_state(event):
    check_row(ClassicMember, event, TABLE, STATES)
