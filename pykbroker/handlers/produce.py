"""Produce (key 0), versions 3 to 13; 0 to 2 are listed for old librdkafka's sake (KIP-896) but not served.

acks 0 (no answer; an error closes the connection, as Apache Kafka does), 1 and all. Record batches go to the log as
they came; validation, idempotence and the per-record errors of KIP-467 are the log's (storage/validate.py). Topic ids
from version 13 (KIP-516), the current leader in errors from version 10 (KIP-951). An unknown topic named by its name is
created where auto.create.topics.enable is on.

Left out: transactions (a batch marked transactional is refused with INVALID_TXN_STATE).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.dispatch import CloseConnection
from pykbroker.metadata.names import is_internal
from pykbroker.storage.validate import RecordsRejected
from pykbroker.waits import Deferred
from wire.errors import ErrorCode, KafkaError
from wire.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

if TYPE_CHECKING:
    from pykbroker.broker import Broker
    from pykbroker.context import RequestContext
    from pykbroker.partition import Partition
    from wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

_ALL = -1
#: The client id of Kafka's own administration, which alone may write to the brokers' topics.
_ADMIN_CLIENT_ID = "__admin_client"


def handle(
    broker: Broker, ctx: RequestContext, request: ProduceRequest
) -> ProduceResponse | Deferred[ProduceResponse | None] | None:
    version = ctx.api_version
    if request.acks not in (_ALL, 0, 1):
        return _settle(request, failed(request, version, KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)))
    response = ProduceResponse()
    unsynced: list[tuple[Partition, PartitionProduceResponse]] = []
    for topic in request.topic_data:
        answers = TopicProduceResponse(name=topic.name, topic_id=topic.topic_id)
        response.responses.append(answers)
        for data in topic.partition_data:
            answers.partition_responses.append(_append(broker, ctx, topic, data, unsynced))
    if version >= 10:
        response.node_endpoints = _leaders(broker, ctx, response)
    if not unsynced:
        return _settle(request, response)
    return _after_flush(broker, request, response, unsynced)


def failed(request: ProduceRequest, version: int, error: KafkaError) -> ProduceResponse:
    """The same error for every partition asked for."""
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    PartitionProduceResponse(
                        index=data.index, error_code=error.code, base_offset=-1, log_start_offset=-1
                    )
                    for data in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )


def _append(
    broker: Broker,
    ctx: RequestContext,
    topic: TopicProduceData,
    data: PartitionProduceData,
    unsynced: list[tuple[Partition, PartitionProduceResponse]],
) -> PartitionProduceResponse:
    answer = PartitionProduceResponse(index=data.index, base_offset=-1, log_start_offset=-1)
    try:
        partition = _find(broker, ctx, topic, data.index)
        if partition.leader != broker.node_id:
            answer.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            answer.current_leader = LeaderIdAndEpoch(leader_id=partition.leader, leader_epoch=partition.leader_epoch)
            return answer
        if data.records is None or isinstance(data.records, list):
            raise KafkaError(ErrorCode.INVALID_RECORD, "a produce request must carry records")
        result = partition.append_produce(data.records)
    except RecordsRejected as error:
        answer.error_code = error.code
        answer.error_message = error.message
        answer.record_errors = [
            BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
            for index, message in error.record_errors
        ]
        return answer
    except KafkaError as error:
        answer.error_code = error.code
        answer.error_message = error.message
        return answer
    if partition.log.needs_flush_before_ack:
        unsynced.append((partition, answer))
    answer.base_offset = result.base_offset
    answer.log_append_time_ms = result.log_append_time
    answer.log_start_offset = result.log_start_offset
    return answer


def _find(broker: Broker, ctx: RequestContext, topic: TopicProduceData, index: int) -> Partition:
    cluster = broker.cluster
    if ctx.api_version >= 13:
        partition = cluster.partition_by_id(topic.topic_id, index)
        if partition is None and cluster.topic_name(topic.topic_id) is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
    else:
        partition = cluster.partition(topic.name, index)
        if partition is None and cluster.auto_create(topic.name):
            partition = cluster.partition(topic.name, index)
    if partition is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if is_internal(partition.topic) and ctx.client_id != _ADMIN_CLIENT_ID:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Cannot append to internal topic {partition.topic}")
    return partition


def _leaders(broker: Broker, ctx: RequestContext, response: ProduceResponse) -> list[NodeEndpoint]:
    """Where the leaders named in NOT_LEADER_OR_FOLLOWER answers are found."""
    wanted = {
        answer.current_leader.leader_id
        for topic in response.responses
        for answer in topic.partition_responses
        if answer.current_leader is not None and answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    }
    if not wanted:
        return []
    return [
        NodeEndpoint(node_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
        for node in broker.cluster.nodes(ctx.listener)
        if node.node_id in wanted
    ]


def _after_flush(
    broker: Broker,
    request: ProduceRequest,
    response: ProduceResponse,
    unsynced: list[tuple[Partition, PartitionProduceResponse]],
) -> Deferred[ProduceResponse | None]:
    """Answer once every partition written to is synced; one that could not be turns into an error."""
    settled: Deferred[ProduceResponse | None] = Deferred()
    left = len(unsynced)

    def synced(answer: PartitionProduceResponse, flushed: Deferred[None]) -> None:
        nonlocal left
        try:
            _ = flushed.value
        except KafkaError as error:
            answer.error_code, answer.error_message, answer.base_offset = error.code, error.message, -1
        left -= 1
        if not left:
            try:
                settled.complete(_settle(request, response))
            except CloseConnection as error:
                settled.fail(error)

    for partition, answer in unsynced:
        broker.cluster.group_commit(partition).then(partial(synced, answer))
    return settled


def _settle(request: ProduceRequest, response: ProduceResponse) -> ProduceResponse | None:
    """With acks 0 nothing is sent; an error can only be told by closing the connection."""
    if request.acks != 0:
        return response
    for topic in response.responses:
        for answer in topic.partition_responses:
            if answer.error_code != 0:
                raise CloseConnection(
                    f"a produce with acks=0 to {topic.name}-{answer.index} failed with "
                    f"{ErrorCode(answer.error_code).name}, and there is no other way to tell it"
                )
    return None
