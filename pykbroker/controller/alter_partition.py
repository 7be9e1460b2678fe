"""A leader alters the ISR of its partitions (AlterPartition, KIP-497): compare-and-set on the partition epoch.

A member of the new ISR is named with its broker epoch, so that a replica that restarted since the leader saw it cannot join
(KIP-903). Rules: ReplicationControlManager of Kafka 4.4.0.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Generator
from typing import Final

from pykbroker.controller.partition_changes import RECOVERED, RECOVERING, Target
from pykbroker.controller.registrations import check_epoch
from pykbroker.controller.replication_control import ReplicationControl
from pykbroker.metadata.image import MetadataImage, PartitionImage, TopicImage
from pykbroker.metadata.replay import NO_LEADER_CHANGE, changed
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.internal.partition_change_record import PartitionChangeRecord
from pykbroker.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
    BrokerState,
)

log = logging.getLogger(__name__)

#: The broker epoch of a member whose leader does not know it: nothing is compared.
_UNKNOWN_EPOCH: Final = -1
#: The weight of a partition (``runtime/slices.py``).
_PARTITION_WEIGHT: Final = 1.5


def plan_alter_partition(
    control: ReplicationControl, request: AlterPartitionRequest
) -> Generator[float, None, tuple[list[PartitionChangeRecord], AlterPartitionResponse]]:
    """The records of a request, and its answer with an error or the new state of each partition, in slices.

    Raises KafkaError STALE_BROKER_EPOCH for a broker that is not registered with the request's epoch.
    """
    check_epoch(control.image, request.broker_id, request.broker_epoch)
    records: list[PartitionChangeRecord] = []
    response = AlterPartitionResponse()
    for asked in request.topics:
        answer = AlterPartitionResponseTopicData(asked.topic_id)
        response.topics.append(answer)
        topic = control.image.topic_by_id(asked.topic_id)
        for wanted in asked.partitions:
            if topic is None:
                answer.partitions.append(_refusal(wanted, ErrorCode.UNKNOWN_TOPIC_ID))
                continue
            record, result = _plan(control, request.broker_id, topic, wanted)
            answer.partitions.append(result)
            if record is not None:
                records.append(record)
            yield _PARTITION_WEIGHT
    return records, response


def _plan(
    control: ReplicationControl, broker_id: int, topic: TopicImage, wanted: AlterPartitionRequestPartitionData
) -> tuple[PartitionChangeRecord | None, AlterPartitionResponsePartitionData]:
    partition = topic.partitions.get(wanted.partition_index)
    if partition is None:
        return None, _refusal(wanted, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    error = _error(control.image, broker_id, partition, wanted)
    if error is not None:
        log.info(
            "Broker %d may not alter the ISR of %s-%d from %s to %s: %s",
            *(broker_id, topic.name, partition.index, partition.isr, _ids(wanted), error.name),
        )
        return None, _refusal(wanted, error)
    target = dataclasses.replace(Target.of(partition), isr=_ids(wanted), recovery_state=wanted.leader_recovery_state)
    record = control.change(topic, partition, target, control.automatic_election(topic))
    if record is None:
        return None, _state(partition)
    if record.leader not in (NO_LEADER_CHANGE, broker_id):  # a reassignment ended without this replica
        return record, _refusal(wanted, ErrorCode.NEW_LEADER_ELECTED)
    return record, _state(changed(partition, record))


def _error(
    image: MetadataImage, broker_id: int, partition: PartitionImage, wanted: AlterPartitionRequestPartitionData
) -> ErrorCode | None:
    """The first reason against the change. A leader that is ahead of this controller speaks to the wrong one."""
    if wanted.leader_epoch > partition.leader_epoch or wanted.partition_epoch > partition.partition_epoch:
        return ErrorCode.NOT_CONTROLLER
    if wanted.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if broker_id != partition.leader:
        return ErrorCode.INVALID_REQUEST
    if wanted.partition_epoch < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    isr = _ids(wanted)
    if len(set(isr)) < len(isr) or not set(isr) <= set(partition.replicas) or partition.leader not in isr:
        return ErrorCode.INVALID_REQUEST
    if wanted.leader_recovery_state not in (RECOVERED, RECOVERING):
        return ErrorCode.INVALID_REQUEST  # Kafka's controller fails and resigns
    if wanted.leader_recovery_state == RECOVERING and (len(isr) > 1 or partition.leader_recovery_state == RECOVERED):
        return ErrorCode.INVALID_REQUEST
    if not all(_may_join(image, member) for member in _members(wanted)):
        return ErrorCode.INELIGIBLE_REPLICA
    return None


def _may_join(image: MetadataImage, member: BrokerState) -> bool:
    broker = image.brokers.get(member.broker_id)
    return broker is not None and broker.active and member.broker_epoch in (_UNKNOWN_EPOCH, broker.epoch)


def _members(wanted: AlterPartitionRequestPartitionData) -> list[BrokerState]:
    """The new ISR; before version 3 it has no epochs."""
    return wanted.new_isr_with_epochs or [BrokerState(broker_id) for broker_id in wanted.new_isr]


def _ids(wanted: AlterPartitionRequestPartitionData) -> list[int]:
    return [member.broker_id for member in _members(wanted)]


def _state(partition: PartitionImage) -> AlterPartitionResponsePartitionData:
    return AlterPartitionResponsePartitionData(
        partition_index=partition.index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=list(partition.isr),
        leader_recovery_state=partition.leader_recovery_state,
        partition_epoch=partition.partition_epoch,
    )


def _refusal(wanted: AlterPartitionRequestPartitionData, error: ErrorCode) -> AlterPartitionResponsePartitionData:
    return AlterPartitionResponsePartitionData(wanted.partition_index, error)
