"""AlterShareGroupOffsets (key 91), version 0: begin partitions of a share group without members at other offsets (KIP-932)."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.group import check_group_id
from pykbroker.coordination.groups.share import offsets
from pykbroker.coordination.groups.share.requests import check_served
from pykbroker.coordination.share.each_partition import Answers, ask_each
from pykbroker.handlers.in_slices import in_slices
from pykbroker.runtime.waits import Deferred, as_wait
from pykbroker.security.operations import READ
from pykbroker.security.resources import TOPIC
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.coordination.share.state import SharePartitionKey
    from pykbroker.runtime.slices import Work
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest

#: The weight of a partition that is checked, or answered.
_CHECKING = 0.5
#: The weight of a topic that the client may not read, with the line of the log.
_REFUSING = 5


def handle(
    broker: Broker, ctx: RequestContext, request: AlterShareGroupOffsetsRequest
) -> AlterShareGroupOffsetsResponse | Deferred[AlterShareGroupOffsetsResponse]:
    check_served(broker)
    check_group_id(request.group_id)
    return in_slices(broker, ctx, _alter(broker, ctx, request))


def _alter(
    broker: Broker, ctx: RequestContext, request: AlterShareGroupOffsetsRequest
) -> Work[AlterShareGroupOffsetsResponse]:
    image, run = broker.metadata.image, broker.runtime.slices.run
    wanted: dict[bytes, dict[int, int]] = {}
    refused: set[str] = set()
    for topic in request.topics:
        known = image.topic(topic.topic_name)
        if not _may_read(broker, ctx, topic.topic_name):
            refused.add(topic.topic_name)
            yield _REFUSING
            continue
        for each in topic.partitions if known is not None else ():
            if known is not None and 0 <= each.partition_index < len(known.partitions):
                wanted.setdefault(known.id, {})[each.partition_index] = each.start_offset
            yield _CHECKING
        yield _CHECKING
    topics = {topic_id: frozenset(some) for topic_id, some in wanted.items()}

    def initialize(state_epoch: int) -> Deferred[Answers]:
        def question(key: SharePartitionKey) -> Deferred[None]:
            return broker.share_states.initialize(key, state_epoch, wanted[key.topic_id][key.partition])

        return as_wait(run(ask_each(request.group_id, topics, question)))

    def note(answers: Answers) -> Deferred[AlterShareGroupOffsetsResponse]:
        ready: dict[bytes, set[int]] = {}
        for key, error in answers.items():
            if error is None:
                ready.setdefault(key.topic_id, set()).add(key.partition)
        frozen = {topic_id: frozenset(some) for topic_id, some in ready.items()}
        noted = as_wait(broker.groups.ask(request.group_id, offsets.altered, request.group_id, frozen))
        return noted.chain(lambda _: as_wait(run(_answer(broker, request, answers, refused))))

    begun = as_wait(broker.groups.ask(request.group_id, offsets.alter, request.group_id, topics))
    if topics:
        return begun.chain(initialize).chain(note)
    return begun.chain(lambda _: as_wait(run(_answer(broker, request, {}, refused))))


def _may_read(broker: Broker, ctx: RequestContext, name: str) -> bool:
    authorizer = broker.authorizer
    return authorizer is None or authorizer.may(ctx, READ, TOPIC, name)


def failed(request: AlterShareGroupOffsetsRequest, version: int, error: KafkaError) -> AlterShareGroupOffsetsResponse:
    return AlterShareGroupOffsetsResponse(error_code=error.code, error_message=error.message)


def _answer(
    broker: Broker, request: AlterShareGroupOffsetsRequest, answers: Answers, refused: Container[str]
) -> Work[AlterShareGroupOffsetsResponse]:
    errors = {(key.topic_id, key.partition): error for key, error in answers.items()}
    unknown = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    response = AlterShareGroupOffsetsResponse()
    for topic in request.topics:
        image = broker.metadata.image.topic(topic.topic_name)
        answer = AlterShareGroupOffsetsResponseTopic(topic.topic_name)
        if image is not None:
            answer.topic_id = image.id
        for requested in topic.partitions:
            error = errors.get((answer.topic_id, requested.partition_index), unknown)
            if topic.topic_name in refused:
                error = KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            answer.partitions.append(_partition(requested.partition_index, error))
            yield _CHECKING
        yield _CHECKING
        response.responses.append(answer)
    return response


def _partition(index: int, error: KafkaError | None) -> AlterShareGroupOffsetsResponsePartition:
    if error is None:
        return AlterShareGroupOffsetsResponsePartition(index)
    return AlterShareGroupOffsetsResponsePartition(index, error.code, error.message)
