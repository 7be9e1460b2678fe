"""Online upgrade of a classic group to a consumer group, and downgrade (``group.consumer.migration.policy``).

Upgrade: a member of the consumer protocol joins a classic group of consumers. The generation becomes the group epoch, the
leader's assignment becomes the target, and the classic members stay, served by ``classic_members``.
Downgrade: the last member of the consumer protocol leaves and classic members stay. The group epoch becomes the generation,
and the group rebalances.

Records express both: the tombstones of the one group, and all of the other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.classic.answers import not_assigned, not_joined
from pykbroker.coordination.groups.classic.group import ClassicGroup, ClassicGroupState
from pykbroker.coordination.groups.classic.member import Member, Protocols
from pykbroker.coordination.groups.classic.membership import Membership
from pykbroker.coordination.groups.consumer.embedded_protocol import (
    assigned_by_id,
    read_assignment,
    read_subscription,
    version_of,
    write_assignment,
)
from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.member import ConsumerMember, Target
from pykbroker.coordination.groups.consumer.metadata_hash import metadata_hash
from pykbroker.coordination.groups.consumer.records import (
    assignment_record,
    epoch_record,
    group_tombstones,
    member_record,
    target_epoch_record,
    target_record,
)
from pykbroker.coordination.groups.consumer.settings import ConsumerSettings
from pykbroker.coordination.groups.group import Find, find_of_kind
from pykbroker.coordination.groups.records import group_record, group_tombstone
from pykbroker.coordination.groups.surroundings import Surroundings
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError
from pykbroker.wire.internal.consumer_group_member_metadata import ClassicMemberMetadata, ClassicProtocol

if TYPE_CHECKING:
    from pykbroker.coordination.groups.consumer.heartbeats import Heartbeat

log = logging.getLogger(__name__)


# Up


def check_upgrade(group: ClassicGroup, around: Surroundings) -> None:
    """Raises KafkaError GROUP_ID_NOT_FOUND, with Kafka's reason, unless the group may become a consumer group."""
    settings = around.settings.of(ConsumerSettings)
    if not settings.upgrades:
        raise _no_upgrade(group, "online upgrade is disabled")
    if group.protocol_type != ConsumerGroup.protocol_type:
        raise _no_upgrade(group, "the group does not use the consumer embedded protocol")
    if len(group.members) > settings.max_size:
        raise _no_upgrade(group, "the group size exceeds the consumer group maximum size")


def _no_upgrade(group: ClassicGroup, reason: str) -> KafkaError:
    message = f"Cannot upgrade classic group {group.group_id} to consumer group because {reason}."
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, message)


def upgrade(classic: ClassicGroup, around: Surroundings) -> tuple[list[CoordinatorRecord], ConsumerGroup]:
    """The records that turn a classic group with members into a consumer group, and the resulting group.

    Raises KafkaError GROUP_ID_NOT_FOUND if the embedded protocol cannot be decoded or holds data that would be lost.
    """
    check_upgrade(classic, around)
    group = ConsumerGroup(classic.group_id, around)
    group.epoch = group.target_epoch = classic.generation
    for stood in classic.members:
        try:
            member = _upgraded(stood, classic, around)
        except WireError as error:
            raise _no_upgrade(classic, "the embedded consumer protocol is malformed") from error
        group.targets[member.member_id] = _target_of(member)
        group.put(member)
    if classic.state is ClassicGroupState.STABLE:
        group.metadata_hash = metadata_hash(group.topics_after([]), around.image)
    # Otherwise it stays 0, and the next heartbeat raises the epoch. In Apache Kafka a static member that replaces itself raises
    # none, and partitions that an interrupted cooperative rebalance revoked stay unassigned.
    log.info("Group %s: converted from the classic protocol to the consumer protocol", group.group_id)
    return [group_tombstone(group.group_id), *_records_of(group)], group


def upgrade_for(heartbeat: Heartbeat, classic: ClassicGroup) -> Outcome:
    """Upgrade for a member of the consumer protocol, whose heartbeat is the group's first; members that wait in the classic
    group must rejoin. Raises what ``upgrade`` and ``Heartbeat.beat`` raise.
    """
    records, group = upgrade(classic, heartbeat.around)
    out = heartbeat.beat(group, records)
    code = ErrorCode.REBALANCE_IN_PROGRESS
    for member in classic.members:
        out.reply(member.joining, not_joined(code, member.member_id))
        out.reply(member.syncing, not_assigned(code))
    out.then = partial(_upgraded_for, heartbeat, classic, out.then)
    return out


def _upgraded_for(heartbeat: Heartbeat, classic: ClassicGroup, settle: Callable[[], Outcome] | None) -> Outcome:
    """The consumer group exists: the sessions of its classic members begin."""
    group = find_of_kind(heartbeat.find, classic.group_id, ConsumerGroup)
    if group is not None:
        for member in classic.members:
            group.deadlines.restart_session(member.member_id, member.session_timeout_ms)
    return Outcome() if settle is None else settle()


