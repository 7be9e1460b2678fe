"""Describe-, Alter- and DeleteShareGroupOffsets, from the request to the state at the share coordinator and back."""

from __future__ import annotations

import pytest

from pykbroker.share_partitions.states import Acknowledge
from pykbroker.tests.kit.share_groups import SHARE_GROUP, ShareCluster, ShareMember
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from pykbroker.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from pykbroker.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from pykbroker.wire.records import Record, encode_batch

NONE, UNKNOWN_TOPIC, NOT_FOUND, NON_EMPTY = 0, 3, 69, 68


def describe(world: ShareCluster, topics: dict[str, list[int]] | None = None, group: str = SHARE_GROUP):
    named = (
        None if topics is None else [DescribeShareGroupOffsetsRequestTopic(name, some) for name, some in topics.items()]
    )
    request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group, named)])
    (answer,) = answered(world, request, 1).groups
    assert answer.error_code == 0, answer
    return {
        (topic.topic_name, each.partition_index): (each.start_offset, each.lag, each.error_code)
        for topic in answer.topics
        for each in topic.partitions
    }


def alter(world: ShareCluster, topic: str, offsets: dict[int, int], group: str = SHARE_GROUP):
    wanted = [AlterShareGroupOffsetsRequestPartition(*each) for each in offsets.items()]
    request = AlterShareGroupOffsetsRequest(group, [AlterShareGroupOffsetsRequestTopic(topic, wanted)])
    answer = answered(world, request, 0)
    return answer.error_code or {each.partition_index: each.error_code for each in answer.responses[0].partitions}


def delete(world: ShareCluster, *topics: str, group: str = SHARE_GROUP):
    named = [DeleteShareGroupOffsetsRequestTopic(each) for each in topics]
    answer = answered(world, DeleteShareGroupOffsetsRequest(group, named), 0)
    return answer.error_code or {each.topic_name: each.error_code for each in answer.responses}


def answered(world: ShareCluster, request, version: int):
    waiting = world.post(request, version, broker=world.coordinator(request_group(request)))
    for _ in range(60):
        world.settle()
        if waiting.done:
            return waiting.value
        world.advance(20)
    raise AssertionError("no answer")


def request_group(request) -> str:
    return request.groups[0].group_id if hasattr(request, "groups") else request.group_id


def left(world: ShareCluster) -> None:
    assert world.heartbeat("m", -1).error_code == 0
    world.settle()


def test_start_offsets_and_lag() -> None:
    world = ShareCluster(partitions=2)
    world.joined()
    assert describe(world) == {("t", 0): (-1, -1, NONE), ("t", 1): (-1, -1, NONE)}
    world.produce(10)
    member = ShareMember(world, partitions=2)
    assert member.acquired() == [(0, 9, 1)]
    assert member.acknowledge(0, 3, Acknowledge.ACCEPT) == ErrorCode.NONE
    assert describe(world)["t", 0] == (0, 6, NONE)  # where the start was when this was written, as in Kafka
    assert member.acknowledge(6, 7, Acknowledge.ACCEPT) == ErrorCode.NONE
    assert describe(world)["t", 0] == (4, 4, NONE)  # two after the start are done with
    world.produce(5)
    assert describe(world, {"t": [0, 5], "unknown": [0]}) == {
        ("t", 0): (4, 9, NONE), ("t", 5): (0, -1, UNKNOWN_TOPIC), ("unknown", 0): (-1, -1, NONE),
    }  # fmt: skip


def test_offsets_are_altered_while_there_is_no_member() -> None:
    world = ShareCluster()
    world.joined()
    world.produce(10)
    assert alter(world, "t", {0: 6}) == NON_EMPTY
    left(world)
    assert alter(world, "t", {0: 6, 3: 1}) == {0: NONE, 3: UNKNOWN_TOPIC}
    assert alter(world, "unknown", {0: 6}) == {0: UNKNOWN_TOPIC}
    assert describe(world)["t", 0] == (6, 4, NONE)
    world.restart(kill=True)
    world.joined()
    assert ShareMember(world).acquired() == [(6, 9, 1)]


@pytest.mark.parametrize(("start", "lag"), [(-(2**63), -(2**63)), (2**63 - 1, 1 - 2**63)])
def test_a_lag_that_does_not_fit_is_what_apache_kafka_answers(start: int, lag: int) -> None:
    world = ShareCluster()
    assert alter(world, "t", {0: start}) == {0: NONE}
    assert describe(world)["t", 0] == (start, lag, NONE)


def test_a_group_that_is_not_there_is_made_by_altering_and_not_by_deleting() -> None:
    world = ShareCluster()
    world.produce(3)
    assert delete(world, "t", group="new") == NOT_FOUND
    assert alter(world, "t", {0: 2}, group="new") == {0: NONE}
    assert describe(world, group="new") == {("t", 0): (2, 1, NONE)}
    assert alter(world, "t", {0: 2}, group="") == ErrorCode.INVALID_GROUP_ID


def test_offsets_of_a_topic_are_forgotten() -> None:
    world = ShareCluster()
    world.joined()
    world.produce(4)
    member = ShareMember(world)
    assert member.acquired() == [(0, 3, 1)]
    assert member.acknowledge(0, 3, Acknowledge.ACCEPT) == ErrorCode.NONE
    assert delete(world, "t") == NON_EMPTY
    member.close()
    left(world)
    assert list(delete(world, "t", "unknown").items()) == [("unknown", UNKNOWN_TOPIC), ("t", NONE)]
    assert describe(world) == {}
    assert delete(world, "t") == {"t": UNKNOWN_TOPIC}
    world.joined()
    assert ShareMember(world).acquired() == [(0, 3, 1)]  # from the beginning


def test_a_lag_is_that_at_the_leader_wherever_the_group_is_coordinated() -> None:
    world = ShareCluster(2, partitions=2, own_stores=True)
    for broker in world.cluster.brokers.values():
        for led in broker.partitions():
            if led.topic == "t":
                led.append_at_once(memoryview(bytearray(encode_batch([Record(0, world.clock.now_ms(), value=b"v")]))))
    assert alter(world, "t", {0: 0, 1: 0}) == {0: NONE, 1: NONE}
    assert describe(world) == {("t", 0): (0, 1, NONE), ("t", 1): (0, 1, NONE)}
