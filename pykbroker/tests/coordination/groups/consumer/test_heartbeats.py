"""Members of one group: joining, sharing, leaving, and what they are refused with."""

import pytest

from pykbroker.coordination.groups.consumer.group import ConsumerGroupState
from pykbroker.coordination.groups.consumer.member import MemberState
from pykbroker.coordination.groups.member_settings import Bounded
from pykbroker.tests.coordination.groups.consumer.harness import (
    REBALANCE_MS,
    SESSION_MS,
    Client,
    ConsumerHarness,
    persisted,
    settle,
)
from pykbroker.tests.kit.cluster import GROUP
from pykbroker.wire.errors import ErrorCode


@pytest.fixture
def h() -> ConsumerHarness:
    harness = ConsumerHarness()
    harness.topic("t", 4)
    return harness


def same_after_restart(h: ConsumerHarness) -> None:
    before = persisted(h.consumers)
    h.restart()
    assert persisted(h.consumers) == before


def test_the_first_member_gets_everything(h):
    answer = h.enter("one", "t")
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) == ("one", 2, 5_000)
    assert h.by_name(answer.assignment.topic_partitions) == {("t", index) for index in range(4)}
    assert h.consumers.state is ConsumerGroupState.STABLE
    same_after_restart(h)


def test_an_answer_names_the_assignment_only_when_there_is_news(h):
    h.enter("one", "t")
    assert h.beat("one", 2).assignment is None
    everything = {("t", index) for index in range(4)}
    full = h.beat("one", 2, ["t"], owned=everything, rebalance_timeout_ms=1_000)
    assert h.by_name(full.assignment.topic_partitions) == everything


def test_a_second_member_gets_its_share_once_the_first_has_given_it_back(h):
    one, two = Client(h, "one", "t"), Client(h, "two", "t")
    one.beat()
    two.beat()
    assert (two.epoch, two.owned) == (3, set())
    assert h.consumers.members["two"].state is MemberState.UNRELEASED_PARTITIONS
    assert h.consumers.state is ConsumerGroupState.RECONCILING
    same_after_restart(h)
    one.beat()
    assert one.epoch == 2
    assert len(one.owned) == 2
    two.beat()
    assert two.owned == set()
    same_after_restart(h)
    settle(one, two)
    assert (one.epoch, two.epoch) == (3, 3)
    assert one.owned | two.owned == {("t", index) for index in range(4)}
    assert not one.owned & two.owned
    assert h.consumers.state is ConsumerGroupState.STABLE
    same_after_restart(h)


def test_a_member_that_leaves_frees_its_partitions(h):
    one, two = Client(h, "one", "t"), Client(h, "two", "t")
    settle(one, two)
    one.leave()
    assert h.consumers.state is ConsumerGroupState.ASSIGNING
    settle(two)
    assert len(two.owned) == 4
    two.leave()
    assert h.consumers.state is ConsumerGroupState.EMPTY
    same_after_restart(h)
    assert h.delete_group() is ErrorCode.NONE
    assert GROUP not in h.shard.groups
    h.restart()
    assert GROUP not in h.shard.groups