def _upgraded(stood: Member, classic: ClassicGroup, around: Surroundings) -> ConsumerMember:
    generation = classic.generation
    subscription = read_subscription(stood.metadata(classic.protocol or stood.protocols[0][0]))
    assignment = read_assignment(stood.assignment) if stood.assignment else None
    if assignment is not None and assignment.user_data:
        reason = (
            "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default "
            "assignor before re-attempting the upgrade"
        )
        raise _no_upgrade(classic, reason)
    return ConsumerMember(
        stood.member_id,
        instance_id=stood.instance_id,
        rack_id=subscription.rack_id or None,
        client_id=stood.client_id,
        client_host=stood.client_host,
        rebalance_timeout_ms=stood.rebalance_timeout_ms,
        subscribed_names=frozenset(subscription.topics),
        epoch=generation,
        previous_epoch=generation,
        assigned={} if assignment is None else assigned_by_id(assignment, around, generation),
        classic=classic_metadata(stood.session_timeout_ms, stood.protocols),
    )


def classic_metadata(session_timeout_ms: int, protocols: Protocols) -> ClassicMemberMetadata:
    """The metadata that a consumer group keeps of a classic member."""
    return ClassicMemberMetadata(session_timeout_ms, [ClassicProtocol(name, metadata) for name, metadata in protocols])


def _target_of(member: ConsumerMember) -> Target:
    return {topic_id: frozenset(owned) for topic_id, owned in member.assigned.items()}


def _records_of(group: ConsumerGroup) -> list[CoordinatorRecord]:
    group_id, members = group.group_id, list(group.members.values())
    return [
        *(member_record(group_id, member) for member in members),
        epoch_record(group_id, group.epoch, group.metadata_hash),
        *(target_record(group_id, member.member_id, group.targets[member.member_id]) for member in members),
        target_epoch_record(group_id, group.target_epoch, group.target_timestamp_ms),
        *(assignment_record(group_id, member) for member in members),
    ]


# Down


def may_downgrade(
    group: ConsumerGroup, leaving: Collection[ConsumerMember], joining: ConsumerMember | None = None
) -> bool:
    """Whether only classic members stay when these leave, and the policy allows the downgrade."""
    settings = group.around.settings
    going = {member.member_id for member in leaving}
    staying = [member for member_id, member in group.members.items() if member_id not in going]
    if any(member.classic is None for member in staying):
        return False
    if joining is not None and all(member.classic is not None for member in leaving):
        return False
    count = len(staying) + (joining is not None)
    return count > 0 and settings.of(ConsumerSettings).downgrades and count <= settings.max_size


def downgrade(group: ConsumerGroup, leaving: Collection[ConsumerMember], find: Find) -> Outcome:
    """Downgrade the group to the remaining members when the last members of the consumer protocol leave."""
    going = {member.member_id for member in leaving}
    staying = [member for member_id, member in group.members.items() if member_id not in going]
    targets = {member.member_id: group.target_of(member) for member in staying}
    records = [*group_tombstones(group), _classic_record(group, staying, targets)]
    reason = f"Downgrade group {group.group_id} from consumer to classic for member leaving."
    return Outcome(records, then=partial(_downgraded, staying, find, group.group_id, reason))


def downgrade_for(
    group: ConsumerGroup, former: ConsumerMember, joining: ConsumerMember, find: Find, *, rebalances: bool
) -> Outcome:
    """Downgrade when a classic member has replaced ``former``, the last member of the consumer protocol.

    The records of the replacement come before these.
    """
    staying = [*(member for member in group.members.values() if member.member_id != former.member_id), joining]
    targets = {member.member_id: group.target_of(member) for member in staying}
    ended = list(group_tombstones(group, [member.member_id for member in staying]))
    reason = (
        f"Downgrade group {group.group_id} from consumer to classic for static member replacement with different "
        "subscription."
    )
    then = partial(_downgraded, staying, find, group.group_id, reason if rebalances else None)
    return Outcome([*ended, _classic_record(group, staying, targets)], then=then)


def _classic_record(
    group: ConsumerGroup, staying: list[ConsumerMember], targets: dict[str, Target]
) -> CoordinatorRecord:
    members = Membership()
    for member in staying:
        members.add(_downgraded_member(member))
    protocol = members.select_protocol()
    return group_record(
        group.group_id,
        generation=group.epoch,
        protocol_type=group.protocol_type,
        protocol=protocol,
        leader=members.leader,
        timestamp_ms=group.around.clock.now_ms(),
        members=[(member, _assignment(member, protocol, targets, group.around)) for member in members],
    )


def _assignment(member: Member, protocol: str, targets: dict[str, Target], around: Surroundings) -> bytes:
    target = {topic_id: sorted(partitions) for topic_id, partitions in targets[member.member_id].items()}
    return write_assignment(target, around, version_of(member.metadata(protocol)))


def _downgraded_member(member: ConsumerMember) -> Member:
    return Member(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        session_timeout_ms=0 if member.classic is None else member.classic.session_timeout_ms,
        protocols=offered(member),
    )


def offered(member: ConsumerMember) -> Protocols:
    """The protocols of a classic member, in order of preference."""
    known = [] if member.classic is None else member.classic.supported_protocols
    return [(protocol.name, protocol.metadata) for protocol in known]


def _downgraded(staying: list[ConsumerMember], find: Find, group_id: str, reason: str | None) -> Outcome:
    """The classic group exists: restore what its record does not hold of its members, and start a rebalance."""
    group = find_of_kind(find, group_id, ClassicGroup)
    out = Outcome()
    if group is None:
        return out
    log.info("Group %s: converted from the consumer protocol to the classic protocol", group_id)
    for known in staying:
        member = group.members[known.member_id]
        group.members.set_protocols(member, offered(known))
        group.deadlines.touch(member)
    if reason is not None:
        group.prepare_rebalance(reason, out)
    return out
