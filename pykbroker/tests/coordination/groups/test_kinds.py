"""A third kind of groups is a subclass of ``GroupKind`` and a row: here one whose members are counted, and no more."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import dataclass
from enum import Enum

import pytest

from pykbroker.coordination.groups import kinds
from pykbroker.coordination.groups.group import Group, group_not_found
from pykbroker.coordination.groups.kind import GroupKind
from pykbroker.coordination.outcome import CoordinatorRecord, Decision, Outcome
from pykbroker.tests.kit.cluster import GROUP
from pykbroker.tests.kit.groups import GroupCluster
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.share_group_metadata import ShareGroupMetadataKey, ShareGroupMetadataValue
from pykbroker.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.describe_groups import DescribeGroupsRequest
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.list_groups import ListGroupsRequest

_LIMIT_S = 60


class CountedState(Enum):
    EMPTY = "Empty"
    COUNTED = "Counted"


class CountedGroup(Group):
    """Its members are numbers, and all leave a minute after the last one came."""

    __slots__ = ("leave_at", "members")

    type_name = "counted"
    protocol_type = "counted"
    members: range

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.members = range(0)
        self.leave_at = math.inf

    @property
    def state(self) -> CountedState:
        return CountedState.COUNTED if self.members else CountedState.EMPTY

    @property
    def wake_at(self) -> float:
        return self.leave_at

    def subscribes(self, topic: str) -> bool:
        return False

    def die(self) -> None:
        self.leave_at = math.inf


@dataclass
class Counted:
    """An effect: somebody is told of a count."""

    count: int


TOLD: list[int] = []


class CountedKind(GroupKind[CountedGroup]):
    group_class = CountedGroup
    record_keys = (ShareGroupMetadataKey,)
    effects = {Counted: lambda coordinator: lambda loaded, effect: TOLD.append(effect.count)}  # noqa: RUF012 - as each kind

    def replay(self, groups, key, value, /) -> None:
        if value is None:
            groups.end(key.group_id, CountedGroup)
            return
        group = groups.get(key.group_id, CountedGroup) or groups.add(CountedGroup(key.group_id))
        group.members = range(value.epoch)

    def tick(self, group, find, /) -> Outcome:
        group.leave_at = math.inf
        return Outcome([record(group.group_id, 0)])

    def end(self, group, /) -> list[CoordinatorRecord]:
        return [CoordinatorRecord(ShareGroupMetadataKey(group_id=group.group_id), None, 0)]


def record(group_id: str, count: int) -> CoordinatorRecord:
    value = ShareGroupMetadataValue(epoch=count)
    return CoordinatorRecord(ShareGroupMetadataKey(group_id=group_id), value, 0)


def count_one(shard, group_id: str) -> Decision[int]:
    """A request of its protocol: a member comes; the answer is their number."""
    group = shard.groups.get(group_id)
    if group is not None and not isinstance(group, CountedGroup):
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a counted group.")
    count = 1 if group is None else len(group.members) + 1

    def note() -> Outcome:
        shard.groups[group_id].leave_at = shard.around.clock.monotonic() + _LIMIT_S
        return Outcome(effects=[Counted(count)])

    return Decision(count, Outcome([record(group_id, count)], then=note))


def members(shard, group_id: str) -> int:
    group = shard.groups.get(group_id)
    if group is None:
        raise group_not_found(group_id)
    return len(group.members)


@pytest.fixture
def world(monkeypatch) -> GroupCluster:
    monkeypatch.setattr(kinds, "KINDS", (*kinds.KINDS, CountedKind()))
    TOLD.clear()
    world = GroupCluster()
    world.topic()
    world.coordinator(GROUP)
    return world


def ask(world: GroupCluster, step) -> int:
    return world.broker.groups.ask(GROUP, step, GROUP)


def listed(world: GroupCluster) -> list[tuple[str, str, str]]:
    answer = world.ask(ListGroupsRequest(), 5)
    return [(each.group_id, each.group_type, each.group_state) for each in answer.groups]


def test_its_requests_go_to_its_own_steps(world) -> None:
    assert [ask(world, count_one), ask(world, count_one), ask(world, members)] == [1, 2, 2]
    assert TOLD == [1, 2]
    assert listed(world) == [(GROUP, "counted", "Counted")]


def test_it_is_in_the_log(world) -> None:
    ask(world, count_one)
    world.restart(kill=True)
    assert ask(world, members) == 1


def test_time_passes_in_it(world) -> None:
    ask(world, count_one)
    world.advance(_LIMIT_S * 1000)
    assert ask(world, members) == 0
    assert listed(world) == [(GROUP, "counted", "Empty")]


def test_it_can_be_deleted_when_it_is_empty(world) -> None:
    def delete() -> int:
        return world.ask(DeleteGroupsRequest([GROUP]), 2).results[0].error_code

    ask(world, count_one)
    assert delete() == ErrorCode.NON_EMPTY_GROUP
    world.advance(_LIMIT_S * 1000)
    assert delete() == ErrorCode.NONE
    assert listed(world) == []


def test_requests_of_other_protocols_are_refused(world) -> None:
    ask(world, count_one)
    assert world.join().value.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.ask(HeartbeatRequest(GROUP, 1, "m"), 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.commit({("t", 0): 5}) == {("t", 0): ErrorCode.GROUP_ID_NOT_FOUND}
    assert world.ask(DescribeGroupsRequest([GROUP]), 6).groups[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND
    described = world.ask(ConsumerGroupDescribeRequest([GROUP]), 1).groups[0]
    assert (described.error_code, described.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Group {GROUP} is not a consumer group.",
    )


def test_its_requests_are_refused_in_a_group_of_another_kind(world) -> None:
    world.commit({("t", 0): 5})
    with pytest.raises(KafkaError, match="is not a counted group"):
        ask(world, count_one)


_FIRST_OF = """
import sys
from pykbroker.tests.kit.groups import GroupCluster
def there():
    return sorted(kind for kind in ("share", "streams") if f"pykbroker.coordination.groups.{kind}.kind" in sys.modules)
world = GroupCluster()
world.topic()
world.coordinator("g")
world.join()
world.restart()
print(there())
from pykbroker.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
world.coordinator("shares")
request = ShareGroupHeartbeatRequest(group_id="shares", member_id="m", subscribed_topic_names=["t"])
print(world.ask(request, 1).error_code, there())
world.restart(kill=True)
print(there())
"""


def test_share_and_streams_groups_are_imported_with_the_first_of_them() -> None:
    done = subprocess.run([sys.executable, "-c", _FIRST_OF], text=True, capture_output=True, check=False)
    assert done.stdout.splitlines() == ["[]", "0 ['share']", "['share']"], done.stderr


def test_a_record_imports_its_kind() -> None:
    known = kinds.Kinds()
    kind = known.of_record(ShareGroupMetadataKey)
    assert kind is not None
    assert kind.group_class.__name__ == "ShareGroup"
    assert known.of_record(ShareGroupMetadataKey) is kind
    assert known.of_record(int) is None
