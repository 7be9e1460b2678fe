"""OffsetDelete (key 47), version 0: delete committed offsets of a group (KIP-496).

Partitions that do not exist are refused here, offsets of topics to which the group is subscribed with
GROUP_SUBSCRIBED_TO_TOPIC. The rules are in ``groups/committing.py``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.group import check_group_id
from pykbroker.coordination.groups.shard import GroupShard
from pykbroker.handlers.in_slices import WEIGHT_OF_A_PART, in_parts, in_slices, is_small
from pykbroker.runtime.waits import as_wait, gather
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


def handle(
    broker: Broker, ctx: RequestContext, request: OffsetDeleteRequest
) -> OffsetDeleteResponse | Deferred[OffsetDeleteResponse]:
    if is_small(request.topics):
        return _delete(broker, request)
    return in_slices(broker, ctx, _in_parts(broker, request))


def _in_parts(broker: Broker, request: OffsetDeleteRequest) -> Work[OffsetDeleteResponse]:
    """Each part is checked anew against the group, appended and replayed."""
    deleted: list[Deferred[OffsetDeleteResponse]] = []
    for part in in_parts(request.topics):
        deleted.append(_delete(broker, OffsetDeleteRequest(request.group_id, part)))
        yield WEIGHT_OF_A_PART

    def joined(answers: list[OffsetDeleteResponse]) -> OffsetDeleteResponse:
        topics: dict[str, OffsetDeleteResponseTopic] = {}
        for topic in (topic for answer in answers for topic in answer.topics):
            if topic.name in topics:
                topics[topic.name].partitions += topic.partitions
            else:
                topics[topic.name] = topic
        return OffsetDeleteResponse(topics=list(topics.values()))

    return gather(deleted).map(joined)


def _delete(broker: Broker, request: OffsetDeleteRequest) -> Deferred[OffsetDeleteResponse]:
    refused: dict[str, OffsetDeleteResponseTopic] = {}
    known: list[OffsetDeleteRequestTopic] = []
    for topic in request.topics:
        missing: list[OffsetDeleteResponsePartition] = []
        there: list[OffsetDeleteRequestPartition] = []
        for partition in topic.partitions:
            index = partition.partition_index
            if not broker.metadata.image.has_partition(topic.name, index):
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                missing.append(OffsetDeleteResponsePartition(partition_index=index, error_code=code))
            else:
                there.append(partition)
        if missing:
            refused[topic.name] = OffsetDeleteResponseTopic(name=topic.name, partitions=missing)
        if there:
            known.append(OffsetDeleteRequestTopic(name=topic.name, partitions=there))
    request.topics = known
    check_group_id(request.group_id)
    deleted = as_wait(broker.groups.ask(request.group_id, GroupShard.delete_offsets, request))
    return deleted.map(partial(_merged, refused))


def _merged(refused: dict[str, OffsetDeleteResponseTopic], rest: OffsetDeleteResponse) -> OffsetDeleteResponse:
    """The refused partitions and the coordinator's answer for the rest, merged."""
    for topic in rest.topics:
        if topic.name in refused:
            refused[topic.name].partitions += topic.partitions
        else:
            refused[topic.name] = topic
    return OffsetDeleteResponse(topics=list(refused.values()))


def failed(request: OffsetDeleteRequest, version: int, error: KafkaError) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=error.code)
