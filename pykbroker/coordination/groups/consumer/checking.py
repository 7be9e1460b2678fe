"""Validates a ConsumerGroupHeartbeat; error codes and messages are Kafka's."""

from __future__ import annotations

from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.member import LEAVING, LEAVING_FOR_NOW, ConsumerMember
from pykbroker.coordination.groups.consumer.settings import ConsumerSettings
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions

_OWN_MEMBER_ID_SINCE = 1


def check_request(request: ConsumerGroupHeartbeatRequest, version: int, settings: ConsumerSettings) -> None:
    """Raises KafkaError INVALID_REQUEST or UNSUPPORTED_ASSIGNOR."""
    if version >= _OWN_MEMBER_ID_SINCE or request.member_epoch > 0 or request.member_epoch == LEAVING:
        _not_blank(request.member_id, "MemberId")
    _not_blank(request.group_id, "GroupId")
    _not_blank(request.instance_id, "InstanceId")
    _not_blank(request.rack_id, "RackId")
    if request.member_epoch == 0:
        _check_join(request)
    elif request.member_epoch == LEAVING_FOR_NOW:
        if request.instance_id is None:
            raise _invalid("InstanceId can't be null.")
    elif request.member_epoch < LEAVING_FOR_NOW:
        raise _invalid("MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in settings.assignors:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(settings.assignors)}.",
        )


def _check_join(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise _invalid("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise _invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")


def _not_blank(text: str | None, field: str) -> None:
    if text is not None and not text.strip():
        raise _invalid(f"{field} can't be empty.")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)


def check_room(group: ConsumerGroup, member_id: str) -> None:
    """Raises KafkaError GROUP_MAX_SIZE_REACHED unless the member is in the group or the group is below its maximum size."""
    most = group.settings.max_size
    if len(group.members) >= most and member_id not in group.members:
        message = f"The consumer group has reached its maximum capacity of {most} members."
        raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED, message)


def check_epoch(member: ConsumerMember, epoch: int, reported: list[TopicPartitions] | None) -> None:
    """Raises KafkaError FENCED_MEMBER_EPOCH unless the epoch is the member's; 0, to rejoin, is always valid.

    The previous epoch is valid too if the member reports no more than it has: the answer with the new one was lost.
    """
    if epoch in (0, member.epoch):
        return
    compared = "greater" if epoch > member.epoch else "smaller"
    if compared == "smaller" and epoch == member.previous_epoch and _owns_all(member, reported):
        return
    raise KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {compared} member epoch ({epoch}) than the one known by the group coordinator "
        f"({member.epoch}). The member must abandon all its partitions and rejoin.",
    )


def _owns_all(member: ConsumerMember, reported: list[TopicPartitions] | None) -> bool:
    if reported is None:
        return False
    return all(
        topic.topic_id in member.assigned and member.assigned[topic.topic_id].keys() >= set(topic.partitions)
        for topic in reported
    )


def check_instance(member: ConsumerMember, member_id: str, instance_id: str) -> None:
    """Raises KafkaError FENCED_INSTANCE_ID if the ``group.instance.id`` has another member id."""
    if member.member_id != member_id:
        message = f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}."
        raise KafkaError(ErrorCode.FENCED_INSTANCE_ID, message)


def known_instance(group: ConsumerGroup, instance_id: str) -> ConsumerMember:
    """The static member. Raises KafkaError UNKNOWN_MEMBER_ID."""
    member = group.static_member(instance_id)
    if member is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    return member
