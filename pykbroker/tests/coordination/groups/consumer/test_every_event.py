"""Every event in every state of a group of the consumer protocol: what is answered, and what becomes of the group.

The table is whole: a state or an event without a line fails. A group of two is meant, that reads a topic of two
partitions; the first is static, and what concerns a member is asked by the second. Where the group is RECONCILING, the
second waits for what the first has to give back; where it is ASSIGNING, the first has asked for one more topic, and the
time for a new target has not come. DEAD is a group that was deleted.
"""

from __future__ import annotations

import pytest

from pykbroker.coordination.groups.consumer.group import ConsumerGroupState
from pykbroker.tests.coordination.groups.consumer.every_event import (
    FENCED,
    FENCED_INSTANCE,
    ID_REQUIRED,
    INCONSISTENT,
    INVALID,
    NO_GROUP,
    NON_EMPTY,
    OK,
    RAISES,
    STALE,
    SUBSCRIBED,
    TAKEN_INSTANCE,
    UNKNOWN,
    Scene,
    Table,
    check_row,
    check_whole,
)
from pykbroker.tests.coordination.groups.consumer.harness import SESSION_MS, ConsumerHarness, subscription
from pykbroker.wire.errors import ErrorCode

EMPTY, ASSIGNING, RECONCILING, STABLE, DEAD = ConsumerGroupState
ILLEGAL, UNSUPPORTED_ASSIGNOR = ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNSUPPORTED_ASSIGNOR
BAD_PATTERN, OLD_VERSION = ErrorCode.INVALID_REGULAR_EXPRESSION, ErrorCode.UNSUPPORTED_VERSION
ALL = {("t", 0), ("t", 1)}


