"""Produce in its usual form, from the bytes of the request to those of the answer without the messages between them.

That is what producers send all day: a flexible version, acks 1 or all, no transaction, no fields of later versions, and partitions that
this broker leads. Anything else, malformed bytes too, is left to ``produce.py`` before anything is written. No rule is here: a batch is
judged and appended by the partition, and an append that fails or waits is answered as ``produce.py`` answers it.
"""

from __future__ import annotations

from struct import Struct
from struct import error as struct_error
from typing import TYPE_CHECKING, Any

from pykbroker.handlers import produce
from pykbroker.metadata.names import INTERNAL_TOPICS
from pykbroker.partitions.dormant_logs import OPENED_AT_ONCE
from pykbroker.security.context import RequestContext
from pykbroker.storage.log.log import AppendResult
from pykbroker.wire.apis import ApiKey
from pykbroker.wire.batch_header import ATTRIBUTES_AT, HEADER_SIZE, TRANSACTIONAL_BIT
from pykbroker.wire.errors import KafkaError, WireError
from pykbroker.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from pykbroker.wire.primitives import LONG_UVARINT, UUID_SIZE, Buffer, read_length

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import Peer

    #: A topic of a request: its name or its id, the same as the request has it, and the partitions with their records.
    Topic = tuple[Any, Buffer, list[tuple[Partition, memoryview]]]
    #: What became of a batch; the first is what ``Partition.append_usual`` returns.
    Appended = tuple[int, int] | AppendResult | Deferred[AppendResult] | KafkaError

#: The first flexible version.
SINCE = 9
_ALL = -1
#: acks, the time limit, and the number of topics; a partition's index and the first three bytes of its records' length, or of that and
#: the records.
_unpack_begin = Struct(">hiB").unpack_from
_unpack_partition = Struct(">iBBB").unpack_from
#: The size, the correlation id, no tags, the number of topics.
_BEGIN = Struct(">iixB")
#: Index, no error, base offset, time of the append, log start offset, no record errors, no message, no tags.
_pack_partition = Struct(">ihqqqBxx").pack
#: After the topics: no throttling, no tags.
_END = bytes(5)


def answer(
    broker: Broker, peer: Peer, frame: memoryview, body: int, version: int, header: tuple[int, str | None]
) -> list[Buffer] | tuple[RequestContext, ProduceRequest, Any] | None:
    """The pieces of the answer to the request whose body begins at ``body`` in ``frame``; ``header`` has its correlation id and the
    client's. Where a batch is not appended at once, what the dispatcher goes on with: the request and its response, or the wait for it. None
    for an unusual request, of which nothing has been done.
    """
    try:
        usual = _read(broker, frame, body, version)
    except (IndexError, ValueError, struct_error, WireError):
        return None  # malformed
    if usual is None:
        return None
    acks, timeout_ms, topics = usual
    to_all = acks == _ALL
    out = bytearray(_BEGIN.size)
    appended: list[Appended] = []
    at_once, now_ms = True, broker.runtime.clock.now_ms()
    for _, encoded, partitions in topics:
        out += encoded
        out.append(len(partitions) + 1)
        for partition, records in partitions:
            result: Appended
            try:
                usual_append = partition.append_usual(records, now_ms, to_all)
                if usual_append is not None:
                    appended.append(usual_append)
                    if at_once:
                        first, start = usual_append
                        out += _pack_partition(partition.index, 0, first, -1, start, 1)
                    continue
                result = partition.append_produce(records, produce.transaction_version(version), to_all=to_all)
            except KafkaError as error:
                result = error.kept()
            appended.append(result)
            if type(result) is not AppendResult or (result.committed if to_all else result.synced) is not None:
                at_once = False
            elif at_once:
                out += _pack_partition(
                    partition.index, 0, result.base_offset, result.log_append_time, result.log_start_offset, 1
                )
        out.append(0)
    if not at_once:
        ctx = RequestContext(ApiKey.PRODUCE, version, *header, peer.host, peer.listener, peer.principal, peer)
        return _go_on(broker, ctx, ProduceRequest(acks=acks, timeout_ms=timeout_ms), topics, appended)
    out += _END
    _BEGIN.pack_into(out, 0, len(out) - 4, header[0], len(topics) + 1)
    return [out]


