"""Classic groups that become consumer groups and back, and classic members in between."""

import pytest

from pykbroker.coordination.groups.classic.group import ClassicGroupState
from pykbroker.coordination.groups.consumer.group import ConsumerGroupState
from pykbroker.tests.coordination.groups.consumer.harness import (
    REBALANCE_MS,
    Client,
    ConsumerHarness,
    Partitions,
    assigned_in,
    assignment,
    persisted,
    settle,
    subscription,
)
from pykbroker.tests.kit.cluster import GROUP
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.join_group import JoinGroupResponse

EVERYTHING = {("t", index) for index in range(4)}
CLASSIC_SESSION_MS = 10_000


@pytest.fixture
def h() -> ConsumerHarness:
    harness = ConsumerHarness()
    harness.topic("t", 4)
    return harness


class ClassicClient:
    """A consumer that joins again whenever it is told to, and uses what SyncGroup gives it."""

    def __init__(self, h: ConsumerHarness, member_id: str, instance_id: str | None = None) -> None:
        self.h = h
        self.member_id = member_id
        self.instance_id = instance_id
        self.generation = 0
        self.owned: Partitions = set()

    def join(self, *topics: str) -> JoinGroupResponse:
        answer = self.h.join(
            self.member_id,
            instance_id=self.instance_id,
            protocols={"range": subscription(*topics or ["t"], owned=self.owned)},
            session_ms=CLASSIC_SESSION_MS,
            rebalance_ms=REBALANCE_MS,
        ).value
        if answer.error_code == ErrorCode.NONE:
            self.member_id, self.generation = answer.member_id, answer.generation_id
        return answer

    def sync(self) -> ErrorCode:
        reply = self.h.sync(
            self.member_id, generation=self.generation, instance_id=self.instance_id, protocol_name="range"
        )
        answer = reply.value
        if answer.error_code == ErrorCode.NONE:
            self.owned = assigned_in(answer.assignment)
        return ErrorCode(answer.error_code)

    def heartbeat(self) -> ErrorCode:
        return self.h.heartbeat(self.member_id, generation=self.generation, instance_id=self.instance_id)

    def beat(self) -> None:
        """As a cooperative consumer: join again when told, without what is no longer assigned."""
        if self.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS:
            self.join()
            self.sync()

    @property
    def epoch(self) -> int:
        return self.generation


def classic_group(h: ConsumerHarness, owned: Partitions = EVERYTHING, user_data: bytes | None = None) -> ClassicClient:
    """A stable classic group of one member that has all partitions."""
    member_id, _ = h.new_member(protocols={"range": subscription("t")})
    h.advance(h.settings.initial_rebalance_delay_ms)
    h.sync(member_id, {member_id: assignment(owned, user_data)})
    assert h.state is ClassicGroupState.STABLE
    member = ClassicClient(h, member_id)
    member.generation, member.owned = h.group.generation, owned
    return member


def upgraded(h: ConsumerHarness) -> tuple[ClassicClient, Client]:
    old, new = classic_group(h), Client(h, "new", "t")
    assert new.beat() is ErrorCode.NONE
    return old, new


def same_after_restart(h: ConsumerHarness) -> None:
    before = persisted(h.consumers)
    h.restart()
    assert persisted(h.consumers) == before


def test_a_classic_group_takes_a_member_of_the_consumer_protocol(h):
    old, new = upgraded(h)
    assert (new.epoch, new.owned) == (2, set())
    same_after_restart(h)
    settle(old, new)
    assert len(old.owned) == len(new.owned) == 2
    assert old.owned | new.owned == EVERYTHING
    assert h.consumers.state is ConsumerGroupState.STABLE
    same_after_restart(h)


