"""JoinGroup through the dispatcher: which refusals repeat the member id of the request."""

from __future__ import annotations

from pykbroker.tests.kit.cluster import GROUP
from pykbroker.tests.kit.groups import GroupCluster
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


def refused(world: GroupCluster, group: str = GROUP, session_ms: int = 10_000) -> tuple[int, str, str | None]:
    answer = world.join("somebody", group=group, session_ms=session_ms).value
    return answer.error_code, answer.member_id, answer.protocol_name


def test_what_is_refused_before_the_group_is_asked_repeats_the_member_id() -> None:
    world = GroupCluster()
    assert refused(world, group="") == (ErrorCode.INVALID_GROUP_ID, "somebody", None)
    assert refused(world, session_ms=1) == (ErrorCode.INVALID_SESSION_TIMEOUT, "somebody", None)
    world.coordinator(GROUP)
    assert refused(world) == (ErrorCode.UNKNOWN_MEMBER_ID, "somebody", None), "a classic group's own refusal"


def test_other_refusals_do_not() -> None:
    world = GroupCluster(brokers=2, group_consumer_migration_policy="disabled")
    elsewhere = world.join("somebody", broker=3 - world.coordinator(GROUP)).value
    assert (elsewhere.error_code, elsewhere.member_id) == (ErrorCode.NOT_COORDINATOR, "")
    world.ask(ConsumerGroupHeartbeatRequest(GROUP, "m", 0, None, None, 1000, ["t"], None, None, []), 1)
    assert refused(world) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "", None)
