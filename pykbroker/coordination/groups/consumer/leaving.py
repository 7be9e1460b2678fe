"""Members leave: by request, for good or temporarily (static members), or because a deadline has passed.

The records of a member that leaves are removed and the group epoch rises; the others are reassigned with their next
heartbeats. If only classic members stay, the group is downgraded if the policy allows it (see ``migration``).
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace

from pykbroker.coordination.groups.consumer import migration
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.member import ConsumerMember
from pykbroker.coordination.groups.consumer.metadata_hash import metadata_hash
from pykbroker.coordination.groups.consumer.records import (
    assignment_record,
    epoch_record,
    member_tombstones,
    regex_tombstone,
    target_epoch_record,
)
from pykbroker.coordination.groups.group import Find
from pykbroker.coordination.groups.member_group import LEAVING_FOR_NOW
from pykbroker.coordination.outcome import Outcome
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

log = logging.getLogger(__name__)


def leave(
    group: ConsumerGroup,
    request: ConsumerGroupHeartbeatRequest,
    reply: Deferred[ConsumerGroupHeartbeatResponse],
    find: Find,
) -> Outcome:
    """A heartbeat with epoch -1 or -2. Raises KafkaError UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID."""
    member = group.named(request.member_id, request.instance_id)
    log.info("Group %s: member %s leaves with member epoch %d", group.group_id, member.member_id, request.member_epoch)
    response = ConsumerGroupHeartbeatResponse(member_id=member.member_id, member_epoch=request.member_epoch)
    if request.instance_id is not None and request.member_epoch == LEAVING_FOR_NOW:
        assigned = {topic_id: dict.fromkeys(owned, 0) for topic_id, owned in member.assigned.items()}
        away = replace(member, epoch=LEAVING_FOR_NOW, assigned=assigned, revoking={})
        return Outcome([assignment_record(group.group_id, away)], [(reply, response)])
    out = fence(group, [member], find)
    out.reply(reply, response)
    return out


def fence(group: ConsumerGroup, members: list[ConsumerMember], find: Find) -> Outcome:
    """Remove these members."""
    if not members:
        return Outcome()
    if migration.may_downgrade(group, members):
        return migration.downgrade(group, members, find)
    out = Outcome()
    for member in members:
        out.records += member_tombstones(group.group_id, member.member_id)
    gone = Counter(member.subscribed_regex for member in members if member.subscribed_regex)
    unused = [pattern for pattern, count in gone.items() if group.subscribed_to(pattern) == count]
    out.records += (regex_tombstone(group.group_id, pattern) for pattern in unused)
    hashed = metadata_hash(group.topics_after(members, without=unused), group.around.image)
    out.records.append(epoch_record(group.group_id, group.epoch + 1, hashed))
    if len(members) == len(group.members):  # nobody is left who could be assigned something
        out.records.append(target_epoch_record(group.group_id, group.epoch + 1, 0))
    return out


def tick(group: ConsumerGroup, find: Find) -> Outcome:
    """Fence members of which a deadline has passed."""
    over = group.deadlines.due(group.members)
    return fence(group, [group.members[member_id] for member_id in over if member_id in group.members], find)
