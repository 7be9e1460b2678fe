"""ListOffsets (key 2), versions 1 to 11.

By timestamp (the first record at or after it), or one of the special timestamps: -1 latest, -2 earliest, -3 largest timestamp
(KIP-734, version 7), -4 earliest local (KIP-405, version 8), -5 latest tiered (KIP-1005, version 9), -6 earliest
pending upload (KIP-1023, version 11). With read_committed the last stable offset is the end. There is no tiered storage: -4
is the log start offset, -5 and -6 find nothing, as in Apache Kafka without it.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from pykbroker.handlers.in_slices import in_slices
from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.storage.log.lookup import Means, NeedsMemory
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError
from pykbroker.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pykbroker.brokers.broker import Broker
    from pykbroker.partitions.leadership import Leadership
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.slices import Work
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest

log = logging.getLogger(__name__)

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6

_READ_COMMITTED = 1
#: Bytes of memory that suffice for most searches.
_MEMORY = 2 * 1024 * 1024
#: The weight of counting how often a partition is named.
_COUNTING = 0.1
#: The replica id of tools, which any replica answers, not the leader alone.
_DEBUGGING = -2
#: The version that introduced each special timestamp; older versions are refused.
_SINCE = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}


class _Search(NamedTuple):
    """A search for an offset in the log, done in a thread, and the answer that it fills in."""

    answer: ListOffsetsPartitionResponse
    partition: Partition
    timestamp: int
    upper: int


def handle(
    broker: Broker, ctx: RequestContext, request: ListOffsetsRequest
) -> ListOffsetsResponse | Deferred[ListOffsetsResponse]:
    if len(request.topics) == 1 and len(request.topics[0].partitions) == 1:  # the usual case
        topic = request.topics[0]
        searches: list[_Search] = []
        answer = _answer(broker, ctx.api_version, request, topic.name, topic.partitions[0], searches)
        response = ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name=topic.name, partitions=[answer])])
        return _searched(broker, ctx, searches, response)
    return in_slices(broker, ctx, _answers(broker, ctx, request))


def _answers(broker: Broker, ctx: RequestContext, request: ListOffsetsRequest) -> Work[ListOffsetsResponse]:
    named: Counter[tuple[str, int]] = Counter()
    for topic in request.topics:
        for requested in topic.partitions:
            named[topic.name, requested.partition_index] += 1
            yield _COUNTING
    searches: list[_Search] = []
    response = ListOffsetsResponse()
    for topic in request.topics:
        answers = ListOffsetsTopicResponse(name=topic.name)
        response.topics.append(answers)
        for requested in topic.partitions:
            times = named.pop((topic.name, requested.partition_index), 0)
            if times == 1:
                answers.partitions.append(_answer(broker, ctx.api_version, request, topic.name, requested, searches))
            elif times:  # a partition named more than once is refused once
                answers.partitions.append(_error(requested.partition_index, ErrorCode.INVALID_REQUEST))
            yield 1
        yield 1
    return _searched(broker, ctx, searches, response)


def _searched(
    broker: Broker, ctx: RequestContext, searches: list[_Search], response: ListOffsetsResponse
) -> ListOffsetsResponse | Deferred[ListOffsetsResponse]:
    """The response once the searches have filled in their answers."""
    if not searches:
        return response
    searching = _Searching(broker.runtime, searches, ctx.api_version)
    return searching.go_on(_MEMORY).map(lambda _: response)


def logs_of(broker: Broker, version: int, request: ListOffsetsRequest) -> Iterator[Partition | None]:
    """The partitions whose logs are opened before ``handle`` is called."""
    for topic in request.topics:
        for requested in topic.partitions:
            yield broker.partition(topic.name, requested.partition_index)


def _answer(
    broker: Broker,
    version: int,
    request: ListOffsetsRequest,
    topic: str,
    requested: ListOffsetsPartition,
    searches: list[_Search],
) -> ListOffsetsPartitionResponse:
    """The answer, or an empty one that the search added to ``searches`` fills in."""
    try:
        partition, upper = _readable(broker, version, request, topic, requested)
        answer = ListOffsetsPartitionResponse(
            partition_index=requested.partition_index, timestamp=-1, offset=-1, leader_epoch=-1
        )
        if requested.timestamp >= 0 or requested.timestamp == MAX_TIMESTAMP:
            searches.append(_Search(answer, partition, requested.timestamp, upper))
        else:
            _fill(answer, _known(partition, requested.timestamp, upper), version)
        return answer
    except KafkaError as error:
        return _error(requested.partition_index, error.code)


def _readable(
    broker: Broker, version: int, request: ListOffsetsRequest, topic: str, requested: ListOffsetsPartition
) -> tuple[Partition, int]:
    """The partition, and the offset at which it ends for this reader.

    Raises KafkaError UNSUPPORTED_VERSION, UNKNOWN_TOPIC_OR_PARTITION, KAFKA_STORAGE_ERROR, or what ``check_served_by``
    raises.
    """
    partition = broker.partition(topic, requested.partition_index)
    if requested.timestamp < 0 and version < _SINCE.get(requested.timestamp, 1):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    if requested.timestamp < EARLIEST_PENDING_UPLOAD:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    if partition is None:
        raise KafkaError(broker.absent(topic, requested.partition_index))
    partition.check_served_by(
        broker.node_id, requested.current_leader_epoch, leader_only=request.replica_id != _DEBUGGING
    )
    if partition.led is not None:
        return partition, _end_for(partition, partition.led, request, requested)
    committed = request.isolation_level == _READ_COMMITTED
    return partition, partition.last_stable_offset if committed else partition.high_watermark


def _end_for(
    partition: Partition, led: Leadership, request: ListOffsetsRequest, requested: ListOffsetsPartition
) -> int:
    """Where a replicated partition ends: for a follower at its log end. Raises KafkaError OFFSET_NOT_AVAILABLE while the high watermark
    may be less than what clients have seen (KIP-207).
    """
    if request.replica_id >= 0:
        return partition.log_end_offset
    end = partition.last_stable_offset if request.isolation_level == _READ_COMMITTED else partition.high_watermark
    if requested.timestamp == LATEST and not led.knows_high_watermark:
        raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE)
    return end


def _fill(answer: ListOffsetsPartitionResponse, found: tuple[int, int, int], version: int) -> None:
    answer.timestamp, answer.offset, epoch = found
    answer.leader_epoch = epoch if version >= 4 else -1


def _known(partition: Partition, wanted: int, upper: int) -> tuple[int, int, int]:
    """(timestamp, offset, leader epoch) of a special timestamp that needs no search, each -1 if there is none."""
    if wanted == LATEST:
        return -1, upper, partition.leader_epoch
    if wanted in (EARLIEST, EARLIEST_LOCAL):
        log = partition.log
        return -1, log.log_start_offset, log.epoch_at(log.log_start_offset)
    return -1, -1, -1


class _Searching:
    """The searches of a request, in a thread, since they wait for the disk and read records: with a little memory of the budget, or
    what one batch needs.
    """

    def __init__(self, runtime: Runtime, searches: list[_Search], version: int) -> None:
        self._runtime = runtime
        self._version = version
        self._left = iter(searches)
        #: The search that needs more memory.
        self._again: _Search | None = None

    def go_on(self, memory: int) -> Deferred[None]:
        """Search with so many bytes of memory, and fill in the answers."""
        account = self._runtime.memory.decompressed

        def searched(done: Deferred[int]) -> int:
            account.give(memory)
            return done.value

        def search(_: None) -> Deferred[int]:
            means = Means(memory, self._runtime.breathe)
            return attempt(self._runtime.offload_read, self._search, means).fold(searched)

        granted = account.take(memory) or Deferred.completed(None)
        return granted.chain(search).chain(lambda more: self.go_on(more) if more else Deferred.completed(None))

    def _search(self, means: Means) -> int:
        """Fill in answers; returns the memory that the next one needs, 0 after the last one."""
        while (search := self._again or next(self._left, None)) is not None:
            self._again = None
            answer, partition, timestamp, upper = search
            try:
                _fill(answer, _find(partition, timestamp, upper, means), self._version)
            except KafkaError as error:
                answer.error_code = error.code
            except WireError as error:  # Kafka answers so
                log.warning("ListOffsets by timestamp in %r failed: a batch cannot be decoded: %s", partition, error)
                answer.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
            except NeedsMemory as error:
                self._again = search
                return error.needed
        return 0


def _find(partition: Partition, wanted: int, upper: int, means: Means) -> tuple[int, int, int]:
    """(timestamp, offset, leader epoch), each -1 if nothing is found."""
    log = partition.log
    if wanted == MAX_TIMESTAMP:
        found = log.offset_of_max_timestamp(means)
    else:
        found = log.offset_for_timestamp(wanted, upper, means)
    if found is None or found.offset >= upper:
        return -1, -1, -1
    return found.timestamp, found.offset, found.leader_epoch


def _error(index: int, code: int) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(
        partition_index=index, error_code=code, timestamp=-1, offset=-1, leader_epoch=-1
    )
