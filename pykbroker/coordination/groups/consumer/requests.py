"""Requests of the consumer protocol (KIP-848), as steps for ``GroupCoordinator.ask``, and whether they are served."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.classic.group import ClassicGroup
from pykbroker.coordination.groups.consumer import describing, leaving
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.heartbeats import Heartbeat, is_alive, nothing_new
from pykbroker.coordination.groups.consumer.migration import upgrade_for
from pykbroker.coordination.groups.group import group_not_found
from pykbroker.coordination.groups.member_group import existing, of_another_kind
from pykbroker.coordination.groups.records import group_tombstone
from pykbroker.coordination.outcome import Decision, Outcome
from pykbroker.metadata.features import GROUP_VERSION
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.groups.consumer.reconciling import Reported
    from pykbroker.coordination.groups.group import Group
    from pykbroker.coordination.groups.shard import GroupShard
    from pykbroker.coordination.host import CoordinationHost
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.consumer_group_describe import DescribedGroup
    from pykbroker.wire.messages.consumer_group_heartbeat import (
        ConsumerGroupHeartbeatRequest,
        ConsumerGroupHeartbeatResponse,
    )


def check_served(host: CoordinationHost) -> None:
    """Raise KafkaError UNSUPPORTED_VERSION unless groups of the consumer protocol are served."""
    enabled = "consumer" in host.config["group.coordinator.rebalance.protocols"]
    if not (enabled and host.metadata.image.features.get(GROUP_VERSION, 0)):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)


def heartbeat(
    shard: GroupShard,
    context: RequestContext,
    request: ConsumerGroupHeartbeatRequest,
    reported: Reported | None = None,
) -> ConsumerGroupHeartbeatResponse | Decision[ConsumerGroupHeartbeatResponse]:
    """ConsumerGroupHeartbeat, already validated (``checking.check_request``), with what is ``reported_in`` it if that is much. A new member creates the group; in a classic group
    it replaces an empty one and upgrades one with members. Raises KafkaError GROUP_ID_NOT_FOUND, and what ``Heartbeat.beat``,
    ``leaving.leave`` and ``upgrade_for`` raise.
    """
    group = shard.groups.get(request.group_id)
    if isinstance(group, ConsumerGroup):
        alive = nothing_new(group, context, request)
        if alive is not None:
            return alive
    reply: Deferred[ConsumerGroupHeartbeatResponse] = Deferred()
    beat = Heartbeat(context, request, reply, shard.groups.get, shard.around, reported)
    return Decision(reply, _beat(group, beat))


def heartbeat_usual(
    shard: GroupShard,
    group_id: str,
    member_id: str,
    epoch: int,
    rebalance_timeout_ms: int,
    client: tuple[str | None, str],
) -> int | None:
    """The heartbeat interval for a heartbeat without anything else, as ``is_alive``; None where that, or the group, asks for
    ``heartbeat``. A member of a group has ids that ``checking.check_request`` allows.
    """
    group = shard.groups.get(group_id)
    if not isinstance(group, ConsumerGroup):
        return None
    return is_alive(group, member_id, epoch, rebalance_timeout_ms, client)


def _beat(group: Group | None, beat: Heartbeat) -> Outcome:
    request = beat.request
    if isinstance(group, ConsumerGroup):
        if beat.leaves:
            return leaving.leave(group, request, beat.reply, beat.find)
        return beat.beat(group, [])
    if group is None:
        if beat.leaves:
            raise group_not_found(request.group_id)
        if request.member_epoch != 0:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {request.group_id} not found.")
        return beat.beat_in_new([])
    if request.member_epoch != 0 or not isinstance(group, ClassicGroup):
        raise of_another_kind(group.group_id, ConsumerGroup)
    return beat.beat_in_new([group_tombstone(group.group_id)]) if group.is_empty else upgrade_for(beat, group)


def describe(shard: GroupShard, group_id: str) -> DescribedGroup:
    """ConsumerGroupDescribe of one group. Raises KafkaError GROUP_ID_NOT_FOUND for one of another kind, too."""
    return describing.described(existing(shard.groups.get, group_id, ConsumerGroup))
