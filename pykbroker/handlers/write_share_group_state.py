"""WriteShareGroupState (key 85), versions 0 to 1: keep what became of records of a share partition (KIP-932).

It is a request between brokers, which needs CLUSTER_ACTION. Brokers of this process ask the share coordinator without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.share.state import SharePartitionKey, ShareState, StateBatch
from pykbroker.handlers.in_slices import in_slices
from pykbroker.handlers.sharing.each_partition import each_partition
from pykbroker.runtime.waits import Deferred, apply, attempt
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.write_share_group_state import (
    PartitionResult,
    WriteShareGroupStateResponse,
    WriteStateResult,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.share.coordinator import ShareCoordinator
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.write_share_group_state import (
        PartitionData,
        WriteShareGroupStateRequest,
        WriteStateData,
    )

#: The weight of a partition.
_WEIGHT = 4


def handle(
    broker: Broker, ctx: RequestContext, request: WriteShareGroupStateRequest
) -> WriteShareGroupStateResponse | Deferred[WriteShareGroupStateResponse]:
    coordinator: ShareCoordinator = broker.shares

    def ask(topic: WriteStateData, asked: PartitionData) -> Deferred[PartitionResult]:
        def refused(error: KafkaError) -> PartitionResult:
            return PartitionResult(partition=asked.partition, error_code=error.code, error_message=error.message)

        key = SharePartitionKey(request.group_id, topic.topic_id, asked.partition)
        return attempt(_ask, coordinator, key, asked).recover(KafkaError, refused)

    found = in_slices(broker, ctx, each_partition(request.topics, ask, _result_of, weight=_WEIGHT))
    return apply(lambda results: WriteShareGroupStateResponse(results=results), found)


def _result_of(topic: WriteStateData, results: list[PartitionResult]) -> WriteStateResult:
    return WriteStateResult(topic.topic_id, results)


def _ask(coordinator: ShareCoordinator, key: SharePartitionKey, asked: PartitionData) -> Deferred[PartitionResult]:
    change = ShareState(
        state_epoch=asked.state_epoch,
        leader_epoch=asked.leader_epoch,
        start_offset=asked.start_offset,
        delivery_complete_count=asked.delivery_complete_count,
        batches=tuple(
            StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
            for each in asked.state_batches
        ),
    )
    return coordinator.write(key, change).map(lambda _: PartitionResult(partition=key.partition))
