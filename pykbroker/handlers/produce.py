"""Produce (key 0), versions 3 to 13; 0 to 2 are listed for librdkafka before 2.0 (KIP-896) but not served.

acks 0 (no answer; an error closes the connection, as in Apache Kafka), 1 and all. Record batches are appended as they came;
validation, idempotence and the per-record errors of KIP-467 are in ``storage/log/validate.py``. Topic ids from version 13
(KIP-516), the current leader in errors from version 10 (KIP-951). Produce creates no topics: the Metadata request that
producers send first does.

Transactional batches need the transactional id in the request, and the coordinator verifies that the partition is part of
the transaction (KIP-890); from version 12 a produce adds its partitions to the transaction.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from pykbroker.coordination.transactions.admitting import Dialect, Refusals, admit
from pykbroker.handlers.contract import CloseConnection
from pykbroker.handlers.in_slices import in_slices
from pykbroker.handlers.leader_endpoints import leader_endpoints
from pykbroker.metadata.names import INTERNAL_TOPICS
from pykbroker.runtime.waits import Deferred, as_wait, gather
from pykbroker.storage.log.rejections import NotOneBatch, RecordsRejected
from pykbroker.wire.batch_header import ATTRIBUTES_AT, HEADER_SIZE, TRANSACTIONAL_BIT, BatchHeader, read_batch_header
from pykbroker.wire.compression import Compression
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError
from pykbroker.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from pykbroker.wire.primitives import Buffer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pykbroker.brokers.broker import Broker
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.slices import Work
    from pykbroker.security.context import RequestContext
    from pykbroker.storage.log.log import AppendResult
    from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

#: Waits for batches to be as durable as was asked, and the answers that may fail with them.
Waiting = list[tuple[Deferred[None], PartitionProduceResponse]]

_ALL = -1
#: Versions from which a produce adds its partitions to the transaction, and clients know TRANSACTION_ABORTABLE (KIP-890).
_ADDS_SINCE = 12
_ABORTABLE_SINCE = 11
_ZSTD_SINCE = 7
#: The version from which errors carry the current leader and its endpoint (KIP-951).
_LEADER_SINCE = 10
#: Topics are named by their ids (KIP-516).
IDS_SINCE = 13
_CODEC_MASK = 0x07
#: Partitions that are written in one turn, and the weight of one of more than these.
_AT_ONCE = 500
_WEIGHT = 5
#: Errors of an append whose answers have no log start offset.
_SAYS_NO_MORE = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
    }
)
#: The client id of Kafka's administrative tools, which alone may write to internal topics.
_ADMIN_CLIENT_ID = "__admin_client"


def handle(
    broker: Broker, ctx: RequestContext, request: ProduceRequest
) -> ProduceResponse | Deferred[ProduceResponse | None] | None:
    version = ctx.api_version
    if request.acks not in (_ALL, 0, 1):
        return settle(request, failed(request, version, KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)))
    transactional = [
        (topic, data.index, header)
        for topic in request.topic_data
        for data in topic.partition_data
        if (header := _transactional_header(data.records)) is not None
    ]
    if transactional:
        return _handle_transactional(broker, ctx, request, transactional)
    return _write(broker, ctx, request, {})


def logs_of(broker: Broker, version: int, request: ProduceRequest) -> Iterator[Partition | None]:
    """The partitions whose logs are opened before ``handle`` is called."""
    for topic in request.topic_data:
        for data in topic.partition_data:
            yield _partition(broker, version, topic, data.index)


def _write(
    broker: Broker, ctx: RequestContext, request: ProduceRequest, refusals: Refusals
) -> ProduceResponse | Deferred[ProduceResponse | None] | None:
    """Append all partitions that are not refused."""
    topics = request.topic_data
    if len(topics) != 1 or len(topics[0].partition_data) > _AT_ONCE:
        partitions = sum([len(topic.partition_data) for topic in topics])
        if len(topics) + partitions > _AT_ONCE:
            kept = _keep_records(broker, request)
            return in_slices(broker, ctx, _write_many(broker, ctx, request, refusals, kept))
    response = ProduceResponse()
    waiting: Waiting = []
    to_all = request.acks == _ALL
    for topic in topics:
        answers = TopicProduceResponse(name=topic.name, topic_id=topic.topic_id)
        response.responses.append(answers)
        for data in topic.partition_data:
            answers.partition_responses.append(
                _append(broker, ctx, topic, data, to_all=to_all, waiting=waiting, refusals=refusals)
            )
    return written(broker, ctx, request, response, waiting)


def _write_many(
    broker: Broker, ctx: RequestContext, request: ProduceRequest, refusals: Refusals, kept: int
) -> Work[ProduceResponse | None]:
    """The same in slices, with ``kept`` bytes of copied records."""
    response = ProduceResponse()
    waiting: Waiting = []
    to_all = request.acks == _ALL
    try:
        for topic in request.topic_data:
            answers = TopicProduceResponse(name=topic.name, topic_id=topic.topic_id)
            response.responses.append(answers)
            for data in topic.partition_data:
                answers.partition_responses.append(
                    _append(broker, ctx, topic, data, to_all=to_all, waiting=waiting, refusals=refusals)
                )
                yield _WEIGHT
            yield 1
    finally:
        broker.runtime.memory.received.give(kept)
    return written(broker, ctx, request, response, waiting)


def written(
    broker: Broker,
    ctx: RequestContext,
    request: ProduceRequest,
    response: ProduceResponse,
    waiting: Waiting,
) -> ProduceResponse | Deferred[ProduceResponse | None] | None:
    """The response once all of ``waiting`` is over; None where none is sent. Raises CloseConnection, with acks=0 alone."""
    if waiting:
        return _when_committed(broker, ctx, request, response, waiting)
    if ctx.api_version >= _LEADER_SINCE and not broker.is_only:
        response.node_endpoints = _leaders(broker, ctx, response)
    return response if request.acks else settle(request, response)


def is_transactional(request: ProduceRequest) -> bool:
    """Whether any of the request's batches is transactional."""
    return any(_transactional_header(data.records) for topic in request.topic_data for data in topic.partition_data)


