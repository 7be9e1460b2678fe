"""Members leave a streams group: they say so, or are fenced when a deadline passes."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.assigning import Assigning
from pykbroker.coordination.groups.group import Find, find_of_kind
from pykbroker.coordination.groups.member_group import LEAVING_FOR_NOW
from pykbroker.coordination.groups.streams.group import StreamsGroup
from pykbroker.coordination.groups.streams.heartbeats import StreamsAnswer
from pykbroker.coordination.groups.streams.member import StreamsMember
from pykbroker.coordination.groups.streams.preparing import Prepared, encoded_before
from pykbroker.coordination.groups.streams.records import (
    assignment_record,
    epoch_record,
    member_tombstones,
    target_epoch_record,
)
from pykbroker.coordination.groups.streams.targets import assign
from pykbroker.coordination.groups.streams.tasks import OWNS_NOTHING
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatResponse

if TYPE_CHECKING:
    from pykbroker.runtime.waits import Deferred
    from pykbroker.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest

log = logging.getLogger(__name__)


def leave(
    group: StreamsGroup,
    request: StreamsGroupHeartbeatRequest,
    reply: Deferred[StreamsAnswer],
    find: Find,
    prepared: Prepared | None,
) -> Outcome:
    """A heartbeat with epoch -1 or -2. Raises KafkaError UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID, and NotEncoded."""
    member = group.named(request.member_id, request.instance_id)
    log.info("Streams group %s: member %s leaves with epoch %d", group.group_id, member.member_id, request.member_epoch)
    if request.instance_id is not None and request.member_epoch == LEAVING_FOR_NOW:
        away = _left_for_now(member)
        records = [assignment_record(group.group_id, away, encoded_before(prepared, away))]
    else:
        records = fence(group, [member])
    response = StreamsGroupHeartbeatResponse(member_id=member.member_id, member_epoch=request.member_epoch)
    return Outcome(
        records,
        [(reply, StreamsAnswer(response, []))],
        then=partial(_shut_down, group.group_id, request, find),
    )


def _left_for_now(member: StreamsMember) -> StreamsMember:
    """A static member keeps its tasks until it returns or its session ends."""
    assigned = member.assigned._replace(active=dict.fromkeys(member.assigned.active, 0))
    return replace(member, epoch=LEAVING_FOR_NOW, assigned=assigned, revoking=OWNS_NOTHING)


def _shut_down(group_id: str, request: StreamsGroupHeartbeatRequest, find: Find) -> Outcome:
    """A member that leaves may ask the others to end, too."""
    group = find_of_kind(find, group_id, StreamsGroup)
    if group is not None and request.shutdown_application and group.members and group.shutdown_requested_by is None:
        log.info("Streams group %s: member %s shuts the application down", group_id, request.member_id)
        group.shutdown_requested_by = request.member_id
    return Outcome()


def fence(group: StreamsGroup, members: list[StreamsMember]) -> list[CoordinatorRecord]:
    """The records by which members leave."""
    if not members:
        return []
    group_id, epoch = group.group_id, group.facts.epoch + 1
    gone = [each for member in members for each in member_tombstones(group_id, member.member_id)]
    records = [*gone, epoch_record(group_id, replace(group.facts, epoch=epoch))]
    if len(members) == len(group.members):  # nobody will compute a target for this epoch
        records.append(target_epoch_record(group_id, epoch, 0))
    return records


def tick(group: StreamsGroup) -> Outcome:
    """Compute the first assignment when the wait for further members is over, and fence members that are late."""
    records: list[CoordinatorRecord] = []
    effects: list[Assigning] = []
    configured = group.configured
    if group.deadlines.initial_delay_is_over() and group.members and configured is not None:
        facts = group.facts
        if facts.epoch > group.target_epoch:
            found = assign(group, facts.epoch, group.members, configured, facts.assignment_configs, group.offsets)
            if isinstance(found, Assigning):
                effects.append(found)
            else:
                records, _ = found
    over = group.deadlines.due(group.members)
    for member, reason in over:
        log.info("Streams group %s: member %s is fenced: %s", group.group_id, member.member_id, reason)
    return Outcome([*records, *fence(group, [member for member, _ in over])], effects=effects)
