"""One step of a member towards its target: every state, with and without something to give back."""

import pytest

from pykbroker.coordination.groups.consumer.member import ConsumerMember, MemberState
from pykbroker.coordination.groups.consumer.reconciling import Goal, reconcile
from pykbroker.wire.errors import ErrorCode, KafkaError

T, U = b"t" * 16, b"u" * 16
STABLE, UNREVOKED, UNRELEASED, UNKNOWN = MemberState


def member(epoch=5, state=STABLE, assigned=None, revoking=None) -> ConsumerMember:
    return ConsumerMember(
        "m", epoch=epoch, previous_epoch=4, state=state, assigned=assigned or {}, revoking=revoking or {}
    )


def goal(epoch, *partitions, reported=None, held=(), subscribed=frozenset({T, U}), changed=False) -> Goal:
    target = {T: frozenset(partitions)} if partitions else {}
    owned = None if reported is None else {T: set(reported)}
    return Goal(epoch, target, subscribed, lambda _, partition: partition not in held, owned, changed)


def test_at_the_target_nothing_happens():
    there = member(5, assigned={T: {0: 3}})
    assert reconcile(there, goal(5, 0)) is there


def test_all_of_a_new_target_that_is_free_is_assigned_at_the_new_epoch():
    after = reconcile(member(5, assigned={T: {0: 3}}), goal(6, 0, 1, 2))
    assert (after.state, after.epoch, after.previous_epoch) == (STABLE, 6, 5)
    assert after.assigned == {T: {0: 3, 1: 6, 2: 6}}


def test_what_others_hold_is_waited_for_at_the_new_epoch():
    after = reconcile(member(5), goal(6, 0, 1, held={1}))
    assert (after.state, after.epoch) == (UNRELEASED, 6)
    assert after.assigned == {T: {0: 6}}
    nothing_free = reconcile(after, goal(7, 0, 1, held={1}))
    assert (nothing_free.state, nothing_free.epoch, nothing_free.assigned) == (UNRELEASED, 7, {T: {0: 6}})
    freed = reconcile(nothing_free, goal(7, 0, 1))
    assert (freed.state, freed.assigned) == (STABLE, {T: {0: 6, 1: 7}})


@pytest.mark.parametrize("reported", [None, [0, 1]])
def test_revocation_comes_first_and_keeps_the_epoch(reported):
    after = reconcile(member(5, assigned={T: {0: 3, 1: 3}}), goal(6, 0, 2, reported=reported))
    assert (after.state, after.epoch, after.previous_epoch) == (UNREVOKED, 5, 5)
    assert after.assigned == {T: {0: 3}}
    assert after.revoking == {T: {1: 3}}


def test_what_is_no_longer_reported_needs_no_revocation():
    after = reconcile(member(5, assigned={T: {0: 3, 1: 3}}), goal(6, 0, 2, reported=[0]))
    assert (after.state, after.epoch, after.assigned, after.revoking) == (STABLE, 6, {T: {0: 3, 2: 6}}, {})


def test_a_member_that_still_owns_what_it_should_give_back_waits():
    waiting = member(5, UNREVOKED, {T: {0: 3}}, {T: {1: 3}})
    assert reconcile(waiting, goal(7, 0)) is waiting
    assert reconcile(waiting, goal(7, 0, reported=[0, 1])) is waiting


def test_once_it_has_given_back_it_goes_on_to_the_newest_target():
    after = reconcile(member(5, UNREVOKED, {T: {0: 3}}, {T: {1: 3}}), goal(8, 0, 1, reported=[0], held={1}))
    assert (after.state, after.epoch, after.assigned, after.revoking) == (STABLE, 8, {T: {0: 3, 1: 8}}, {})


def test_revoking_twice_in_a_row():
    after = reconcile(member(5, UNREVOKED, {T: {0: 3, 2: 3}}, {T: {1: 3}}), goal(8, 0, reported=[0, 2]))
    assert (after.state, after.epoch, after.assigned, after.revoking) == (UNREVOKED, 5, {T: {0: 3}}, {T: {2: 3}})


def test_a_topic_no_longer_subscribed_to_counts_as_not_in_the_target():
    after = reconcile(member(5, assigned={T: {0: 3}}), goal(6, 0, 1, reported=[], subscribed=frozenset()))
    assert (after.state, after.epoch, after.assigned) == (STABLE, 6, {})


@pytest.mark.parametrize("state", [STABLE, UNREVOKED])
def test_a_changed_subscription_takes_topics_away_before_there_is_a_new_target(state):
    revoking = {T: {1: 3}} if state is UNREVOKED else {}
    has = member(5, state, {T: {0: 3}, U: {0: 4}}, revoking)
    after = reconcile(has, goal(5, 0, subscribed=frozenset({T}), changed=True))
    assert (after.state, after.epoch, after.assigned) == (UNREVOKED, 5, {T: {0: 3}})
    assert after.revoking == revoking | {U: {0: 4}}


def test_a_changed_subscription_to_the_same_topics_changes_nothing():
    has = member(5, assigned={T: {0: 3}})
    assert reconcile(has, goal(5, 0, changed=True)) is has


def test_topics_taken_away_that_are_no_longer_reported_are_gone_at_once():
    after = reconcile(
        member(5, assigned={T: {0: 3}, U: {0: 4}}),
        goal(5, 0, reported=[0], subscribed=frozenset({T}), changed=True),
    )
    assert (after.state, after.assigned, after.revoking) == (STABLE, {T: {0: 3}}, {})


def test_a_state_of_a_later_release_begins_anew():
    unknown = member(5, UNKNOWN, {T: {0: 3}})
    for reported in (None, [0]):
        with pytest.raises(KafkaError) as refused:
            reconcile(unknown, goal(6, 0, reported=reported))
        assert refused.value.code is ErrorCode.FENCED_MEMBER_EPOCH
    after = reconcile(unknown, goal(6, 0, reported=[]))
    assert (after.state, after.epoch) == (STABLE, 6)