def _transactional_header(records: Any) -> BatchHeader | None:
    """The header of a transactional batch, None for others, of which one byte is read."""
    if records is None or len(records) < HEADER_SIZE or not records[ATTRIBUTES_AT + 1] & TRANSACTIONAL_BIT:
        return None
    try:
        return read_batch_header(records)
    except WireError:
        return None  # the append refuses it with the reason


def _handle_transactional(
    broker: Broker,
    ctx: RequestContext,
    request: ProduceRequest,
    transactional: list[tuple[TopicProduceData, int, BatchHeader]],
) -> ProduceResponse | Deferred[ProduceResponse | None] | None:
    """Append once the transaction coordinator has verified the partitions of transactional batches."""
    version = ctx.api_version
    if request.transactional_id is None:
        error = KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        return settle(request, failed(request, version, error))
    producers = set()
    partitions: list[Partition] = []
    for topic, index, header in transactional:
        producers.add((header.producer_id, header.producer_epoch))
        try:
            partition = _find(broker, ctx, topic, index)
        except KafkaError:
            continue  # the append finds the same error and answers it
        if partition.leader == broker.node_id:
            partitions.append(partition)
    if len(producers) > 1:
        return settle(request, failed(request, version, KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)))
    dialect = Dialect(adds=version >= _ADDS_SINCE, knows_abortable=version >= _ABORTABLE_SINCE)
    admitted = admit(broker, request.transactional_id, producers.pop(), partitions, dialect)
    if admitted.done:
        return _write(broker, ctx, request, admitted.value)
    return _write_later(broker, ctx, request, admitted)


def _write_later(
    broker: Broker, ctx: RequestContext, request: ProduceRequest, admitted: Deferred[Refusals]
) -> Deferred[ProduceResponse | None]:
    """Append when the coordinator has answered. The records are copied until then."""
    kept = _keep_records(broker, request)

    def write(done: Deferred[Refusals]) -> ProduceResponse | Deferred[ProduceResponse | None] | None:
        broker.runtime.memory.received.give(kept)
        return _write(broker, ctx, request, done.value)

    return admitted.fold(write).chain(as_wait)


def _keep_records(broker: Broker, request: ProduceRequest) -> int:
    """Copy the records, since the receive block is reused in the next turn. Returns their bytes, which count as received until they
    are given back.
    """
    kept = 0
    for topic in request.topic_data:
        for data in topic.partition_data:
            if data.records is not None:
                data.records = bytearray(data.records)  # type: ignore[arg-type]  # a list is for encoding only
                kept += len(data.records)
    broker.runtime.memory.received.count(kept)
    return kept


