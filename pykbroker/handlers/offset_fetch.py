"""OffsetFetch (key 9), versions 1 to 10: the committed offsets of groups.

Null topics means all of the group from version 2; the leader epoch from version 5 (KIP-320), many groups from version 8
(KIP-709), member id and epoch from version 9, topic ids from version 10 (KIP-848). Without a committed offset the answer is
offset -1 and no error. With ``require_stable`` (version 7, KIP-447) a partition with an offset in an open transaction is
answered UNSTABLE_OFFSET_COMMIT.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.shard import GroupShard
from pykbroker.handlers.in_slices import AT_ONCE, in_parts, in_slices, join_parts
from pykbroker.runtime.waits import Deferred, all_of, apply
from pykbroker.security.operations import DESCRIBE
from pykbroker.security.resources import GROUP, TOPIC
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.groups.offsets import TopicOffsets
    from pykbroker.runtime.slices import Work
    from pykbroker.security.authorizer import Authorizer
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest

    #: The answer for one group, or the wait for it.
    _Found = OffsetFetchResponseGroup | Deferred[OffsetFetchResponseGroup]
    _ByName = Callable[[OffsetFetchRequestGroup], _Found]

_ERROR_OF_GROUP_SINCE = 2
_MANY_GROUPS_SINCE = 8
_TOPIC_IDS_SINCE = 10


def handle(
    broker: Broker, ctx: RequestContext, request: OffsetFetchRequest
) -> OffsetFetchResponse | Deferred[OffsetFetchResponse]:
    version = ctx.api_version
    if version >= _MANY_GROUPS_SINCE:
        if len(request.groups) == 1 and _is_small(broker, request.groups[0]):
            return apply(_response_for_one, _fetch(broker, ctx, request.groups[0], stable=request.require_stable))
        work = _fetch_many(broker, ctx, request.groups, stable=request.require_stable)
        return apply(_response, in_slices(broker, ctx, work))
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    requested = OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)
    if _is_small(broker, requested):
        return apply(_older_response, _fetch(broker, ctx, requested, stable=request.require_stable))
    found = in_slices(broker, ctx, _fetch_many(broker, ctx, [requested], stable=request.require_stable))
    return apply(lambda groups: _older_response(groups[0]), found)


def _is_small(broker: Broker, requested: OffsetFetchRequestGroup) -> bool:
    topics = requested.topics
    if topics is None:
        offsets = _offsets(broker, requested.group_id)
        return len(offsets) <= AT_ONCE and sum(map(len, offsets.values())) <= AT_ONCE
    if len(topics) == 1:  # the usual case
        return len(topics[0].partition_indexes) <= AT_ONCE
    return len(topics) + sum([len(topic.partition_indexes) for topic in topics]) <= AT_ONCE


def _fetch_many(
    broker: Broker, ctx: RequestContext, groups: list[OffsetFetchRequestGroup], *, stable: bool
) -> Work[list[OffsetFetchResponseGroup]]:
    """The answers for the groups; for one with many partitions in parts, the first of which may be an error of the group."""
    found: list[_Found] = []
    for requested in groups:
        if _is_small(broker, requested):
            found.append(_fetch(broker, ctx, requested, stable=stable))
            yield 1 if requested.topics is None else len(requested.topics) + 1
            continue
        if requested.topics is None:
            found.append((yield from _fetch_all(broker, ctx, requested, stable=stable)))
            continue
        parts: list[_Found] = []
        for topics in in_parts(map(_Indexes, requested.topics or ())):
            some = copy(requested)
            some.topics = [OffsetFetchRequestTopics(of.name, of.topic_id, of.partitions) for of in topics]
            parts.append(_fetch(broker, ctx, some, stable=stable))
            yield AT_ONCE
        found.append(apply(_joined, all_of(parts)))
    return all_of(found)


def _offsets(broker: Broker, group_id: str) -> TopicOffsets:
    """What a group has at this moment, committed or not: it decides how the answer is divided, and nothing else."""
    try:
        shard = broker.groups.shards.at(broker.groups.partition_of(group_id)).shard
    except KafkaError:
        return {}  # the request is refused
    return shard.committed.visible(group_id)


def _fetch_all(
    broker: Broker, ctx: RequestContext, requested: OffsetFetchRequestGroup, *, stable: bool
) -> Generator[float, None, _Found]:
    """All offsets of a group with many, in parts; those that are committed meanwhile for other partitions are left out."""
    authorizer = broker.authorizer
    if authorizer is not None and not authorizer.may(ctx, DESCRIBE, GROUP, requested.group_id):
        return _refused(ctx, requested, KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    parts: list[_Found] = []
    offsets = list(_offsets(broker, requested.group_id).items())
    named = (OffsetFetchRequestTopics(name, partition_indexes=list(partitions)) for name, partitions in offsets)
    for topics in in_parts(map(_Indexes, named)):
        some = copy(requested)
        some.topics = [OffsetFetchRequestTopics(of.name, partition_indexes=of.partitions) for of in topics]
        parts.append(_fetch_existing(broker, ctx, some, stable=stable))
        yield AT_ONCE
    return apply(_joined, all_of(parts))


def _fetch_existing(broker: Broker, ctx: RequestContext, requested: OffsetFetchRequestGroup, *, stable: bool) -> _Found:
    """Offsets of topics by name, without what the client may not describe and what is gone."""

    def existing(answer: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup:
        for topic in answer.topics:
            topic.partitions = [each for each in topic.partitions if each.committed_offset >= 0 or each.error_code]
        answer.topics = [topic for topic in answer.topics if topic.partitions]
        if broker.authorizer is not None:
            answer.topics = _described(broker.authorizer, ctx, answer.topics)
        return _with_ids(broker, answer) if ctx.api_version >= _TOPIC_IDS_SINCE else answer

    question = GroupShard.fetch_stable if stable else GroupShard.fetch
    try:
        found = apply(existing, broker.groups.ask(requested.group_id, question, requested))
    except KafkaError as error:
        return _refused(ctx, requested, error)
    return found.recover(KafkaError, partial(_refused, ctx, requested)) if isinstance(found, Deferred) else found


def _described(
    authorizer: Authorizer, ctx: RequestContext, topics: list[OffsetFetchResponseTopics]
) -> list[OffsetFetchResponseTopics]:
    return [topic for topic in topics if authorizer.may(ctx, DESCRIBE, TOPIC, topic.name)]


class _Indexes:
    """A topic whose partitions are indexes."""

    __slots__ = ("name", "partitions", "topic_id")

    def __init__(self, topic: OffsetFetchRequestTopics) -> None:
        self.name, self.topic_id, self.partitions = topic.name, topic.topic_id, topic.partition_indexes


def _joined(parts: list[OffsetFetchResponseGroup]) -> OffsetFetchResponseGroup:
    first, *others = parts
    for other in others:
        join_parts(first.topics, other.topics, lambda topic: (topic.name, topic.topic_id))
    return first


def _response(groups: list[OffsetFetchResponseGroup]) -> OffsetFetchResponse:
    return OffsetFetchResponse(groups=groups)


def _response_for_one(group: OffsetFetchResponseGroup) -> OffsetFetchResponse:
    return OffsetFetchResponse(groups=[group])


def _older_response(found: OffsetFetchResponseGroup) -> OffsetFetchResponse:
    """The answer of versions up to 7."""
    return OffsetFetchResponse(error_code=found.error_code, topics=[_older(topic) for topic in found.topics])


def _fetch(broker: Broker, ctx: RequestContext, requested: OffsetFetchRequestGroup, *, stable: bool) -> _Found:
    """The answer for one group."""
    try:
        if broker.authorizer is None and ctx.api_version < _TOPIC_IDS_SINCE:
            found = broker.groups.ask(
                requested.group_id, GroupShard.fetch_stable if stable else GroupShard.fetch, requested
            )
        else:
            found = _fetch_checked(broker, ctx, requested, stable=stable)
    except KafkaError as error:
        return _refused(ctx, requested, error)
    return found.recover(KafkaError, partial(_refused, ctx, requested)) if isinstance(found, Deferred) else found


def _fetch_checked(broker: Broker, ctx: RequestContext, requested: OffsetFetchRequestGroup, *, stable: bool) -> _Found:
    """With an authorizer, or topics by id."""
    authorizer = broker.authorizer
    question = GroupShard.fetch_stable if stable else GroupShard.fetch

    def by_name(requested: OffsetFetchRequestGroup) -> _Found:
        return broker.groups.ask(requested.group_id, question, requested)

    if authorizer is not None:
        if not authorizer.may(ctx, DESCRIBE, GROUP, requested.group_id):
            raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
        by_topic_name: _ByName = partial(_fetch_described, authorizer, ctx, by_name)
    else:
        by_topic_name = by_name
    return (
        _fetch_by_id(broker, by_topic_name, requested)
        if ctx.api_version >= _TOPIC_IDS_SINCE
        else by_topic_name(requested)
    )


def _refused(ctx: RequestContext, requested: OffsetFetchRequestGroup, error: KafkaError) -> OffsetFetchResponseGroup:
    if ctx.api_version >= _ERROR_OF_GROUP_SINCE:
        return OffsetFetchResponseGroup(group_id=requested.group_id, error_code=error.code)
    topics = [_unanswered(topic, error.code) for topic in requested.topics or ()]
    return OffsetFetchResponseGroup(group_id=requested.group_id, topics=topics)


def _fetch_described(
    authorizer: Authorizer, ctx: RequestContext, by_name: _ByName, requested: OffsetFetchRequestGroup
) -> _Found:
    """Offsets of the topics that the client may describe; others are refused if named, else left out."""
    denied: list[OffsetFetchResponseTopics] = []
    if requested.topics is not None:
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        may = [authorizer.may(ctx, DESCRIBE, TOPIC, topic.name) for topic in requested.topics]
        denied = [_unanswered(topic, code) for topic, allowed in zip(requested.topics, may, strict=True) if not allowed]
        requested.topics = [topic for topic, allowed in zip(requested.topics, may, strict=True) if allowed]

    def permitted(response: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup:
        if requested.topics is None:
            response.topics = _described(authorizer, ctx, response.topics)
        elif response.error_code == ErrorCode.NONE:
            response.topics += denied
        return response

    return apply(permitted, by_name(requested))


def _fetch_by_id(broker: Broker, by_name: _ByName, requested: OffsetFetchRequestGroup) -> _Found:
    if requested.topics is None:
        return apply(partial(_with_ids, broker), by_name(requested))
    known: list[OffsetFetchRequestTopics] = []
    unknown: list[OffsetFetchResponseTopics] = []
    for topic in requested.topics:
        name = broker.topic_name(topic.topic_id)
        if name is None:
            unknown.append(_unanswered(topic, ErrorCode.UNKNOWN_TOPIC_ID))
        else:
            topic.name = name
            known.append(topic)
    requested.topics = known

    def merged(response: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup:
        response.topics += unknown
        return response

    return apply(merged, by_name(requested))


def _with_ids(broker: Broker, everything: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup:
    """Every topic that still exists, under its id."""
    image = broker.metadata.image
    everything.topics = [found for found in everything.topics if found.name in image.topics]
    for found in everything.topics:
        found.topic_id = image.topics[found.name].id
    return everything


def _unanswered(topic: OffsetFetchRequestTopics, code: ErrorCode) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetFetchResponsePartitions(partition_index=index, committed_offset=-1, metadata="", error_code=code)
            for index in topic.partition_indexes
        ],
    )


def _older(topic: OffsetFetchResponseTopics) -> OffsetFetchResponseTopic:
    """The answer in the form of versions up to 7."""
    return OffsetFetchResponseTopic(
        name=topic.name,
        partitions=[
            OffsetFetchResponsePartition(
                partition_index=partition.partition_index,
                committed_offset=partition.committed_offset,
                committed_leader_epoch=partition.committed_leader_epoch,
                metadata=partition.metadata,
                error_code=partition.error_code,
            )
            for partition in topic.partitions
        ],
    )
