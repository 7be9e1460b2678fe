"""DescribeShareGroupOffsets (key 90), versions 0 to 1: where share groups begin each partition (KIP-932), and their lag (KIP-1226).

Topics of null stand for all that have state. A partition without state has the offset -1.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.group import check_group_id
from pykbroker.coordination.groups.share import offsets
from pykbroker.coordination.groups.share.requests import check_served
from pykbroker.coordination.share.each_partition import ask_each
from pykbroker.coordination.share.state import UNINITIALIZED, SharePartitionKey, ShareState
from pykbroker.handlers.in_slices import each
from pykbroker.runtime.waits import Deferred, apply, as_wait, attempt
from pykbroker.security.operations import DESCRIBE
from pykbroker.security.resources import TOPIC
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.describe_share_group_offsets import (
        DescribeShareGroupOffsetsRequest,
        DescribeShareGroupOffsetsRequestGroup,
    )

_WEIGHT = 5
_UNKNOWN_LAG = -1


def handle(
    broker: Broker, ctx: RequestContext, request: DescribeShareGroupOffsetsRequest
) -> DescribeShareGroupOffsetsResponse | Deferred[DescribeShareGroupOffsetsResponse]:
    found = each(broker, ctx, request.groups, partial(_group, broker, ctx), weight=_WEIGHT)
    return apply(lambda groups: DescribeShareGroupOffsetsResponse(groups=groups), found)


def failed(
    request: DescribeShareGroupOffsetsRequest, version: int, error: KafkaError
) -> DescribeShareGroupOffsetsResponse:
    """As in Kafka, a group that is refused has no topics, and no words."""
    refused = [
        DescribeShareGroupOffsetsResponseGroup(group_id=each.group_id, error_code=error.code) for each in request.groups
    ]
    return DescribeShareGroupOffsetsResponse(groups=refused)


def _group(
    broker: Broker, ctx: RequestContext, requested: DescribeShareGroupOffsetsRequestGroup
) -> Deferred[DescribeShareGroupOffsetsResponseGroup]:
    answer = DescribeShareGroupOffsetsResponseGroup(group_id=requested.group_id)

    def checked() -> Deferred[dict[bytes, frozenset[int]]]:
        check_served(broker)
        check_group_id(requested.group_id)
        return as_wait(broker.groups.ask(requested.group_id, offsets.initialized, requested.group_id))

    def described(known: dict[bytes, frozenset[int]]) -> Deferred[DescribeShareGroupOffsetsResponseGroup]:
        topics = _readable(broker, ctx, known) if requested.topics is None else _named(broker, ctx, requested, answer)
        asking = ask_each(requested.group_id, topics, partial(_state_and_lag, broker))
        states = as_wait(broker.runtime.slices.run(asking))
        return states.map(partial(_answer, broker, answer))

    def refused(error: KafkaError) -> DescribeShareGroupOffsetsResponseGroup:
        return DescribeShareGroupOffsetsResponseGroup(
            group_id=requested.group_id, error_code=error.code, error_message=error.message
        )

    return attempt(checked).chain(described).recover(KafkaError, refused)


def _readable(broker: Broker, ctx: RequestContext, known: dict[bytes, frozenset[int]]) -> dict[bytes, frozenset[int]]:
    """All topics with state that the client may describe."""
    return {
        topic_id: some
        for topic_id, some in known.items()
        if (name := broker.topic_name(topic_id)) is not None and _may_describe(broker, ctx, name)
    }


def _named(
    broker: Broker,
    ctx: RequestContext,
    requested: DescribeShareGroupOffsetsRequestGroup,
    answer: DescribeShareGroupOffsetsResponseGroup,
) -> dict[bytes, frozenset[int]]:
    """The topics of the request; those that are unknown, or may not be described, are answered at once."""
    found: dict[bytes, frozenset[int]] = {}
    for topic in requested.topics or ():
        image = broker.metadata.image.topic(topic.topic_name)
        code = ErrorCode.NONE if _may_describe(broker, ctx, topic.topic_name) else ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if image is None or code:
            partitions = [
                DescribeShareGroupOffsetsResponsePartition(
                    index,
                    UNINITIALIZED,
                    0,
                    _UNKNOWN_LAG,
                    code,
                    KafkaError(code).message if code else None,
                )
                for index in topic.partitions
            ]
            answer.topics.append(DescribeShareGroupOffsetsResponseTopic(topic.topic_name, partitions=partitions))
        else:
            found[image.id] = frozenset(topic.partitions)
    return found


def _may_describe(broker: Broker, ctx: RequestContext, name: str) -> bool:
    authorizer = broker.authorizer
    return authorizer is None or authorizer.may(ctx, DESCRIBE, TOPIC, name)


def _answer(
    broker: Broker,
    answer: DescribeShareGroupOffsetsResponseGroup,
    states: dict[SharePartitionKey, tuple[ShareState, int] | KafkaError],
) -> DescribeShareGroupOffsetsResponseGroup:
    topics: dict[bytes, DescribeShareGroupOffsetsResponseTopic] = {}
    for key, found in states.items():
        name = broker.topic_name(key.topic_id) or ""
        topic = topics.setdefault(key.topic_id, DescribeShareGroupOffsetsResponseTopic(name, key.topic_id))
        data = DescribeShareGroupOffsetsResponsePartition(key.partition)
        if isinstance(found, KafkaError):
            data.error_code, data.error_message = found.code, found.message
        else:
            state, data.lag = found
            data.start_offset, data.leader_epoch = state.start_offset, state.leader_epoch
        topic.partitions.append(data)
    answer.topics += topics.values()
    return answer


def _state_and_lag(broker: Broker, key: SharePartitionKey) -> Deferred[tuple[ShareState, int]]:
    return broker.share_states.summary(key).chain(lambda state: _lag(broker, key, state).map(lambda lag: (state, lag)))


def _lag(broker: Broker, key: SharePartitionKey, state: ShareState) -> Deferred[int]:
    """Records from the start offset on that are neither acknowledged nor given up; -1 if that is not known."""
    name = broker.topic_name(key.topic_id)
    if name is None or state.start_offset == UNINITIALIZED or state.delivery_complete_count < 0:
        return Deferred.completed(_UNKNOWN_LAG)
    return broker.high_watermark(name, key.partition).map(partial(_behind, state))


def _behind(state: ShareState, high_watermark: int) -> int:
    """As Java's long: AlterShareGroupOffsets takes any start offset, -2**63 too, from which on there are more than fit."""
    if high_watermark < 0:
        return _UNKNOWN_LAG
    lag = high_watermark - state.start_offset - state.delivery_complete_count
    return (lag + 2**63) % 2**64 - 2**63