def failed(request: ProduceRequest, version: int, error: KafkaError) -> ProduceResponse:
    """The request as a whole is refused: every partition carries the error."""
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
    *,
    to_all: bool,
    waiting: Waiting,
    refusals: Refusals,
) -> PartitionProduceResponse:
    answer = PartitionProduceResponse(index=data.index, base_offset=-1, log_start_offset=-1)
    try:
        partition = _find(broker, ctx, topic, data.index)
    except KafkaError as error:
        answer.error_code = error.code
        named = topic.topic_id if ctx.api_version >= IDS_SINCE else topic.name
        elsewhere = broker.placed(named, data.index) if error.code == ErrorCode.NOT_LEADER_OR_FOLLOWER else None
        if elsewhere is not None and ctx.api_version >= _LEADER_SINCE:
            answer.current_leader = LeaderIdAndEpoch(elsewhere.leader, elsewhere.leader_epoch)
        return answer
    if partition.leader != broker.node_id:
        answer.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        if ctx.api_version >= _LEADER_SINCE:
            answer.current_leader = LeaderIdAndEpoch(leader_id=partition.leader, leader_epoch=partition.leader_epoch)
        return answer
    refusal = refusals.get((partition.topic, partition.index)) if refusals else None
    if refusal is not None:
        answer.error_code, answer.error_message = refusal
        return answer
    appended: AppendResult | Deferred[AppendResult] | KafkaError
    try:
        if data.records is None or isinstance(data.records, list):
            raise NotOneBatch(ErrorCode.INVALID_RECORD, "a produce request must carry records")
        if ctx.api_version < _ZSTD_SINCE and _is_zstd(data.records):
            raise NotOneBatch(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd came with version 7 (KIP-110)")
        appended = partition.append_produce(data.records, transaction_version(ctx.api_version), to_all=to_all)
    except KafkaError as error:
        appended = error.kept()
    return answered(partition, appended, ctx.api_version, to_all=to_all, waiting=waiting)


def transaction_version(version: int) -> int:
    """The transaction version of a producer that sends this version of Produce."""
    return 2 if version >= _ADDS_SINCE else 0


def answered(
    partition: Partition,
    appended: AppendResult | Deferred[AppendResult] | KafkaError,
    version: int,
    *,
    to_all: bool,
    waiting: Waiting,
) -> PartitionProduceResponse:
    """The answer for a batch that the partition took or refused; what it has to wait for is added to ``waiting``."""
    answer = PartitionProduceResponse(index=partition.index, base_offset=-1, log_start_offset=-1)
    if isinstance(appended, KafkaError):
        _explain(answer, partition, appended)
        return answer
    if isinstance(appended, Deferred):
        waiting.append((_appended_later(answer, partition, version, appended, to_all=to_all), answer))
        return answer
    durable = appended.committed if to_all else appended.synced
    if durable is not None:
        waiting.append((durable, answer))
    answer.base_offset = appended.base_offset
    answer.log_append_time_ms = appended.log_append_time
    answer.log_start_offset = appended.log_start_offset
    return answer


def _appended_later(
    answer: PartitionProduceResponse,
    partition: Partition,
    version: int,
    appended: Deferred[AppendResult],
    *,
    to_all: bool,
) -> Deferred[None]:
    """Fill in the answer once the batch is appended, or refused; the wait until it is as durable as was asked."""

    def fill(result: AppendResult) -> Deferred[None]:
        answer.base_offset = result.base_offset
        answer.log_append_time_ms = result.log_append_time
        answer.log_start_offset = result.log_start_offset
        return (result.committed if to_all else result.synced) or Deferred.completed(None)

    def settle(done: Deferred[AppendResult]) -> Deferred[None]:
        if not isinstance(done.error, KafkaError):
            return done.chain(fill)
        if done.error.code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
            answer.error_code = done.error.code
            if version >= _LEADER_SINCE:
                answer.current_leader = LeaderIdAndEpoch(
                    leader_id=partition.leader, leader_epoch=partition.leader_epoch
                )
        else:
            _explain(answer, partition, done.error)
        return Deferred.completed(None)

    return appended.fold(settle).chain(lambda wait: wait)


def _is_zstd(records: Buffer) -> bool:
    return len(records) >= HEADER_SIZE and records[ATTRIBUTES_AT + 1] & _CODEC_MASK == Compression.ZSTD


def _explain(answer: PartitionProduceResponse, partition: Partition, error: KafkaError) -> None:
    """Fill in the error of a failed append as Apache Kafka does: a message only for records that break a rule, the log start
    offset unless the log, or the size or checksum of the batch, is at fault.
    """
    answer.error_code = error.code
    if isinstance(error, NotOneBatch):
        answer.error_message = error.message if error.excerpt else None
        return
    if error.code not in _SAYS_NO_MORE:
        answer.log_start_offset = partition.log_start_offset
    if isinstance(error, RecordsRejected):
        answer.error_message = error.message
        answer.record_errors = [
            BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
            for index, message in error.record_errors
        ]


def _find(broker: Broker, ctx: RequestContext, topic: TopicProduceData, index: int) -> Partition:
    if ctx.api_version >= IDS_SINCE:
        partition = broker.partition_by_id(topic.topic_id, index)
    else:
        partition = broker.partition(topic.name, index)
    if partition is None:
        name = broker.topic_name(topic.topic_id) if ctx.api_version >= IDS_SINCE else topic.name
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID if name is None else broker.absent(name, index))
    if partition.topic in INTERNAL_TOPICS and ctx.client_id != _ADMIN_CLIENT_ID:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Cannot append to internal topic {partition.topic}")
    return partition


