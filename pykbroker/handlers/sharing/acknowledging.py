"""Acknowledgements in ShareFetch and ShareAcknowledge: checked, and carried out partition by partition."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from pykbroker.runtime.waits import Deferred, as_wait, attempt
from pykbroker.security.operations import READ
from pykbroker.security.resources import TOPIC
from pykbroker.share_partitions.states import Acknowledge, Acknowledged
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from collections import Counter

    from pykbroker.brokers.broker import Broker
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.slices import Work
    from pykbroker.security.context import RequestContext
    from pykbroker.share_partitions.leading import LedSharePartition


#: The weight of a batch and of one of its types, and the most records that a setting lets a share partition have in flight.
_WEIGHT = 0.3
_WEIGHT_OF_A_TYPE = 0.005
_MOST_TYPES = 10_000


class AcknowledgedBatch(Protocol):
    """One batch of acknowledgements of a request."""

    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


def acknowledged(
    broker: Broker,
    ctx: RequestContext,
    group_id: str,
    member_id: str,
    where: tuple[bytes, int],
    requested: Iterable[AcknowledgedBatch],
) -> Deferred[KafkaError | None]:
    """The error of a partition's acknowledgements, None if they are persisted."""

    def carry_out() -> Deferred[None]:
        _check_readable(broker, ctx, where[0])
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if broker.placed(*where) is None:
            raise KafkaError(unknown)
        partition = broker.partition_by_id(*where)
        led = None if partition is None else broker.share_partitions.opened(group_id, partition)
        if led is None:  # nobody has read from it here, wherever it is led: the same error in Apache Kafka
            raise KafkaError(unknown, unknown.default_message)
        may_renew = broker.share_partitions.settings(group_id).may_renew

        def check(_: None) -> Deferred[list[Acknowledged]]:
            counted = broker.share_partitions.acknowledgements
            return as_wait(
                broker.runtime.slices.run(checked(requested, led.start_offset, counted, may_renew=may_renew))
            )

        return opened(led).chain(check).chain(lambda batches: led.acknowledge(member_id, batches))

    return attempt(carry_out).map(_nothing).recover(KafkaError, _as_value)


def checked(
    requested: Iterable[AcknowledgedBatch], start_offset: int, counted: Counter[int], *, may_renew: bool
) -> Work[list[Acknowledged]]:
    """The batches of a partition, without those before its start, which are done with; their types are added to ``counted``.

    Raises KafkaError INVALID_REQUEST unless they are in order and complete.
    """
    batches: list[Acknowledged] = []
    previous = -1
    most = Acknowledge.RENEW if may_renew else Acknowledge.REJECT
    for batch in requested:
        first, last, types = batch.first_offset, batch.last_offset, batch.acknowledge_types
        if first > last or first <= previous or len(types) not in (1, last - first + 1) or len(types) > _MOST_TYPES:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        if not 0 <= min(types) <= max(types) <= most:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        previous = last
        counted.update(types)
        if last >= start_offset:
            if len(batches) > _MOST_TYPES:
                raise KafkaError(ErrorCode.INVALID_RECORD_STATE)
            batches.append(Acknowledged(first, last, types))
        yield _WEIGHT + _WEIGHT_OF_A_TYPE * len(types)
    return batches


def readable(broker: Broker, ctx: RequestContext, where: tuple[bytes, int]) -> Partition:
    """A partition that the broker leads and the client may read.

    Raises KafkaError UNKNOWN_TOPIC_ID, TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION or NOT_LEADER_OR_FOLLOWER.
    """
    name = _check_readable(broker, ctx, where[0])
    partition = broker.partition_by_id(*where)
    if partition is None:
        raise KafkaError(broker.absent(name, where[1]))
    partition.check_served_by(broker.node_id, -1)
    return partition


def _check_readable(broker: Broker, ctx: RequestContext, topic_id: bytes) -> str:
    """The topic's name. Raises KafkaError UNKNOWN_TOPIC_ID or TOPIC_AUTHORIZATION_FAILED."""
    name = broker.topic_name(topic_id)
    if name is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
    authorizer = broker.authorizer
    if authorizer is not None and not authorizer.may(ctx, READ, TOPIC, name):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return name


def opened(led: LedSharePartition) -> Deferred[None]:
    """The wait until a share partition has its state; one wait of many."""
    wait: Deferred[None] = Deferred()
    led.opening.pass_to(wait)
    return wait


def _nothing(_: None) -> KafkaError | None:
    return None


def _as_value(error: KafkaError) -> KafkaError | None:
    return error