class Group(Scene):
    def __init__(self, state: ConsumerGroupState, h: ConsumerHarness | None = None) -> None:
        self.h = h = ConsumerHarness() if h is None else h
        h.topic("t", 2)
        h.topic("u", 1)
        self.enter("one", instance_id="i")
        self.epoch = self.enter("two")
        if state is not RECONCILING:
            self._share()
        if state is ASSIGNING:
            h.set_group("consumer.assignment.interval.ms", "15000")
            self.says_all("one", self.epoch, {("t", 0)}, "t", "u", instance_id="i")
        elif state in (EMPTY, DEAD):
            self._both_leave()
        if state is DEAD:
            assert h.delete_group() is OK

    def _share(self) -> None:
        self.says_all("one", 2, ALL, instance_id="i")
        self.says_all("one", 2, {("t", 0)}, instance_id="i")
        self.says_all("two", self.epoch, set())

    def _both_leave(self) -> None:
        self.beats("one", -1, instance_id="i")
        self.beats("two", -1)

    @property
    def state(self) -> ConsumerGroupState:
        return ConsumerGroupState(self.h.described().group_state)

    # Heartbeats

    def newcomer_joins(self):
        return self.beats("three", 0, topics=["t"], owned=set(), rebalance_timeout_ms=1000)

    def newcomer_joins_without_saying_what_it_reads(self):
        return self.beats("three", 0, owned=set(), rebalance_timeout_ms=1000)

    def member_joins_again(self):
        return self.beats("two", 0, topics=["t"], owned=set(), rebalance_timeout_ms=1000)

    def member_beats(self):
        return self.beats("two", self.epoch)

    def member_says_all(self):
        return self.says_all("two", self.epoch, set())

    def member_beats_at_an_earlier_epoch(self):
        return self.beats("two", 1)

    def member_beats_at_a_later_epoch(self):
        return self.beats("two", self.epoch + 1)

    def member_beats_at_no_epoch(self):
        return self.beats("two", -3)

    def stranger_beats(self):
        return self.beats("stranger", self.epoch)

    def member_reads_another_topic(self):
        return self.beats("two", self.epoch, topics=["u"])

    def member_reads_a_topic_that_does_not_exist(self):
        return self.beats("two", self.epoch, topics=["t", "nowhere"])

    def member_reads_by_a_pattern(self):
        return self.beats("two", self.epoch, topics=[], subscribed_topic_regex="t.*")

    def member_reads_by_a_bad_pattern(self):
        return self.beats("two", self.epoch, subscribed_topic_regex="(")

    def member_asks_for_another_assignor(self):
        return self.beats("two", self.epoch, server_assignor="range")

    def member_asks_for_an_unknown_assignor(self):
        return self.beats("two", self.epoch, server_assignor="sticky")

    def topic_grows(self):
        self.h.topic("t", 3)
        return self.beats("two", self.epoch)

    def topic_goes(self):
        self.h.delete_topic("t")
        return self.beats("two", self.epoch)

    # Leaving

    def member_leaves(self):
        return self.beats("two", -1)

    def member_without_a_name_leaves_for_now(self):
        return self.beats("two", -2)

    def stranger_leaves(self):
        return self.beats("stranger", -1)

    def static_member_leaves(self):
        return self.beats("one", -1, instance_id="i")

    def static_member_leaves_for_now(self):
        return self.beats("one", -2, instance_id="i")

    def static_member_leaves_for_now_and_returns(self):
        self.beats("one", -2, instance_id="i")
        return self.beats("1", 0, topics=["t"], owned=set(), rebalance_timeout_ms=1000, instance_id="i")

    def name_is_taken_by_another(self):
        return self.beats("1", 0, topics=["t"], owned=set(), rebalance_timeout_ms=1000, instance_id="i")

    def name_is_used_by_another(self):
        return self.beats("1", self.epoch, instance_id="i")

    def unknown_name_is_used(self):
        return self.beats("two", self.epoch, instance_id="j")

    def administrator_removes_a_member(self):
        return ErrorCode(self.h.leave("two").members[0].error_code)

    # The classic protocol

    def classic_member_asks_for_an_id(self):
        return ErrorCode(self.h.join(protocols={"range": subscription("t")}).value.error_code)

    def classic_member_joins(self):
        return ErrorCode(self.h.join("old", protocols={"range": subscription("t")}).value.error_code)

    def classic_member_of_another_type_joins(self):
        return ErrorCode(self.h.join("old", protocol_type="connect", protocols={"range": b""}).value.error_code)

    def member_beats_in_the_classic_protocol(self):
        return self.h.heartbeat("two", generation=self.epoch)

    def member_syncs_in_the_classic_protocol(self):
        return ErrorCode(self.h.sync("two", generation=self.epoch).value.error_code)

    # Offsets

    def member_commits(self):
        return self.h.commit({("t", 1): 7}, "two", self.epoch)

    def member_commits_at_an_earlier_epoch(self):
        return self.h.commit({("t", 1): 7}, "two", self.epoch - 1)

    def member_commits_at_a_later_epoch(self):
        return self.h.commit({("t", 1): 7}, "two", self.epoch + 1)

    def member_commits_without_an_epoch(self):
        return self.h.commit({("t", 1): 7}, "two")

    def member_commits_in_an_old_version(self):
        return self.h.commit({("t", 1): 7}, "two", self.epoch, version=8)

    def stranger_commits(self):
        return self.h.commit({("t", 1): 7}, "stranger", self.epoch)

    def nobody_commits(self):
        return self.h.commit({("t", 1): 7})

    def member_commits_in_a_transaction(self):
        return self.h.commit_in_transaction("two", self.epoch)

    def member_commits_in_a_transaction_at_a_later_epoch(self):
        return self.h.commit_in_transaction("two", self.epoch + 1)

    def nobody_commits_in_a_transaction(self):
        return self.h.commit_in_transaction("", -1)

    def member_fetches(self):
        return self.h.fetch_as("two", self.epoch)

    def member_fetches_at_an_earlier_epoch(self):
        return self.h.fetch_as("two", self.epoch - 1)

    def member_fetches_at_a_later_epoch(self):
        return self.h.fetch_as("two", self.epoch + 1)

    def stranger_fetches(self):
        return self.h.fetch_as("stranger", self.epoch)

    def nobody_fetches(self):
        return self.h.fetch_as(None, -1)

    # Administrators, time, and the broker

    def administrator_deletes_the_group(self):
        return self.h.delete_group()

    def administrator_deletes_an_offset(self):
        return self.h.delete_offset("t", 0)

    def administrator_deletes_an_offset_of_a_topic_that_nobody_reads(self):
        self.h.topic("v", 1)
        return self.h.delete_offset("v", 0)

    def members_fall_silent(self):
        self.h.advance(SESSION_MS)

    def server_restarts(self):
        self.h.restart()


