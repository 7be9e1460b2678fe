"""Replica assignments: the validation of manual ones, the log directories of the replicas, and the end of a reassignment.

Rules and messages: ReplicationControlManager (validateManualPartitionAssignment) and PartitionReassignmentReplicas of Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pykbroker.metadata.ids import MIGRATING, UNASSIGNED
from pykbroker.metadata.image import NO_LEADER, BrokerImage, PartitionImage
from pykbroker.wire.errors import ErrorCode, KafkaError


def check_assignment(known: Mapping[int, BrokerImage], replicas: Sequence[int], factor: int | None = None) -> None:
    """Refuse replicas that are not registered brokers, each once, ``factor`` in number.

    Raises KafkaError INVALID_REPLICA_ASSIGNMENT.
    """
    fault = _fault(known, replicas, factor)
    if fault is not None:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment includes {fault}")


def directory_for_new(broker: BrokerImage | None) -> bytes:
    """The log directory of a new replica: the broker's only one; not assigned yet if it has several, or is unknown (KIP-858)."""
    if broker is None or len(broker.log_dirs) > 1:
        return UNASSIGNED
    return broker.log_dirs[0] if broker.log_dirs else MIGRATING


def completed_reassignment(
    replicas: Sequence[int], adding: Sequence[int], removing: Sequence[int], isr: Sequence[int]
) -> tuple[list[int], list[int]] | None:
    """Replicas and ISR without the removed ones, if the reassignment can end: all added ones are in sync; a smaller set must be
    completely in sync.
    """
    if not adding and not removing:
        return None
    staying = [replica for replica in replicas if replica not in removing]
    in_sync = [replica for replica in isr if replica not in removing]
    needed = {*adding, *(staying if len(adding) < len(removing) else ())}
    if not staying or not needed <= set(in_sync) or (removing and not in_sync):
        return None
    return staying, in_sync


def is_under_way(partition: PartitionImage) -> bool:
    """True while replicas are being added or removed."""
    return bool(partition.adding_replicas or partition.removing_replicas)


def leader_of(before: PartitionImage, isr: list[int], alive: set[int]) -> int:
    """A running in-sync leader stays; otherwise the first running in-sync replica leads."""
    if before.leader in isr and before.leader in alive:
        return before.leader
    return next((replica for replica in isr if replica in alive), NO_LEADER)


def _fault(known: Mapping[int, BrokerImage], replicas: Sequence[int], factor: int | None) -> str | None:
    if not replicas:
        return "an empty replica list."
    previous = None
    for broker_id in sorted(replicas):
        if broker_id not in known:
            return f"broker {broker_id}, but no such broker is registered."
        if not known[broker_id].takes_replicas:
            return f"broker {broker_id}, but all its log directories are cordoned."
        if broker_id == previous:
            return f"the broker {broker_id} more than once."
        previous = broker_id
    if factor is not None and len(replicas) != factor:
        return (
            f"a partition with {len(replicas)} replica(s), but this is not consistent with previous "
            f"partitions, which have {factor} replica(s)."
        )
    return None