def test_those_who_wait_in_the_classic_group_have_to_join_again(h):
    old = classic_group(h)
    _, waiting = h.new_member(protocols={"range": subscription("t")})
    assert not waiting.done
    Client(h, "new", "t").beat()
    assert waiting.value.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert old.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_the_last_of_the_consumer_protocol_leaves(h):
    old, new = upgraded(h)
    settle(old, new)
    epoch = h.consumers.epoch
    new.leave()
    assert h.state is ClassicGroupState.PREPARING_REBALANCE
    assert h.group.generation == epoch
    assert assigned_in(h.group.members[old.member_id].assignment) == old.owned
    h.restart()
    assert h.state is ClassicGroupState.PREPARING_REBALANCE
    old.join()
    assert h.state is ClassicGroupState.COMPLETING_REBALANCE


def test_a_restart_after_the_way_back_leaves_nobody_waiting_for_partitions(h):
    new, old = Client(h, "new", "t"), ClassicClient(h, "old")
    new.beat()
    old.join()
    old.sync()
    assert (old.generation, old.owned) == (h.consumers.epoch, set())
    new.leave()
    h.restart()
    assert old.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    old.join()
    h.sync("old", {"old": assignment(EVERYTHING)})
    h.restart()
    assert old.heartbeat() is ErrorCode.NONE


def test_one_that_falls_silent_has_the_same_effect(h):
    old, new = upgraded(h)
    settle(old, new)
    for _ in range(6):
        h.advance(CLASSIC_SESSION_MS - 1)
        old.heartbeat()
    assert h.state is ClassicGroupState.PREPARING_REBALANCE
    assert new.beat() is ErrorCode.GROUP_ID_NOT_FOUND


def test_no_way_back_where_the_policy_says_so():
    h = ConsumerHarness(downgrades=False)
    h.topic("t", 4)
    old, new = upgraded(h)
    settle(old, new)
    new.leave()
    settle(old)
    assert h.consumers.state is ConsumerGroupState.STABLE
    assert old.owned == EVERYTHING


def test_no_way_up_where_the_policy_says_so():
    h = ConsumerHarness(upgrades=False, downgrades=False)
    h.topic("t", 4)
    classic_group(h)
    code, message = h.refusal("new", 0, "t", owned=set(), rebalance_timeout_ms=1)
    assert (code, message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {GROUP} to consumer group because online upgrade is disabled.",
    )
    assert h.state is ClassicGroupState.STABLE


def test_what_a_custom_assignor_said_would_be_lost(h):
    classic_group(h, user_data=b"more")
    assert h.refusal("new", 0, "t", owned=set(), rebalance_timeout_ms=1)[0] is ErrorCode.GROUP_ID_NOT_FOUND
    assert h.state is ClassicGroupState.STABLE


def test_an_empty_group_changes_its_type_without_more_ado(h):
    one = Client(h, "one", "t")
    settle(one)
    one.leave()
    member_id, _ = h.new_member(protocols={"range": subscription("t")})
    assert h.group.members.leader == member_id
    h.leave(member_id)
    h.advance(h.settings.initial_rebalance_delay_ms)
    assert h.state is ClassicGroupState.EMPTY
    one.beat()
    assert h.consumers.state is ConsumerGroupState.STABLE
    h.restart()
    assert h.consumers.state is ConsumerGroupState.STABLE


def test_a_classic_member_joins_a_consumer_group(h):
    one = Client(h, "one", "t")
    settle(one)
    old = ClassicClient(h, "")
    assert old.join().error_code == ErrorCode.MEMBER_ID_REQUIRED
    old.member_id = "old"
    answer = old.join()
    assert (answer.protocol_name, answer.leader, answer.members) == ("range", "", [])
    assert old.sync() is ErrorCode.NONE
    settle(one, old)
    assert one.owned | old.owned == EVERYTHING
    assert len(old.owned) == 2


def test_classic_members_must_share_a_protocol(h):
    old, _ = upgraded(h)
    with pytest.raises(KafkaError) as refused:
        h.join(protocols={"sticky": subscription("t")})
    assert refused.value.code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    with pytest.raises(KafkaError):
        h.join(protocol_type="connect", protocols={"range": subscription("t")})
    assert old.member_id in h.consumers.members


