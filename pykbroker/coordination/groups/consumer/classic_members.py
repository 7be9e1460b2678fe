"""Members of a consumer group that use the classic protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

A JoinGroup is answered at once: it corresponds to a heartbeat of the consumer protocol, and the generation is the member's
epoch. A member that must revoke partitions is answered REBALANCE_IN_PROGRESS and rejoins without them. Source of the rules: Apache Kafka 4.4.0 (GroupMetadataManager, its ...ToConsumerGroup methods).
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial

from pykbroker.coordination.groups.classic.joining import KNOWN_ID_SINCE, Joining
from pykbroker.coordination.groups.consumer import migration
from pykbroker.coordination.groups.consumer.embedded_protocol import (
    read_subscription,
    reported,
    version_of,
    write_assignment,
)
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.leaving import fence
from pykbroker.coordination.groups.consumer.member import ConsumerMember, MemberState, partitions_of
from pykbroker.coordination.groups.consumer.records import replacement
from pykbroker.coordination.groups.consumer.stepping import GroupStep
from pykbroker.coordination.groups.group import Find, find_of_kind
from pykbroker.coordination.groups.member_group import check_instance
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.metadata.ids import random_id
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError
from pykbroker.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pykbroker.wire.messages.join_group import JoinGroupResponse
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from pykbroker.wire.primitives import uuid_to_str

log = logging.getLogger(__name__)


def join(group: ConsumerGroup, joining: Joining, find: Find) -> Outcome:
    """Handle one JoinGroup. Raises KafkaError INCONSISTENT_GROUP_PROTOCOL, GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID or
    FENCED_INSTANCE_ID.
    """
    request = joining.request
    settings = group.settings
    if not (settings.upgrades or settings.downgrades):
        raise _inconsistent(
            f"Cannot join the consumer group {group.group_id} with the classic protocol because the group migration is "
            "disabled."
        )
    is_unknown = request.member_id == ""
    member_id = uuid_to_str(random_id(group.around.random)) if is_unknown else request.member_id
    group.check_room(member_id, group.settings.max_size)
    if not group.supports_classic(request.protocol_type, joining.names):
        raise _inconsistent(f"Member {member_id}'s protocols are not supported.")
    if is_unknown and request.group_instance_id is None and joining.context.api_version >= KNOWN_ID_SINCE:
        return joining.refused(ErrorCode.MEMBER_ID_REQUIRED, Outcome(), member_id)
    records: list[CoordinatorRecord] = []
    before = _member(group, joining, member_id, records)
    former = group.static_member(request.group_instance_id)
    step = _step(group, joining, before, records)
    step.change_subscription(always_bumps=True)
    if former is not None and migration.may_downgrade(group, [former], step.member):
        return _join_and_downgrade(step, former, joining, find)
    step.get_on()
    return Outcome(step.records, [(joining.reply, _joined(step.member))], then=partial(_settle, step, joining, find))


def _member(group: ConsumerGroup, joining: Joining, member_id: str, records: list[CoordinatorRecord]) -> ConsumerMember:
    instance_id = joining.request.group_instance_id
    if instance_id is None:
        return group.members.get(member_id) or ConsumerMember(member_id)
    if joining.request.member_id:
        return group.named(member_id, instance_id)
    former = group.static_member(instance_id)
    if former is None:
        return ConsumerMember(member_id)
    new = replace(former, member_id=member_id, epoch=0, previous_epoch=0)
    records += replacement(group, former, new)
    return new


def _step(
    group: ConsumerGroup, joining: Joining, before: ConsumerMember, records: list[CoordinatorRecord]
) -> GroupStep:
    """The step of a member to the state of its JoinGroup, without a pattern: the classic protocol has none."""
    request = joining.request
    try:
        subscription = read_subscription(joining.protocols[0][1])
    except WireError as error:
        message = "Malformed embedded consumer protocol in subscription deserialization."
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, message) from error
    timeout_ms = joining.rebalance_timeout_ms()
    member = replace(
        before,
        instance_id=before.instance_id if request.group_instance_id is None else request.group_instance_id,
        rack_id=subscription.rack_id or before.rack_id,
        rebalance_timeout_ms=before.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        subscribed_names=frozenset(subscription.topics),
        subscribed_regex="",
        client_id=joining.context.client_id or "",
        client_host=f"/{joining.context.client_host}",
        classic=migration.classic_metadata(request.session_timeout_ms, joining.protocols),
    )
    return GroupStep(group, before, member, reported(subscription, group.around), records)


def _join_and_downgrade(step: GroupStep, former: ConsumerMember, joining: Joining, find: Find) -> Outcome:
    group = step.group
    if not step.bumps:
        step.reconcile(group.target_epoch, group.target_of(step.member), subscription_changed=False)
    ended = migration.downgrade_for(group, former, step.member, find, rebalances=step.bumps)
    return Outcome([*step.records, *ended.records], [(joining.reply, _joined(step.member))], then=ended.then)


def _joined(member: ConsumerMember) -> JoinGroupResponse:
    """The answer to a JoinGroup. No member leads: the coordinator computes the assignment."""
    return JoinGroupResponse(
        member_id=member.member_id,
        generation_id=member.epoch,
        protocol_type=ConsumerGroup.protocol_type,
        protocol_name=migration.offered(member)[0][0],
    )


def _settle(step: GroupStep, joining: Joining, find: Find) -> Outcome:
    group = find_of_kind(find, step.group.group_id, ConsumerGroup)
    if group is None:
        return Outcome()
    step.settle(group)
    member_id = step.member.member_id
    group.deadlines.restart_session(member_id, joining.request.session_timeout_ms)
    group.deadlines.expect_sync(member_id, joining.rebalance_timeout_ms())
    return step.what_follows(joining.context)


def sync(group: ConsumerGroup, request: SyncGroupRequest, reply: Deferred[SyncGroupResponse]) -> Outcome:
    """Handle one SyncGroup: the member's current assignment. Raises KafkaError REBALANCE_IN_PROGRESS if it must rejoin,
    UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION or INCONSISTENT_GROUP_PROTOCOL.
    """
    member = _classic_member(group, request.member_id, request.group_instance_id)
    _check_generation(member, request.generation_id)
    protocols = migration.offered(member)
    _check_protocol(member, protocols[0][0], request)
    if _is_behind(group, member) and member.state is not MemberState.UNREVOKED_PARTITIONS:
        group.deadlines.expect_join(member.member_id, member.rebalance_timeout_ms)
        raise KafkaError(
            ErrorCode.REBALANCE_IN_PROGRESS,
            f"A new rebalance is triggered in group {group.group_id} and member {member.member_id} should rejoin to "
            "catch up.",
        )
    group.deadlines.synced(member.member_id)
    _restart_session(group, member)
    response = SyncGroupResponse(
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignment=write_assignment(partitions_of(member.assigned), group.around, version_of(protocols[0][1])),
    )
    return Outcome(replies=[(reply, response)])


def _check_protocol(member: ConsumerMember, name: str, request: SyncGroupRequest) -> None:
    if request.protocol_type not in (None, ConsumerGroup.protocol_type):
        raise _inconsistent(
            f"The protocol type {request.protocol_type} from member {member.member_id} request is not equal to the group "
            f"protocol type {ConsumerGroup.protocol_type}."
        )
    if request.protocol_name not in (None, name):
        raise _inconsistent(
            f"The protocol name {request.protocol_name} from member {member.member_id} request is not equal to the "
            f"protocol name {name} returned in the join response."
        )


def heartbeat(group: ConsumerGroup, request: HeartbeatRequest) -> HeartbeatResponse:
    """Handle one Heartbeat: REBALANCE_IN_PROGRESS if rejoining takes the member towards its target. Raises KafkaError
    UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID or ILLEGAL_GENERATION.
    """
    member = _classic_member(group, request.member_id, request.group_instance_id)
    _check_generation(member, request.generation_id)
    _restart_session(group, member)
    if _is_behind(group, member) or _can_get_on(group, member):
        group.deadlines.expect_join(member.member_id, member.rebalance_timeout_ms)
        return HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
    return HeartbeatResponse()


def _is_behind(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether there is a newer target assignment. One that is not computed yet is left to the next heartbeat of a member of
    the consumer protocol or, if there is none (the policy forbids the downgrade), to a classic member that rejoins.
    """
    if member.epoch < group.target_epoch:
        return True
    return member.epoch < group.epoch and group.classic_members == len(group.members)


