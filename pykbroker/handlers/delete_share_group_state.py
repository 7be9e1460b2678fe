"""DeleteShareGroupState (key 86), version 0: forget a share partition (KIP-932).

It is a request between brokers, which needs CLUSTER_ACTION. Brokers of this process ask the share coordinator without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.share.state import SharePartitionKey
from pykbroker.handlers.in_slices import in_slices
from pykbroker.handlers.sharing.each_partition import each_partition
from pykbroker.runtime.waits import Deferred, apply, attempt
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.delete_share_group_state import (
    DeleteShareGroupStateResponse,
    DeleteStateResult,
    PartitionResult,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.share.coordinator import ShareCoordinator
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.delete_share_group_state import (
        DeleteShareGroupStateRequest,
        DeleteStateData,
        PartitionData,
    )

#: The weight of a partition.
_WEIGHT = 4


def handle(
    broker: Broker, ctx: RequestContext, request: DeleteShareGroupStateRequest
) -> DeleteShareGroupStateResponse | Deferred[DeleteShareGroupStateResponse]:
    coordinator: ShareCoordinator = broker.shares

    def ask(topic: DeleteStateData, asked: PartitionData) -> Deferred[PartitionResult]:
        def refused(error: KafkaError) -> PartitionResult:
            return PartitionResult(partition=asked.partition, error_code=error.code, error_message=error.message)

        key = SharePartitionKey(request.group_id, topic.topic_id, asked.partition)
        return attempt(_ask, coordinator, key, asked).recover(KafkaError, refused)

    found = in_slices(broker, ctx, each_partition(request.topics, ask, _result_of, weight=_WEIGHT))
    return apply(lambda results: DeleteShareGroupStateResponse(results=results), found)


def _result_of(topic: DeleteStateData, results: list[PartitionResult]) -> DeleteStateResult:
    return DeleteStateResult(topic.topic_id, results)


def _ask(coordinator: ShareCoordinator, key: SharePartitionKey, asked: PartitionData) -> Deferred[PartitionResult]:
    return coordinator.delete(key).map(lambda _: PartitionResult(partition=key.partition))
