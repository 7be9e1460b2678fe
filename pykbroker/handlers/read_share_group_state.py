"""ReadShareGroupState (key 84), version 0: the state of a share partition, for its leader (KIP-932).

It is a request between brokers, which needs CLUSTER_ACTION. Brokers of this process ask the share coordinator without it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.share.state import SharePartitionKey, ShareState
from pykbroker.handlers.in_slices import in_slices
from pykbroker.handlers.sharing.each_partition import each_partition
from pykbroker.runtime.waits import Deferred, apply, attempt
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.read_share_group_state import (
    PartitionResult,
    ReadShareGroupStateResponse,
    ReadStateResult,
    StateBatch,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.share.coordinator import ShareCoordinator
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.read_share_group_state import PartitionData, ReadShareGroupStateRequest, ReadStateData

#: The weight of a partition.
_WEIGHT = 4


def handle(
    broker: Broker, ctx: RequestContext, request: ReadShareGroupStateRequest
) -> ReadShareGroupStateResponse | Deferred[ReadShareGroupStateResponse]:
    coordinator: ShareCoordinator = broker.shares

    def ask(topic: ReadStateData, asked: PartitionData) -> Deferred[PartitionResult]:
        def refused(error: KafkaError) -> PartitionResult:
            return PartitionResult(partition=asked.partition, error_code=error.code, error_message=error.message)

        key = SharePartitionKey(request.group_id, topic.topic_id, asked.partition)
        return attempt(_ask, coordinator, key, asked).recover(KafkaError, refused)

    found = in_slices(broker, ctx, each_partition(request.topics, ask, _result_of, weight=_WEIGHT))
    return apply(lambda results: ReadShareGroupStateResponse(results=results), found)


def _result_of(topic: ReadStateData, results: list[PartitionResult]) -> ReadStateResult:
    return ReadStateResult(topic.topic_id, results)


def _ask(coordinator: ShareCoordinator, key: SharePartitionKey, asked: PartitionData) -> Deferred[PartitionResult]:
    return coordinator.read(key, asked.leader_epoch).map(partial(_result, key.partition))


def _result(index: int, state: ShareState) -> PartitionResult:
    return PartitionResult(
        partition=index,
        state_epoch=state.state_epoch,
        start_offset=state.start_offset,
        state_batches=[StateBatch(*batch) for batch in state.batches],
    )