def _read(broker: Broker, frame: memoryview, pos: int, version: int) -> tuple[int, int, list[Topic]] | None:
    """Acks, the time limit and the topics of a request. Raises IndexError, ValueError, struct.error or WireError where it is malformed."""
    has_transaction = frame[pos]
    acks, timeout_ms, count = _unpack_begin(frame, pos + 1)
    if has_transaction or acks not in (1, _ALL) or not 1 < count < LONG_UVARINT:
        return None
    pos += 8
    by_id = version >= produce.IDS_SINCE
    find: Any = broker.find_by_id if by_id else broker.find
    topics: list[Topic] = []
    partitions = 0
    for _ in range(count - 1):
        start, length = pos, UUID_SIZE if by_id else frame[pos]
        pos += length
        encoded = frame[start:pos]
        key = bytes(encoded) if by_id else str(encoded[1:], "utf-8")
        found: list[tuple[Partition, memoryview]] = []
        parts = frame[pos]
        pos += 1
        if not 0 < length < LONG_UVARINT or not 1 < parts < LONG_UVARINT:
            return None
        for _ in range(parts - 1):
            index, size, second, third = _unpack_partition(frame, pos)
            pos += 5
            if size >= LONG_UVARINT:
                if second < LONG_UVARINT:  # ``read_length`` in place, for each batch of up to 2 MiB
                    size, pos = size & 127 | second << 7, pos + 1
                elif third < LONG_UVARINT:
                    size, pos = size & 127 | (second & 127) << 7 | third << 14, pos + 2
                else:
                    size, pos = read_length(frame, pos, size)
            end = pos + size - 1
            partition = find((key, index))
            if (
                size <= HEADER_SIZE
                or frame[end]
                or frame[pos + ATTRIBUTES_AT + 1] & TRANSACTIONAL_BIT
                or partition is None
                or partition.leader != broker.node_id
                or partition.topic in INTERNAL_TOPICS
            ):
                return None
            found.append((partition, frame[pos:end]))
            pos = end + 1
        if frame[pos]:
            return None
        pos += 1
        topics.append((key, encoded, found))
        partitions += parts
    if partitions > OPENED_AT_ONCE and broker.dormant.new and _creates_many(broker, topics):
        return None
    return None if frame[pos] or pos + 1 != len(frame) else (acks, timeout_ms, topics)


def _creates_many(broker: Broker, topics: list[Topic]) -> bool:
    """Whether so many logs are created that they are before the request is handled, some in each turn."""
    return bool(broker.dormant.closed(partition for _, _, found in topics for partition, _ in found))


def _go_on(
    broker: Broker, ctx: RequestContext, request: ProduceRequest, topics: list[Topic], appended: list[Appended]
) -> tuple[RequestContext, ProduceRequest, Any]:
    """The request with its topics, without its records, and the response to it or the wait for that."""
    response, to_all = ProduceResponse(), request.acks == _ALL
    waiting: produce.Waiting = []
    results = iter(appended)
    for key, _, partitions in topics:
        named = {"topic_id" if isinstance(key, bytes) else "name": key}
        data = [PartitionProduceData(partition.index) for partition, _ in partitions]
        request.topic_data.append(TopicProduceData(**named, partition_data=data))
        answers = [
            produce.answered(partition, _result(next(results)), ctx.api_version, to_all=to_all, waiting=waiting)
            for partition, _ in partitions
        ]
        response.responses.append(TopicProduceResponse(**named, partition_responses=answers))
    return ctx, request, produce.written(broker, ctx, request, response, waiting)


def _result(appended: Appended) -> AppendResult | Deferred[AppendResult] | KafkaError:
    """What ``produce.py`` answers."""
    if isinstance(appended, tuple):
        first, start = appended
        return AppendResult(first, first, -1, start)
    return appended