def _can_get_on(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether it has partitions to revoke, or waits for partitions that are free now."""
    if member.state is not MemberState.UNRELEASED_PARTITIONS:
        return member.state is MemberState.UNREVOKED_PARTITIONS
    return all(
        partition in member.assigned.get(topic_id, ()) or group.is_free(topic_id, partition)
        for topic_id, partitions in group.targets.get(member.member_id, {}).items()
        for partition in partitions
    )


def leave(group: ConsumerGroup, request: LeaveGroupRequest, reply: Deferred[LeaveGroupResponse], find: Find) -> Outcome:
    """Handle one LeaveGroup; it can also remove members of the consumer protocol."""
    answers: list[MemberResponse] = []
    leaving: dict[str, ConsumerMember] = {}
    for identity in request.members:
        code = ErrorCode.NONE
        try:
            member = _identified(group, identity)
        except KafkaError as error:
            code = error.code
        else:
            leaving[member.member_id] = member
        answers.append(
            MemberResponse(member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=code)
        )
    out = fence(group, list(leaving.values()), find)
    out.reply(reply, LeaveGroupResponse(members=answers))
    return out


def _identified(group: ConsumerGroup, identity: MemberIdentity) -> ConsumerMember:
    if identity.group_instance_id is None:
        return group.member(identity.member_id)
    member = group.known_instance(identity.group_instance_id)
    if identity.member_id:  # an administrator does not know it
        check_instance(member, identity.member_id, identity.group_instance_id)
    return member


def _classic_member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
    member = group.named(member_id, instance_id)
    if member.classic is None:
        message = f"Member {member.member_id} does not use the classic protocol."
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, message)
    return member


def _check_generation(member: ConsumerMember, generation: int) -> None:
    if generation != member.epoch:
        raise KafkaError(
            ErrorCode.ILLEGAL_GENERATION,
            f"The request generation id {generation} is not equal to the member epoch {member.epoch} of member "
            f"{member.member_id}.",
        )


def _restart_session(group: ConsumerGroup, member: ConsumerMember) -> None:
    timeout_ms = group.session_timeout_ms if member.classic is None else member.classic.session_timeout_ms
    group.deadlines.restart_session(member.member_id, timeout_ms)


def _inconsistent(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, message)
