"""Requests of streams groups' members and administrators (KIP-1071), as steps for ``GroupCoordinator.ask``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.classic.group import ClassicGroup
from pykbroker.coordination.groups.member_group import LEAVING, LEAVING_FOR_NOW, existing, of_another_kind
from pykbroker.coordination.groups.records import group_tombstone
from pykbroker.coordination.groups.streams.describing import described
from pykbroker.coordination.groups.streams.group import StreamsGroup
from pykbroker.coordination.groups.streams.heartbeats import StreamsAnswer, StreamsHeartbeat
from pykbroker.coordination.groups.streams.leaving import leave
from pykbroker.coordination.groups.streams.preparing import NotEncoded, Prepared, UnencodedTasks, preparation
from pykbroker.coordination.outcome import Decision, Outcome
from pykbroker.metadata.features import STREAMS_VERSION
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from collections.abc import Generator

    from pykbroker.coordination.groups.group import Group
    from pykbroker.coordination.groups.shard import GroupShard
    from pykbroker.coordination.groups.streams.preparing import Unprepared
    from pykbroker.coordination.host import CoordinationHost
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.streams_group_describe import DescribedGroup
    from pykbroker.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest


def check_served(host: CoordinationHost) -> None:
    """Raise KafkaError UNSUPPORTED_VERSION unless streams groups are served."""
    enabled = "streams" in host.config["group.coordinator.rebalance.protocols"]
    if not (enabled and host.metadata.image.features.get(STREAMS_VERSION, 0)):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)


def heartbeat(
    shard: GroupShard,
    context: RequestContext,
    request: StreamsGroupHeartbeatRequest,
    prepared: Prepared | None = None,
) -> Decision[StreamsAnswer] | Unprepared:
    """StreamsGroupHeartbeat, already validated (``checking.check_request``). A new member creates the group, also in place of an
    empty classic one. Nothing is done as long as something large has to be ``prepared`` first (``preparing``). Raises KafkaError
    GROUP_ID_NOT_FOUND, and what ``StreamsHeartbeat`` and ``leave`` raise.
    """
    reply: Deferred[StreamsAnswer] = Deferred()
    group = shard.groups.get(request.group_id)
    find = shard.groups.get
    try:
        if request.member_epoch in (LEAVING, LEAVING_FOR_NOW):
            there = existing(find, request.group_id, StreamsGroup)
            return Decision(reply, leave(there, request, reply, find, prepared))
        first = preparation(group, shard.around.image, request, prepared)
        if first is not None:
            return first
        beat = StreamsHeartbeat(context, request, reply, find, prepared=prepared)
        return Decision(reply, _beat(shard, group, beat))
    except NotEncoded as error:
        known = group.topology if isinstance(group, StreamsGroup) else None
        return UnencodedTasks(error.of, prepared or Prepared(known))


def _beat(shard: GroupShard, group: Group | None, beat: StreamsHeartbeat) -> Outcome:
    group_id, joins = beat.request.group_id, beat.request.member_epoch == 0
    if isinstance(group, StreamsGroup):
        return beat.beat(group)
    if group is None and not joins:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Streams group {group_id} not found.")
    if group is not None:
        if not (joins and isinstance(group, ClassicGroup) and group.is_empty):
            raise of_another_kind(group_id, StreamsGroup)
        beat.records.append(group_tombstone(group_id))
    return beat.beat(StreamsGroup(group_id, shard.around), is_new=True)


def describe(shard: GroupShard, group_id: str) -> Generator[float, None, DescribedGroup]:
    """StreamsGroupDescribe of one group as it is now, in slices. Raises KafkaError GROUP_ID_NOT_FOUND for one of another kind, too."""
    return described(existing(shard.groups.get, group_id, StreamsGroup))
