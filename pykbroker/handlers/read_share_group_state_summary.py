"""ReadShareGroupStateSummary (key 87), versions 0 to 1: where a share partition begins (KIP-932).

It is a request between brokers, which needs CLUSTER_ACTION. Brokers of this process ask the share coordinator without it. The leader's epoch
that it names is not looked at, as in 4.4.0.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.share.state import SharePartitionKey, ShareState
from pykbroker.handlers.in_slices import in_slices
from pykbroker.handlers.sharing.each_partition import each_partition
from pykbroker.runtime.waits import Deferred, apply, attempt
from pykbroker.wire.errors import KafkaError
from pykbroker.wire.messages.read_share_group_state_summary import (
    PartitionResult,
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.share.coordinator import ShareCoordinator
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.read_share_group_state_summary import (
        PartitionData,
        ReadShareGroupStateSummaryRequest,
        ReadStateSummaryData,
    )

#: The weight of a partition.
_WEIGHT = 4


def handle(
    broker: Broker, ctx: RequestContext, request: ReadShareGroupStateSummaryRequest
) -> ReadShareGroupStateSummaryResponse | Deferred[ReadShareGroupStateSummaryResponse]:
    coordinator: ShareCoordinator = broker.shares

    def ask(topic: ReadStateSummaryData, requested: PartitionData) -> Deferred[PartitionResult]:
        def refused(error: KafkaError) -> PartitionResult:
            return PartitionResult(partition=requested.partition, error_code=error.code, error_message=error.message)

        key = SharePartitionKey(request.group_id, topic.topic_id, requested.partition)
        return attempt(_ask, coordinator, key).recover(KafkaError, refused)

    found = in_slices(broker, ctx, each_partition(request.topics, ask, _result_of, weight=_WEIGHT))
    return apply(lambda results: ReadShareGroupStateSummaryResponse(results=results), found)


def failed(
    request: ReadShareGroupStateSummaryRequest, version: int, error: KafkaError
) -> ReadShareGroupStateSummaryResponse:
    words = KafkaError(error.code).message

    def refused(each: PartitionData) -> PartitionResult:
        return PartitionResult(partition=each.partition, error_code=error.code, error_message=words)

    results = [_result_of(topic, [refused(each) for each in topic.partitions]) for topic in request.topics]
    return ReadShareGroupStateSummaryResponse(results=results)


def _result_of(topic: ReadStateSummaryData, results: list[PartitionResult]) -> ReadStateSummaryResult:
    return ReadStateSummaryResult(topic.topic_id, results)


def _ask(coordinator: ShareCoordinator, key: SharePartitionKey) -> Deferred[PartitionResult]:
    return coordinator.summary(key).map(partial(_result, key.partition))


def _result(index: int, state: ShareState) -> PartitionResult:
    return PartitionResult(
        partition=index,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
    )
