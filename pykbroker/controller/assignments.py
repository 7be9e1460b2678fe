"""Manual replica assignments: their validation, and the log directories of the replicas.

Rules and messages: ReplicationControlManager of Kafka 4.4.0 (validateManualPartitionAssignment).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pykbroker.metadata.ids import ZERO_ID
from pykbroker.metadata.image import BrokerImage
from pykbroker.wire.errors import ErrorCode, KafkaError


def check_assignment(known: Mapping[int, BrokerImage], replicas: Sequence[int], factor: int | None = None) -> None:
    """Refuse replicas that are not registered brokers, each once, ``factor`` in number.

    Raises KafkaError INVALID_REPLICA_ASSIGNMENT.
    """
    fault = _fault(known, replicas, factor)
    if fault is not None:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment includes {fault}")


def directory_for_new(broker: BrokerImage) -> bytes:
    """The log directory of a new replica: the broker's only one; unassigned if it has several (KIP-858)."""
    return broker.log_dirs[0] if len(broker.log_dirs) == 1 else ZERO_ID


def _fault(known: Mapping[int, BrokerImage], replicas: Sequence[int], factor: int | None) -> str | None:
    if not replicas:
        return "an empty replica list."
    previous = None
    for broker_id in sorted(replicas):
        if broker_id not in known:
            return f"broker {broker_id}, but no such broker is registered."
        if broker_id == previous:
            return f"the broker {broker_id} more than once."
        previous = broker_id
    if factor is not None and len(replicas) != factor:
        return (
            f"a partition with {len(replicas)} replica(s), but this is not consistent with previous "
            f"partitions, which have {factor} replica(s)."
        )
    return None
