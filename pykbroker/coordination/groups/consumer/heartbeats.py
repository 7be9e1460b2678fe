"""ConsumerGroupHeartbeat: a member joins, heartbeats, changes its subscription, and receives its assignment (KIP-848).

Epoch 0 joins, or rejoins after the member was fenced; -1 and -2 leave (see ``leaving``); any other must be the member's. A
static member may rejoin under a new id once the old one has left with -2 or used the classic protocol. The answer has the
assignment if it changed or the request is a full one.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.consumer import checking
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.member import (
    ConsumerMember,
    MemberState,
    partitions_of,
)
from pykbroker.coordination.groups.consumer.reconciling import Reported
from pykbroker.coordination.groups.consumer.records import replacement
from pykbroker.coordination.groups.consumer.settings import ConsumerSettings
from pykbroker.coordination.groups.consumer.stepping import GroupStep
from pykbroker.coordination.groups.group import Find, find_of_kind
from pykbroker.coordination.groups.member_group import LEAVING, LEAVING_FOR_NOW, check_instance
from pykbroker.coordination.groups.surroundings import Surroundings
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.metadata.ids import random_id
from pykbroker.runtime.slices import at_once
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from pykbroker.wire.primitives import uuid_to_str

if TYPE_CHECKING:
    from pykbroker.security.context import RequestContext

log = logging.getLogger(__name__)

Reply = Deferred[ConsumerGroupHeartbeatResponse]

#: Partitions of a report that are looked at in a step, and the weights of these and of a topic (``runtime/slices.py``).
_AT_ONCE = 2000
_WEIGHT_OF_MANY = 5
_WEIGHT_OF_A_TOPIC = 0.2


def nothing_new(
    group: ConsumerGroup, context: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse | None:
    """The answer to a heartbeat that says nothing but that the member is alive, in a group in which nothing is to be done for it: most
    heartbeats are such. None for any other, which is a step of the group (``Heartbeat``) and would answer this one alike.
    """
    if (
        request.topic_partitions is not None
        or request.subscribed_topic_names is not None
        or request.subscribed_topic_regex is not None
        or request.instance_id is not None
        or request.rack_id is not None
        or request.server_assignor is not None
    ):
        return None
    member_id, epoch = request.member_id, request.member_epoch
    client = context.client_id, context.client_host
    interval_ms = is_alive(group, member_id, epoch, request.rebalance_timeout_ms, client)
    if interval_ms is None:
        return None
    return ConsumerGroupHeartbeatResponse(member_id=member_id, member_epoch=epoch, heartbeat_interval_ms=interval_ms)


def is_alive(
    group: ConsumerGroup, member_id: str, epoch: int, rebalance_timeout_ms: int, client: tuple[str | None, str]
) -> int | None:
    """Restart the session of a member, of whose heartbeat this is all, and of its client the id and the host; returns the heartbeat
    interval in milliseconds. None, and nothing is done, where it is not known so or anything is to be done for it (``nothing_new``).
    """
    member = group.members.get(member_id)
    if (
        member is None
        or not member.epoch == epoch == group.target_epoch > 0
        or group.epoch != group.target_epoch
        or member.state is not MemberState.STABLE
        or group.metadata_is_stale
        or group.has_patterns
        or member.classic is not None
        or rebalance_timeout_ms not in (-1, member.rebalance_timeout_ms)
        or member.client_id != (client[0] or "")
        or member.client_host != f"/{client[1]}"
    ):
        return None
    around = group.around
    session_ms, interval_ms = around.settings.of(ConsumerSettings).timing_of(around.group_configs(group.group_id))
    group.deadlines.restart_session(member_id, session_ms)
    return interval_ms


def reported_in(topics: Iterable[TopicPartitions]) -> Generator[float, None, dict[bytes, set[int]]]:
    """What ``Heartbeat.reported`` is: a stranger may report a million partitions, and all of them as often as a frame holds."""
    found: dict[bytes, set[int]] = {}
    for topic in topics:
        known, partitions = found.setdefault(topic.topic_id, set()), topic.partitions
        for begin in range(0, len(partitions), _AT_ONCE):
            known.update(partitions[begin : begin + _AT_ONCE])
            yield _WEIGHT_OF_MANY
        yield _WEIGHT_OF_A_TOPIC
    return found


class Heartbeat:
    """One ConsumerGroupHeartbeat; ``around`` are the surroundings of the shard."""

    __slots__ = ("around", "context", "find", "reply", "reported", "request")

    def __init__(
        self,
        context: RequestContext,
        request: ConsumerGroupHeartbeatRequest,
        reply: Reply,
        find: Find,
        around: Surroundings,
        reported: Reported | None = None,
    ) -> None:
        self.context = context
        self.request = request
        self.reply = reply
        self.find = find
        self.around = around
        #: The partitions that the member says it owns; None if it says nothing.
        self.reported = reported
        if reported is None and request.topic_partitions is not None:
            self.reported = at_once(reported_in(request.topic_partitions))

    @property
    def leaves(self) -> bool:
        """Whether the member leaves with it (``leaving.leave``)."""
        return self.request.member_epoch in (LEAVING, LEAVING_FOR_NOW)

    def beat_in_new(self, records: list[CoordinatorRecord]) -> Outcome:
        """The heartbeat that creates a group; ``records`` end a group that had its id. Raises what ``beat`` raises."""
        return self.beat(ConsumerGroup(self.request.group_id, self.around), records)

    def beat(self, group: ConsumerGroup, records: list[CoordinatorRecord]) -> Outcome:
        """The heartbeat in a group, which ``records`` (appended first) may create.

        Raises KafkaError GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, FENCED_INSTANCE_ID,
        UNRELEASED_INSTANCE_ID, INVALID_REGULAR_EXPRESSION, or UNKNOWN_SERVER_ERROR if no assignment can be computed.
        """
        request = self.request
        group.check_room(request.member_id, group.settings.max_size)
        before = self._member(group, records)
        step = GroupStep(group, before, self._stated(before), self.reported, records)
        step.change_subscription()
        step.get_on()
        return Outcome(step.records, [(self.reply, self._answer(step))], then=partial(self._settle, step))

    def _settle(self, step: GroupStep) -> Outcome:
        """The records are replayed: note the state that is not in the log."""
        group = find_of_kind(self.find, step.group.group_id, ConsumerGroup)
        if group is None:
            return Outcome()
        step.settle(group)
        group.deadlines.restart_session(step.member.member_id, group.session_timeout_ms)
        return step.what_follows(self.context)

    def _member(self, group: ConsumerGroup, records: list[CoordinatorRecord]) -> ConsumerMember:
        """The member before this heartbeat; a blank one if it is new."""
        request = self.request
        joins = request.member_epoch == 0
        member_id = request.member_id or uuid_to_str(random_id(group.around.random))
        if request.instance_id is not None:
            member = self._static(group, member_id, request.instance_id, records, joins=joins)
        elif joins:
            member = group.members.get(member_id) or ConsumerMember(member_id)
        else:
            member = group.member(member_id)
        checking.check_epoch(group, member, request.member_epoch, self.reported)
        if joins:
            log.info("Group %s: member %s joins", group.group_id, member_id)
        return member

    def _static(
        self, group: ConsumerGroup, member_id: str, instance_id: str, records: list[CoordinatorRecord], *, joins: bool
    ) -> ConsumerMember:
        if not joins:
            member = group.known_instance(instance_id)
            check_instance(member, member_id, instance_id)
            return member
        former = group.static_member(instance_id)
        if former is None:
            return group.members.get(member_id) or ConsumerMember(member_id)
        if former.classic is None and former.epoch != LEAVING_FOR_NOW:
            raise KafkaError(
                ErrorCode.UNRELEASED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance id "
                f"is owned by {former.member_id} member.",
            )
        member = replace(former, member_id=member_id, epoch=0, previous_epoch=0)
        records += replacement(group, former, member)
        return member

    def _stated(self, member: ConsumerMember) -> ConsumerMember:
        """The member with the fields of the request; fields that the request omits stay."""
        request = self.request
        names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
        stated_timeout = request.rebalance_timeout_ms
        return replace(
            member,
            instance_id=member.instance_id if request.instance_id is None else request.instance_id,
            rack_id=member.rack_id if request.rack_id is None else request.rack_id,
            rebalance_timeout_ms=member.rebalance_timeout_ms if stated_timeout == -1 else stated_timeout,
            assignor=member.assignor if request.server_assignor is None else request.server_assignor,
            subscribed_names=member.subscribed_names if names is None else frozenset(names),
            subscribed_regex=member.subscribed_regex if regex is None else regex,
            client_id=self.context.client_id or "",
            client_host=f"/{self.context.client_host}",
            classic=None,
        )

    def _answer(self, step: GroupStep) -> ConsumerGroupHeartbeatResponse:
        request = self.request
        response = ConsumerGroupHeartbeatResponse(
            member_id=step.member.member_id,
            member_epoch=step.member.epoch,
            heartbeat_interval_ms=step.group.heartbeat_interval_ms,
        )
        subscribes = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        is_full = request.rebalance_timeout_ms != -1 and subscribes and request.topic_partitions is not None
        partitions = partitions_of(step.member.assigned)
        if request.member_epoch == 0 or is_full or partitions != partitions_of(step.before.assigned):
            response.assignment = Assignment([TopicPartitions(topic_id, p) for topic_id, p in partitions.items()])
        return response
