"""InitializeShareGroupState (key 83), version 0: begin a share partition at an offset (KIP-932).

It is a request between brokers, which needs CLUSTER_ACTION. Brokers of this process ask the share coordinator without it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.coordinators import SHARES
from pykbroker.coordination.share.state import SharePartitionKey
from pykbroker.handlers.in_slices import each
from pykbroker.runtime.waits import Deferred, apply, attempt, gather
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.initialize_share_group_state import (
    InitializeShareGroupStateResponse,
    InitializeStateResult,
    PartitionResult,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.share.coordinator import ShareCoordinator
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.initialize_share_group_state import (
        InitializeShareGroupStateRequest,
        InitializeStateData,
        PartitionData,
    )

#: The weight of a partition.
_WEIGHT = 4


def handle(
    broker: Broker, ctx: RequestContext, request: InitializeShareGroupStateRequest
) -> InitializeShareGroupStateResponse | Deferred[InitializeShareGroupStateResponse]:
    found = each(broker, ctx, request.topics, partial(_topic, broker, request.group_id), weight=_WEIGHT)
    return apply(lambda results: InitializeShareGroupStateResponse(results=results), found)


def _topic(broker: Broker, group_id: str, topic: InitializeStateData) -> Deferred[InitializeStateResult]:
    coordinator: ShareCoordinator = broker.coordinators[SHARES]

    def refused(index: int, error: KafkaError) -> PartitionResult:
        return PartitionResult(partition=index, error_code=error.code, error_message=error.message)

    waits = []
    for asked in topic.partitions:
        key = SharePartitionKey(group_id, topic.topic_id, asked.partition)
        wait = attempt(_ask, coordinator, key, asked)
        waits.append(wait.recover(KafkaError, partial(refused, asked.partition)))
    return gather(waits).map(lambda results: InitializeStateResult(topic.topic_id, results))


def _ask(coordinator: ShareCoordinator, key: SharePartitionKey, asked: PartitionData) -> Deferred[PartitionResult]:
    begun = coordinator.initialize(key, asked.state_epoch, asked.start_offset)
    return begun.map(lambda _: PartitionResult(partition=key.partition))
