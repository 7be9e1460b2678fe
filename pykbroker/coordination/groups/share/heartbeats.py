"""ShareGroupHeartbeat: a member joins, heartbeats, changes its subscription, receives its assignment, and leaves (KIP-932)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pykbroker.coordination.groups.assigning import Assigning
from pykbroker.coordination.groups.consumer.metadata_hash import metadata_hash
from pykbroker.coordination.groups.group import Find, find_of_kind
from pykbroker.coordination.groups.member_group import check_not_blank, invalid
from pykbroker.coordination.groups.share import initializing
from pykbroker.coordination.groups.share.group import ShareGroup, ShareMember
from pykbroker.coordination.groups.share.records import (
    assignment_record,
    epoch_record,
    member_record,
    member_tombstones,
    target_epoch_record,
)
from pykbroker.coordination.groups.share.targets import assign, filtered
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)

if TYPE_CHECKING:
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext

log = logging.getLogger(__name__)


@dataclass(slots=True)
class ShareHeartbeat:
    """One request, and what is decided for it."""

    context: RequestContext
    request: ShareGroupHeartbeatRequest
    reply: Deferred[ShareGroupHeartbeatResponse]
    find: Find
    records: list[CoordinatorRecord] = field(default_factory=list)

    def beat(self, group: ShareGroup) -> Outcome:
        """Join or heartbeat. Raises KafkaError GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, and
        UNKNOWN_SERVER_ERROR if no assignment can be computed.
        """
        request = self.request
        group.check_room(request.member_id, group.settings.max_size)
        if request.member_epoch == 0:
            before = group.members.get(request.member_id) or ShareMember(request.member_id)
            log.info("Share group %s: member %s joins", group.group_id, request.member_id)
        else:
            before = group.member(request.member_id)
            _check_epoch(group, before, request.member_epoch)
        stated = self._stated(before)
        epoch, bumped = self._epoch(group, before, stated)
        target_epoch, target = group.target_epoch, group.targets.get(stated.member_id, {})
        effects: list[Any] = []
        found = assign(group, epoch, stated) if group.may_assign(epoch) else None
        if isinstance(found, Assigning):
            effects.append(found)
        elif found is not None:
            records, given = found
            self.records += records
            target_epoch, target = epoch, given[stated.member_id]
        after = stated
        if stated.epoch != target_epoch:
            after = replace(
                stated,
                epoch=target_epoch,
                previous_epoch=stated.epoch,
                assigned=filtered(group, target, stated.subscribed),
            )
        elif bumped:
            after = replace(stated, assigned=filtered(group, target, stated.subscribed))
        if after != stated:
            self.records.append(assignment_record(group.group_id, after))
        to_initialize = initializing.begin(group, group.topics_after([before], after), epoch, self.records)
        if to_initialize is not None:
            effects.append(to_initialize)
        answer = self._answer(group, before, after)
        return Outcome(
            self.records,
            [(self.reply, answer)],
            then=partial(self._settle, group.group_id),
            effects=effects,
        )

    def _stated(self, member: ShareMember) -> ShareMember:
        """The member with the fields of the request; fields that the request omits stay."""
        request = self.request
        names = request.subscribed_topic_names
        return replace(
            member,
            rack_id=member.rack_id if request.rack_id is None else request.rack_id,
            subscribed=member.subscribed if names is None else frozenset(names),
            client_id=self.context.client_id or "",
            client_host=f"/{self.context.client_host}",
        )

    def _epoch(self, group: ShareGroup, before: ShareMember, after: ShareMember) -> tuple[int, bool]:
        """The group epoch, and whether it was raised: for a subscription, initialized partitions, or changed topics."""
        bumps = after.subscribed != before.subscribed
        if after != before or after.member_id not in group.members:
            self.records.append(member_record(group.group_id, after))
        if group.target_epoch >= group.epoch:
            bumps |= group.has_initialized_unassigned()
        if not (bumps or group.metadata_is_stale):
            return group.epoch, False
        found = metadata_hash(group.topics_after([before], after), group.around.image)
        if not bumps and found == group.metadata_hash:
            return group.epoch, False
        epoch = group.epoch + 1
        self.records.append(epoch_record(group.group_id, epoch, found))
        log.info("Share group %s: bumped group epoch to %d", group.group_id, epoch)
        return epoch, True

    def _settle(self, group_id: str) -> Outcome:
        """The records are replayed: note the state that is not in the log."""
        group = find_of_kind(self.find, group_id, ShareGroup)
        if group is not None:
            group.metadata_is_stale = False
            group.keep_alive(self.request.member_id)
        return Outcome()

    def _answer(self, group: ShareGroup, before: ShareMember, after: ShareMember) -> ShareGroupHeartbeatResponse:
        request = self.request
        response = ShareGroupHeartbeatResponse(
            member_id=after.member_id, member_epoch=after.epoch, heartbeat_interval_ms=group.heartbeat_interval_ms
        )
        is_full = request.subscribed_topic_names is not None
        if request.member_epoch == 0 or is_full or after.assigned != before.assigned:
            response.assignment = Assignment(
                [TopicPartitions(topic_id, sorted(some)) for topic_id, some in after.assigned.items()]
            )
        return response

    def leave(self, group: ShareGroup) -> Outcome:
        """A heartbeat with epoch -1. Raises KafkaError UNKNOWN_MEMBER_ID."""
        member = group.member(self.request.member_id)
        log.info("Share group %s: member %s leaves", group.group_id, member.member_id)
        response = ShareGroupHeartbeatResponse(member_id=member.member_id, member_epoch=self.request.member_epoch)
        return Outcome(fence(group, [member]), [(self.reply, response)])


def fence(group: ShareGroup, members: list[ShareMember]) -> list[CoordinatorRecord]:
    """The records by which members leave."""
    if not members:
        return []
    gone = [each for member in members for each in member_tombstones(group.group_id, member.member_id)]
    found = metadata_hash(group.topics_after(members), group.around.image)
    records = [*gone, epoch_record(group.group_id, group.epoch + 1, found)]
    if len(members) == len(group.members):  # nobody will compute a target for this epoch
        records.append(target_epoch_record(group.group_id, group.epoch + 1, 0))
    return records


def tick(group: ShareGroup) -> Outcome:
    """Fence members whose sessions are over; take deleted topics out of what is initialized."""
    over = group.overdue()
    for member in over:
        log.info("Share group %s: member %s is fenced: its session expired", group.group_id, member.member_id)
    records = fence(group, over)
    if group.state_gone:
        group.state_gone = False
        records += initializing.without_deleted_topics(group)
    return Outcome(records)


def check_request(request: ShareGroupHeartbeatRequest) -> None:
    """Raise KafkaError INVALID_REQUEST for what a member never sends."""
    if not request.member_id.strip():
        raise KafkaError(ErrorCode.INVALID_REQUEST)  # without a message, as Apache Kafka's
    for text, name in ((request.group_id, "GroupId"), (request.rack_id, "RackId")):
        check_not_blank(text, name)
    if request.member_epoch == 0 and not request.subscribed_topic_names:
        raise invalid("SubscribedTopicNames must be set in first request.")
    if request.member_epoch < -1:
        raise invalid("MemberEpoch is invalid.")


def _check_epoch(group: ShareGroup, member: ShareMember, epoch: int) -> None:
    """Raises KafkaError FENCED_MEMBER_EPOCH unless the epoch is the member's, or its previous one."""
    if epoch == member.epoch or (epoch < member.epoch and epoch == member.previous_epoch):
        return
    smaller = f", and it does not match the previous member epoch ({member.previous_epoch})"
    raise group.fenced(member, epoch, smaller if epoch < member.epoch else "")