#: For each event and state (EMPTY, ASSIGNING, RECONCILING, STABLE, DEAD) the answer, with the next state where it changes.
TABLE: Table = {
    "newcomer_joins": ((RAISES, STABLE), RAISES, RAISES, (RAISES, RECONCILING), (RAISES, STABLE)),
    "newcomer_joins_without_saying_what_it_reads": (INVALID, INVALID, INVALID, INVALID, INVALID),
    "member_joins_again": ((RAISES, STABLE), OK, OK, OK, (RAISES, STABLE)),
    "member_beats": (UNKNOWN, OK, OK, OK, NO_GROUP),
    "member_says_all": (UNKNOWN, OK, OK, OK, NO_GROUP),
    "member_beats_at_an_earlier_epoch": (UNKNOWN, FENCED, FENCED, FENCED, NO_GROUP),
    "member_beats_at_a_later_epoch": (UNKNOWN, FENCED, FENCED, FENCED, NO_GROUP),
    "member_beats_at_no_epoch": (INVALID, INVALID, INVALID, INVALID, INVALID),
    "stranger_beats": (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, NO_GROUP),
    "member_reads_another_topic": (UNKNOWN, RAISES, RAISES, (RAISES, RECONCILING), NO_GROUP),
    "member_reads_a_topic_that_does_not_exist": (UNKNOWN, RAISES, RAISES, (RAISES, RECONCILING), NO_GROUP),
    "member_reads_by_a_pattern": (UNKNOWN, RAISES, (RAISES, ASSIGNING), (RAISES, ASSIGNING), NO_GROUP),
    "member_reads_by_a_bad_pattern": (UNKNOWN, BAD_PATTERN, BAD_PATTERN, BAD_PATTERN, NO_GROUP),
    "member_asks_for_another_assignor": (UNKNOWN, OK, OK, OK, NO_GROUP),
    "member_asks_for_an_unknown_assignor": (
        UNSUPPORTED_ASSIGNOR,
        UNSUPPORTED_ASSIGNOR,
        UNSUPPORTED_ASSIGNOR,
        UNSUPPORTED_ASSIGNOR,
        UNSUPPORTED_ASSIGNOR,
    ),
    "topic_grows": (UNKNOWN, RAISES, RAISES, (RAISES, RECONCILING), NO_GROUP),
    "topic_goes": (UNKNOWN, RAISES, RAISES, (RAISES, RECONCILING), NO_GROUP),
    "member_leaves": (UNKNOWN, RAISES, (RAISES, ASSIGNING), (RAISES, ASSIGNING), NO_GROUP),
    "member_without_a_name_leaves_for_now": (INVALID, INVALID, INVALID, INVALID, INVALID),
    "stranger_leaves": (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, NO_GROUP),
    "static_member_leaves": (UNKNOWN, RAISES, (RAISES, ASSIGNING), (RAISES, ASSIGNING), NO_GROUP),
    "static_member_leaves_for_now": (UNKNOWN, OK, OK, (OK, RECONCILING), NO_GROUP),
    "static_member_leaves_for_now_and_returns": (UNKNOWN, RAISES, OK, OK, NO_GROUP),
    "name_is_taken_by_another": ((RAISES, STABLE), TAKEN_INSTANCE, TAKEN_INSTANCE, TAKEN_INSTANCE, (RAISES, STABLE)),
    "name_is_used_by_another": (UNKNOWN, FENCED_INSTANCE, FENCED_INSTANCE, FENCED_INSTANCE, NO_GROUP),
    "unknown_name_is_used": (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, NO_GROUP),
    "administrator_removes_a_member": (UNKNOWN, RAISES, (RAISES, ASSIGNING), (RAISES, ASSIGNING), UNKNOWN),
    "classic_member_asks_for_an_id": ((ID_REQUIRED, DEAD), ID_REQUIRED, ID_REQUIRED, ID_REQUIRED, ID_REQUIRED),
    "classic_member_joins": (UNKNOWN, RAISES, RAISES, (RAISES, RECONCILING), UNKNOWN),
    "classic_member_of_another_type_joins": (UNKNOWN, INCONSISTENT, INCONSISTENT, INCONSISTENT, UNKNOWN),
    "member_beats_in_the_classic_protocol": (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    "member_syncs_in_the_classic_protocol": (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    "member_commits": (UNKNOWN, OK, OK, OK, NO_GROUP),
    "member_commits_at_an_earlier_epoch": (UNKNOWN, STALE, STALE, STALE, NO_GROUP),
    "member_commits_at_a_later_epoch": (UNKNOWN, STALE, STALE, STALE, NO_GROUP),
    "member_commits_without_an_epoch": (OK, STALE, STALE, STALE, OK),
    "member_commits_in_an_old_version": (UNKNOWN, OLD_VERSION, OLD_VERSION, OLD_VERSION, ILLEGAL),
    "stranger_commits": (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, NO_GROUP),
    "nobody_commits": (OK, UNKNOWN, UNKNOWN, UNKNOWN, OK),
    "member_commits_in_a_transaction": (UNKNOWN, OK, OK, OK, NO_GROUP),
    "member_commits_in_a_transaction_at_a_later_epoch": (UNKNOWN, STALE, STALE, STALE, NO_GROUP),
    "nobody_commits_in_a_transaction": (OK, OK, OK, OK, OK),
    "member_fetches": (UNKNOWN, OK, OK, OK, OK),
    "member_fetches_at_an_earlier_epoch": (UNKNOWN, STALE, STALE, STALE, OK),
    "member_fetches_at_a_later_epoch": (UNKNOWN, STALE, STALE, STALE, OK),
    "stranger_fetches": (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, OK),
    "nobody_fetches": (OK, OK, OK, OK, OK),
    "administrator_deletes_the_group": ((OK, DEAD), NON_EMPTY, NON_EMPTY, NON_EMPTY, NO_GROUP),
    "administrator_deletes_an_offset": (OK, SUBSCRIBED, SUBSCRIBED, SUBSCRIBED, NO_GROUP),
    "administrator_deletes_an_offset_of_a_topic_that_nobody_reads": (OK, OK, OK, OK, NO_GROUP),
    "members_fall_silent": (None, (None, EMPTY), (None, EMPTY), (None, EMPTY), None),
    "server_restarts": (None, None, None, None, None),
}

#: These are not asked of Apache Kafka: they need its clock, or its end.
WITH_THE_CLOCK = ("members_fall_silent", "server_restarts")


def test_the_table_is_whole():
    check_whole(Group, TABLE, ConsumerGroupState)


@pytest.mark.parametrize("event", TABLE)
def test_every_event_in_every_state(event):
    check_row(Group, event, TABLE, ConsumerGroupState)
