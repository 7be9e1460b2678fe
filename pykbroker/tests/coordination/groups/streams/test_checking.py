"""What a heartbeat of a streams group must have: each rule is broken alone, and refused in Kafka's words."""

from __future__ import annotations

from typing import Any

import pytest

from pykbroker.coordination.groups.streams.checking import check_released, check_request, check_tasks
from pykbroker.coordination.groups.streams.member import StreamsMember
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)

JOINING: dict[str, Any] = {
    "rebalance_timeout_ms": 1000,
    "topology": Topology(0, [Subtopology("0", ["in"])]),
    "active_tasks": [],
    "standby_tasks": [],
    "warmup_tasks": [],
}
CHANGELOG = Topology(0, [Subtopology("0", ["in"], state_changelog_topics=[TopicInfo("log", partitions=3)])])
PATTERN = Topology(0, [Subtopology("0", source_topic_regex=["in.*"])])
SOME = [TaskIds("0", [0])]


def checked(epoch: int, **fields: Any) -> None:
    check_request(StreamsGroupHeartbeatRequest(**{"group_id": "g", "member_id": "m", "member_epoch": epoch, **fields}))


def refusal(epoch: int, **fields: Any) -> KafkaError | None:
    try:
        checked(epoch, **fields)
    except KafkaError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("epoch", "fields"),
    [
        (0, JOINING),
        (5, {}),
        (5, {"active_tasks": SOME, "standby_tasks": [], "warmup_tasks": []}),
        (-1, {}),
        (-2, {"instance_id": "i"}),
    ],
)
def test_what_is_right_is_taken(epoch: int, fields: dict[str, Any]) -> None:
    assert refusal(epoch, **fields) is None


@pytest.mark.parametrize(
    ("epoch", "fields", "words"),
    [
        (0, {**JOINING, "topology": PATTERN}, "Regular expressions"),
        (5, {"member_id": " "}, "MemberId"),
        (5, {"group_id": ""}, "GroupId"),
        (5, {"instance_id": ""}, "InstanceId"),
        (5, {"rack_id": ""}, "RackId"),
        (0, {**JOINING, "rebalance_timeout_ms": -1}, "RebalanceTimeoutMs"),
        (0, {**JOINING, "active_tasks": SOME}, "ActiveTasks must be empty"),
        (0, {**JOINING, "standby_tasks": None}, "StandbyTasks must be empty"),
        (0, {**JOINING, "warmup_tasks": SOME}, "WarmupTasks must be empty"),
        (0, {**JOINING, "topology": None}, "Topology must be non-null"),
        (-2, {}, "InstanceId can't be null"),
        (-3, {}, "MemberEpoch is -3"),
        (5, {"active_tasks": SOME}, "all must be non-null"),
        (5, {"topology": JOINING["topology"]}, "Topology can only be provided"),
    ],
)
def test_one_thing_is_wrong(epoch: int, fields: dict[str, Any], words: str) -> None:
    with pytest.raises(KafkaError, match=words) as refused:
        checked(epoch, **fields)
    assert refused.value.code is ErrorCode.INVALID_REQUEST


def test_a_changelog_has_no_partitions_of_its_own() -> None:
    with pytest.raises(KafkaError, match="set to 3") as refused:
        checked(0, **{**JOINING, "topology": CHANGELOG})
    assert refused.value.code is ErrorCode.STREAMS_INVALID_TOPOLOGY


def test_an_instance_id_is_free_once_its_member_has_left_for_now() -> None:
    with pytest.raises(KafkaError, match="owned by old member") as refused:
        check_released(StreamsMember("old", epoch=3), "new", "i")
    assert refused.value.code is ErrorCode.UNRELEASED_INSTANCE_ID
    check_released(StreamsMember("old", epoch=-2), "new", "i")


def test_tasks_are_those_of_the_application() -> None:
    check_tasks({"0": 2}, None)
    check_tasks({"0": 2}, [TaskIds("0", [0, 1])])
    for named, words in (
        (TaskIds("0", [2]), "Task 2"),
        (TaskIds("0", [-1]), "Task -1"),
        (TaskIds("1", [0]), "Subtopology 1"),
    ):
        with pytest.raises(KafkaError, match=words):
            check_tasks({"0": 2}, [named])
