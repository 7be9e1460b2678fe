"""Requests of share groups' members and administrators (KIP-932), as steps for ``GroupCoordinator.ask``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.member_group import LEAVING, existing
from pykbroker.coordination.groups.share.describing import described
from pykbroker.coordination.groups.share.group import ShareGroup
from pykbroker.coordination.groups.share.heartbeats import ShareHeartbeat
from pykbroker.coordination.outcome import Decision
from pykbroker.metadata.features import SHARE_VERSION
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.groups.shard import GroupShard
    from pykbroker.coordination.host import CoordinationHost
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.share_group_describe import DescribedGroup
    from pykbroker.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse


def are_served(host: CoordinationHost) -> bool:
    """Whether share groups are served."""
    enabled = "share" in host.config["group.coordinator.rebalance.protocols"]
    return enabled or host.metadata.image.features.get(SHARE_VERSION, 0) > 0


def check_served(host: CoordinationHost) -> None:
    """Raise KafkaError UNSUPPORTED_VERSION unless share groups are served."""
    if not are_served(host):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)


def heartbeat(
    shard: GroupShard, context: RequestContext, request: ShareGroupHeartbeatRequest
) -> Decision[ShareGroupHeartbeatResponse]:
    """ShareGroupHeartbeat, already validated (``heartbeats.check_request``); a new member creates the group. Raises KafkaError
    GROUP_ID_NOT_FOUND, and what ``ShareHeartbeat`` raises.
    """
    reply: Deferred[ShareGroupHeartbeatResponse] = Deferred()
    beat = ShareHeartbeat(context, request, reply, shard.groups.get)
    if request.member_epoch == 0 and request.group_id not in shard.groups:
        return Decision(reply, beat.beat(ShareGroup(request.group_id, shard.around)))
    if request.group_id not in shard.groups and request.member_epoch != LEAVING:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Share group {request.group_id} not found.")
    group = existing(shard.groups.get, request.group_id, ShareGroup)
    return Decision(reply, beat.leave(group) if request.member_epoch == LEAVING else beat.beat(group))


def describe(shard: GroupShard, group_id: str) -> DescribedGroup:
    """ShareGroupDescribe of one group. Raises KafkaError GROUP_ID_NOT_FOUND for one of another kind, too."""
    return described(existing(shard.groups.get, group_id, ShareGroup))