def _partition(broker: Broker, version: int, topic: TopicProduceData, index: int) -> Partition | None:
    if version >= IDS_SINCE:
        return broker.partition_by_id(topic.topic_id, index)
    return broker.partition(topic.name, index)


def _leaders(broker: Broker, ctx: RequestContext, response: ProduceResponse) -> list[NodeEndpoint]:
    """The endpoints of the leaders that NOT_LEADER_OR_FOLLOWER answers name."""
    wanted = {
        answer.current_leader.leader_id
        for topic in response.responses
        for answer in topic.partition_responses
        if answer.current_leader is not None and answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    }
    return leader_endpoints(broker, ctx.listener, wanted, NodeEndpoint)


def _when_committed(
    broker: Broker,
    ctx: RequestContext,
    request: ProduceRequest,
    response: ProduceResponse,
    waiting: Waiting,
) -> Deferred[ProduceResponse | None]:
    """Answer once every batch is as durable as its acks ask; one that may be lost is answered with the error. What other replicas lack
    has its offset, as in Kafka.
    """

    def lost(answer: PartitionProduceResponse, error: KafkaError) -> None:
        if answer.error_code == ErrorCode.REQUEST_TIMED_OUT:
            return
        answer.error_code = error.code
        if error.code == ErrorCode.KAFKA_STORAGE_ERROR:
            answer.error_message, answer.base_offset = error.message, -1

    answered = [committed.recover(KafkaError, partial(lost, answer)) for committed, answer in waiting]
    if broker.store.replication is not None:
        _end_in_time(broker, request, [(each, answer) for each, (_, answer) in zip(answered, waiting, strict=True)])

    def finish(_: list[None]) -> ProduceResponse | None:
        if ctx.api_version >= _LEADER_SINCE:
            response.node_endpoints = _leaders(broker, ctx, response)
        return settle(request, response)

    return gather(answered).map(finish)


def _end_in_time(
    broker: Broker, request: ProduceRequest, waiting: list[tuple[Deferred[None], PartitionProduceResponse]]
) -> None:
    """Answer REQUEST_TIMED_OUT for what other replicas do not have after the request's timeout: it is in the log, and may be committed
    later.
    """

    def expire() -> None:
        for wait, answer in waiting:
            if not wait.done:
                answer.error_code = ErrorCode.REQUEST_TIMED_OUT
                wait.complete(None)

    timer = broker.runtime.client_timers.after(request.timeout_ms, expire)
    gather([wait for wait, _ in waiting]).settled().map(lambda _: timer.cancel()).or_log("ending a time limit")


def settle(request: ProduceRequest, response: ProduceResponse) -> ProduceResponse | None:
    """The answer to send. With acks=0 there is none: an error closes the connection (CloseConnection)."""
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
