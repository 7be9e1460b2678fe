"""Validates a ConsumerGroupHeartbeat; error codes and messages are Kafka's."""

from __future__ import annotations

from pykbroker.coordination.groups.consumer.group import ConsumerGroup
from pykbroker.coordination.groups.consumer.member import ConsumerMember
from pykbroker.coordination.groups.consumer.reconciling import Reported
from pykbroker.coordination.groups.consumer.settings import ConsumerSettings
from pykbroker.coordination.groups.member_group import LEAVING, LEAVING_FOR_NOW, check_not_blank, invalid
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

_OWN_MEMBER_ID_SINCE = 1


def check_request(request: ConsumerGroupHeartbeatRequest, version: int, settings: ConsumerSettings) -> None:
    """Raises KafkaError INVALID_REQUEST or UNSUPPORTED_ASSIGNOR."""
    if version >= _OWN_MEMBER_ID_SINCE or request.member_epoch > 0 or request.member_epoch == LEAVING:
        check_not_blank(request.member_id, "MemberId")
    check_not_blank(request.group_id, "GroupId")
    check_not_blank(request.instance_id, "InstanceId")
    check_not_blank(request.rack_id, "RackId")
    if request.member_epoch == 0:
        _check_join(request)
    elif request.member_epoch == LEAVING_FOR_NOW:
        if request.instance_id is None:
            raise invalid("InstanceId can't be null.")
    elif request.member_epoch < LEAVING_FOR_NOW:
        raise invalid("MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in settings.assignors:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(settings.assignors)}.",
        )


def _check_join(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise invalid("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise invalid("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")


def check_epoch(group: ConsumerGroup, member: ConsumerMember, epoch: int, reported: Reported | None) -> None:
    """Raises KafkaError FENCED_MEMBER_EPOCH unless the epoch is the member's; 0, to rejoin, is always valid.

    The previous epoch is valid too if the member reports no more than it has: the answer with the new one was lost.
    """
    if epoch in (0, member.epoch):
        return
    if epoch < member.epoch and epoch == member.previous_epoch and _owns_all(member, reported):
        return
    raise group.fenced(member, epoch)


def _owns_all(member: ConsumerMember, reported: Reported | None) -> bool:
    if reported is None:
        return False
    owned = member.assigned
    return all(topic_id in owned and owned[topic_id].keys() >= some for topic_id, some in reported.items())
