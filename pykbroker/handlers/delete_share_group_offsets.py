"""DeleteShareGroupOffsets (key 92), version 0: forget topics of a share group without members (KIP-932)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.coordination.groups.group import check_group_id
from pykbroker.coordination.groups.share import offsets
from pykbroker.coordination.groups.share.requests import check_served
from pykbroker.coordination.share.asking import Answers, ask_each
from pykbroker.handlers.in_slices import in_slices
from pykbroker.runtime.waits import Deferred, as_wait
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.slices import Work
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest

#: The weight of a topic that is looked for, or answered.
_CHECKING = 0.5


def handle(
    broker: Broker, ctx: RequestContext, request: DeleteShareGroupOffsetsRequest
) -> DeleteShareGroupOffsetsResponse | Deferred[DeleteShareGroupOffsetsResponse]:
    check_served(broker)
    check_group_id(request.group_id)
    return in_slices(broker, ctx, _delete(broker, request))


def _delete(broker: Broker, request: DeleteShareGroupOffsetsRequest) -> Work[DeleteShareGroupOffsetsResponse]:
    image, group_id, run = broker.metadata.image, request.group_id, broker.runtime.slices.run
    ids: dict[bytes, None] = {}
    for topic in request.topics:
        known = image.topic(topic.topic_name)
        if known is not None:
            ids[known.id] = None
        yield _CHECKING

    def forget(topics: dict[bytes, frozenset[int]]) -> Deferred[Answers]:
        return as_wait(run(ask_each(group_id, topics, broker.share_states.delete)))

    def note(answers: Answers) -> Deferred[DeleteShareGroupOffsetsResponse]:
        errors: dict[bytes, KafkaError | None] = {}
        for key, error in answers.items():
            errors[key.topic_id] = errors.get(key.topic_id) or error
        gone = [topic_id for topic_id, error in errors.items() if error is None]
        noted = as_wait(broker.groups.ask(group_id, offsets.deleted, group_id, gone))
        return noted.chain(lambda _: as_wait(run(_answer(broker, request, errors))))

    return as_wait(broker.groups.ask(group_id, offsets.delete, group_id, list(ids))).chain(forget).chain(note)


def failed(request: DeleteShareGroupOffsetsRequest, version: int, error: KafkaError) -> DeleteShareGroupOffsetsResponse:
    return DeleteShareGroupOffsetsResponse(error_code=error.code, error_message=error.message)


def _answer(
    broker: Broker, request: DeleteShareGroupOffsetsRequest, errors: dict[bytes, KafkaError | None]
) -> Work[DeleteShareGroupOffsetsResponse]:
    """First the topics that have nothing to delete, as in Kafka."""
    refused: list[DeleteShareGroupOffsetsResponseTopic] = []
    done: list[DeleteShareGroupOffsetsResponseTopic] = []
    for topic in request.topics:
        answer = DeleteShareGroupOffsetsResponseTopic(topic.topic_name)
        known = broker.metadata.image.topic(topic.topic_name)
        if known is None:
            error: KafkaError | None = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        elif known.id not in errors:
            error = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "There is no offset information to delete.")
        else:
            answer.topic_id, error = known.id, errors[known.id]
        if error is not None:
            answer.error_code, answer.error_message = error.code, error.message
        (done if known is not None and known.id in errors else refused).append(answer)
        yield _CHECKING
    return DeleteShareGroupOffsetsResponse(responses=refused + done)