def test_a_classic_member_that_does_not_join_again_is_fenced(h):
    old, new = upgraded(h)
    assert old.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    for _ in range(REBALANCE_MS // 5_000):
        h.advance(5_000)
        old.heartbeat()
        new.beat()
    assert old.member_id not in h.consumers.members
    settle(new)
    assert new.owned == EVERYTHING


def test_a_classic_member_that_does_not_sync_is_fenced(h):
    old, new = upgraded(h)
    old.join()
    for _ in range(REBALANCE_MS // 5_000):
        h.advance(5_000)
        old.heartbeat()
        new.beat()
    assert old.member_id not in h.consumers.members


@pytest.mark.parametrize("settled", [True, False])
def test_a_classic_session_is_the_one_that_the_member_asked_for(h, settled):
    old, new = upgraded(h)
    if settled:
        settle(old, new)
    h.advance(CLASSIC_SESSION_MS - 1)
    assert old.member_id in h.consumers.members
    h.advance(1)
    assert list(h.consumers.members) == ["new"]


def test_generations_and_protocols_are_checked(h):
    old, new = upgraded(h)
    settle(old, new)
    for generation, code in ((old.generation, ErrorCode.NONE), (99, ErrorCode.ILLEGAL_GENERATION)):
        assert h.heartbeat(old.member_id, generation=generation) is code
    assert h.heartbeat("new", generation=new.epoch) is ErrorCode.UNKNOWN_MEMBER_ID
    for said in ({"protocol_type": "connect"}, {"protocol_name": "sticky"}):
        with pytest.raises(KafkaError) as refused:
            h.sync(old.member_id, generation=old.generation, **said)
        assert refused.value.code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_static_member_goes_from_one_protocol_to_the_other_and_back(h):
    old = ClassicClient(h, "", instance_id="i")
    reply = h.join(instance_id="i", protocols={"range": subscription("t")})
    h.advance(h.settings.initial_rebalance_delay_ms)
    old.member_id = reply.value.member_id
    h.sync(old.member_id, {old.member_id: assignment(EVERYTHING)}, instance_id="i")
    new = Client(h, "new", "t", instance_id="i")
    new.beat()
    assert new.owned == EVERYTHING
    assert h.consumers.members["new"].classic is None
    same_after_restart(h)
    again = ClassicClient(h, "", instance_id="i")
    assert again.join().error_code == ErrorCode.NONE
    assert h.state is ClassicGroupState.STABLE
    assert assigned_in(h.group.members[again.member_id].assignment) == EVERYTHING


def test_a_static_member_that_changes_protocol_in_a_rebalance_leaves_no_partition_to_nobody(h):
    """A cooperative rebalance has taken partition 3 from it, and the next one was to give it away."""
    old = ClassicClient(h, "", instance_id="i")
    reply = h.join(instance_id="i", protocols={"range": subscription("t")})
    h.advance(h.settings.initial_rebalance_delay_ms)
    old.member_id = reply.value.member_id
    h.sync(old.member_id, {old.member_id: assignment(EVERYTHING - {("t", 3)})}, instance_id="i")
    h.new_member(protocols={"range": subscription("t")})
    assert h.state is ClassicGroupState.PREPARING_REBALANCE
    new = Client(h, "new", "t", instance_id="i")
    for _ in range(3):
        new.beat()
    targets = h.consumers.targets.values()
    assert {index for target in targets for indexes in target.values() for index in indexes} == {0, 1, 2, 3}


def test_leaving_by_leave_group(h):
    old, new = upgraded(h)
    settle(old, new)
    answer = h.leave(old.member_id, "nobody", ("", "i"))
    assert [member.error_code for member in answer.members] == [0, 25, 25]
    settle(new)
    assert new.owned == EVERYTHING