def test_a_silent_member_is_gone_after_its_session(h):
    one, two = Client(h, "one", "t"), Client(h, "two", "t")
    settle(one, two)
    for _ in range(3):
        h.advance(SESSION_MS // 2)
        one.beat()
    assert list(h.consumers.members) == ["one"]
    settle(one)
    assert len(one.owned) == 4
    assert two.beat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_never_gives_back_is_fenced(h):
    one, two = Client(h, "one", "t"), Client(h, "two", "t")
    one.beat()
    two.beat()
    one.beat()
    kept = {("t", index) for index in range(4)}
    for _ in range(2):
        h.advance(REBALANCE_MS // 2 - 1)
        h.beat("one", 2, owned=kept)
        two.beat()
    assert "one" in h.consumers.members
    h.advance(2)
    assert "one" not in h.consumers.members
    settle(two)
    assert two.owned == kept


def test_the_time_to_give_back_begins_anew_with_a_restart(h):
    one, two = Client(h, "one", "t"), Client(h, "two", "t")
    one.beat()
    two.beat()
    one.beat()
    h.advance(REBALANCE_MS // 2)
    h.restart()
    kept = {("t", index) for index in range(4)}
    h.advance(REBALANCE_MS // 2)
    h.beat("one", 2, owned=kept)
    assert "one" in h.consumers.members
    h.advance(REBALANCE_MS // 2)
    assert "one" not in h.consumers.members


def test_sessions_begin_anew_with_a_restart(h):
    settle(Client(h, "one", "t"))
    h.advance(SESSION_MS - 1)
    h.restart()
    h.advance(SESSION_MS - 1)
    assert "one" in h.consumers.members
    h.advance(1)
    assert h.consumers.state is ConsumerGroupState.EMPTY


def test_an_answer_that_was_lost_may_be_asked_for_again(h):
    one = Client(h, "one", "t")
    one.beat()
    h.topic("t", 5)
    assert one.beat(loses_answer=True) is ErrorCode.NONE
    assert (one.epoch, h.consumers.members["one"].epoch) == (2, 3)
    assert one.beat() is ErrorCode.NONE
    assert (one.epoch, len(one.owned)) == (3, 5)


def test_epochs_that_are_not_the_members(h):
    settle(Client(h, "one", "t"))
    code, message = h.refusal("one", 1)
    assert code is ErrorCode.FENCED_MEMBER_EPOCH
    assert message.startswith("The consumer group member has a smaller member epoch (1) than the one known by")
    assert h.refusal("one", 3)[0] is ErrorCode.FENCED_MEMBER_EPOCH
    assert h.refusal("two", 2) == (ErrorCode.UNKNOWN_MEMBER_ID, f"Member two is not a member of group {GROUP}.")


def test_a_group_that_is_not_there(h):
    assert h.refusal("one", 1) == (ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {GROUP} not found.")
    assert h.refusal("one", -1) == (ErrorCode.GROUP_ID_NOT_FOUND, f"Group {GROUP} not found.")
    assert h.shard.groups == {}


def test_a_full_group_takes_nobody_but_its_members():
    h = ConsumerHarness(max_size=1)
    h.topic("t", 1)
    h.enter("one", "t")
    with pytest.raises(Exception, match="maximum capacity of 1 members") as refused:
        h.enter("two", "t")
    assert refused.value.code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert h.enter("one", "t").error_code == 0


def test_an_older_member_is_given_an_id(h):
    answer = h.enter("", "t", version=0)
    assert len(answer.member_id) == 22
    assert h.beat(answer.member_id, answer.member_epoch, version=0).error_code == 0


def test_a_member_subscribed_to_nothing_stays_at_the_first_epoch(h):
    assert h.enter("one").member_epoch == 1
    assert h.consumers.state is ConsumerGroupState.STABLE
    same_after_restart(h)


def test_topics_that_come_grow_and_go(h):
    one = Client(h, "one", "t", "later")
    settle(one)
    h.topic("later", 1)
    settle(one)
    assert ("later", 0) in one.owned
    h.topic("later", 2)
    settle(one)
    assert ("later", 1) in one.owned
    epoch = one.epoch
    h.delete_topic("later")
    settle(one)
    assert one.owned == {("t", index) for index in range(4)}
    assert one.epoch == epoch + 1


def test_after_a_restart_unchanged_topics_cause_no_rebalance(h):
    one = Client(h, "one", "t")
    settle(one)
    h.restart()
    written = len(h.log)
    one.beat()
    assert (one.epoch, len(h.log)) == (2, written)


def test_the_next_target_waits_for_its_interval():
    h = ConsumerHarness(assignment_interval_ms=Bounded(3_000, 0, 15_000))
    del h.around.image.configs[32, GROUP]
    h.topic("t", 2)
    one, two = Client(h, "one", "t"), Client(h, "two", "t")
    one.beat()
    two.beat()
    assert (h.consumers.epoch, h.consumers.target_epoch, two.epoch) == (3, 2, 2)
    h.advance(2_999)
    two.beat()
    assert h.consumers.target_epoch == 2
    h.advance(1)
    one.beat()
    assert h.consumers.target_epoch == 3


def test_settings_of_the_group_count_at_once_and_within_bounds(h):
    h.enter("one", "t")
    h.set_group("consumer.heartbeat.interval.ms", "7000")
    h.set_group("consumer.session.timeout.ms", "50000")
    assert h.beat("one", 2).heartbeat_interval_ms == 7_000
    h.advance(49_999)
    assert "one" in h.consumers.members
    h.set_group("consumer.heartbeat.interval.ms", "1")
    assert h.beat("one", 2).heartbeat_interval_ms == 5_000


def test_an_append_that_fails_changes_nothing(h):
    one, two = Client(h, "one", "t"), Client(h, "two", "t")
    settle(one)
    before = persisted(h.consumers)
    h.append_error = ErrorCode.NOT_COORDINATOR
    assert two.beat() is ErrorCode.NOT_COORDINATOR
    assert persisted(h.consumers) == before
    settle(one, two)
    assert len(two.owned) == 2


def test_most_members_choose_the_assignor(h):
    for member_id, assignor in (("one", None), ("two", "range"), ("three", "range"), ("four", "uniform")):
        h.enter(member_id, "t", server_assignor=assignor)
    assert h.described().assignor_name == "range"
    h.beat("two", -1)
    h.beat("three", -1)
    assert h.described().assignor_name == "uniform"


class TestStaticMembers:
    def test_one_that_leaves_for_a_while_keeps_its_partitions(self, h):
        one, two = Client(h, "one", "t", instance_id="i"), Client(h, "two", "t")
        settle(one, two)
        owned = one.owned
        one.leave(-2)
        epoch = h.consumers.epoch
        two.beat()
        assert len(two.owned) == 2
        assert not any(h.consumers.is_free(h.around.topic_id(name), index) for name, index in owned)
        same_after_restart(h)
        again = Client(h, "again", "t", instance_id="i")
        again.beat()
        assert (again.owned, h.consumers.epoch) == (owned, epoch)
        assert h.consumers.state is ConsumerGroupState.STABLE
        assert "one" not in h.consumers.members
        same_after_restart(h)

    def test_one_that_comes_back_with_another_subscription_is_counted_once(self, h):
        one = Client(h, "one", "t", instance_id="i")
        settle(one)
        one.leave(-2)
        h.topic("u", 1)
        Client(h, "again", "t", "u", instance_id="i").beat()
        assert list(h.consumers.targets) == ["again"]

    def test_one_that_does_not_come_back_is_gone_after_its_session(self, h):
        one = Client(h, "one", "t", instance_id="i")
        settle(one)
        one.leave(-2)
        h.advance(SESSION_MS)
        assert h.consumers.state is ConsumerGroupState.EMPTY

    def test_its_name_is_taken_until_it_leaves(self, h):
        settle(Client(h, "one", "t", instance_id="i"))
        again = Client(h, "again", "t", instance_id="i")
        assert again.beat() is ErrorCode.UNRELEASED_INSTANCE_ID
        assert h.refusal("other", 2, instance_id="i")[0] is ErrorCode.FENCED_INSTANCE_ID
        assert h.refusal("one", 2, instance_id="j") == (ErrorCode.UNKNOWN_MEMBER_ID, "Instance id j is unknown.")

    def test_its_former_self_is_fenced(self, h):
        one = Client(h, "one", "t", instance_id="i")
        settle(one)
        one.leave(-2)
        Client(h, "again", "t", instance_id="i").beat()
        assert h.refusal("one", 2, instance_id="i")[0] is ErrorCode.FENCED_INSTANCE_ID
        assert h.refusal("one", 2)[0] is ErrorCode.UNKNOWN_MEMBER_ID
