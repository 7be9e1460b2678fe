"""DeleteTopics (key 20, versions 1 to 6).

- Up to v5 topics are given by name; v6 takes names or ids (KIP-516) and answers both where it knows them.
- delete.topic.enable=false refuses the request: INVALID_REQUEST up to v2, TOPIC_DELETION_DISABLED from v3.
- v5 adds error messages.

The topic is gone for all clients when the answer leaves, which waits for the metadata log alone, so ``timeout_ms`` is ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TYPE_CHECKING

from pykbroker.controller.mutation_quotas import Charged
from pykbroker.handlers.charging import charged_client, joined
from pykbroker.handlers.in_slices import in_slices, in_turn
from pykbroker.metadata.ids import ZERO_ID
from pykbroker.security.operations import DELETE, DESCRIBE
from pykbroker.security.resources import CLUSTER, CLUSTER_NAME, TOPIC
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


#: Topics that are deleted together.
_AT_ONCE = 40
#: The weight of looking at a topic of the request.
_WEIGHT = 0.3


def handle(
    broker: Broker, ctx: RequestContext, request: DeleteTopicsRequest
) -> DeleteTopicsResponse | Deferred[DeleteTopicsResponse]:
    if not broker.config["delete.topic.enable"]:
        if ctx.api_version < 3:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Topic deletion is disabled.")
        raise KafkaError(ErrorCode.TOPIC_DELETION_DISABLED)
    requested = request.topics or [DeleteTopicState(name=name) for name in request.topic_names]
    authorizer = broker.authorizer

    def may(operation: int, name: str) -> bool:
        return authorizer is None or authorizer.may(ctx, operation, TOPIC, name)

    if authorizer is not None and authorizer.may(ctx, DELETE, CLUSTER, CLUSTER_NAME, tells=False):
        authorizer = None  # DELETE on the cluster permits deleting every topic
    return in_slices(broker, ctx, _work(broker, ctx, requested, may))


def _work(
    broker: Broker, ctx: RequestContext, requested: list[DeleteTopicState], may: Callable[[int, str], bool]
) -> Work[DeleteTopicsResponse]:
    resolved, refused = yield from _resolve(broker.metadata.image, requested, may)

    client = charged_client(ctx, strict_since=5)

    def delete(some: Sequence[bytes]) -> Deferred[Charged[list[DeletableTopicResult]]]:
        deleted = broker.controller.delete_topics(some, client=client)
        return deleted.map(
            lambda done: Charged(
                [_result(resolved[topic_id], topic_id, error) for topic_id, error in done.result.items()],
                done.throttle_time_ms,
            )
        )

    def answer(parts: list[Charged[list[DeletableTopicResult]]]) -> DeleteTopicsResponse:
        deleted = joined(parts)
        return DeleteTopicsResponse(deleted.throttle_time_ms, [*refused, *deleted.result])

    return in_turn(broker, ctx, list(resolved), delete, _AT_ONCE).map(answer)


def failed(request: DeleteTopicsRequest, version: int, error: KafkaError) -> DeleteTopicsResponse:
    """The request as a whole is refused: every topic carries the error."""
    requested = request.topics if version >= 6 else [DeleteTopicState(name=name) for name in request.topic_names]
    return DeleteTopicsResponse(responses=[_result(topic.name, topic.topic_id, error) for topic in requested])


def _resolve(
    image: MetadataImage, requested: Iterable[DeleteTopicState], may: Callable[[int, str], bool]
) -> Generator[float, None, tuple[dict[bytes, str], list[DeletableTopicResult]]]:
    """The topics to delete (id to name), and the answers for entries that name no single topic or may not be deleted.
    A client that may not describe a topic learns neither whether it exists nor its name.
    """
    names: Counter[str] = Counter()
    ids: Counter[bytes] = Counter()
    refused: list[DeletableTopicResult] = []
    for topic in requested:
        yield _WEIGHT
        if topic.name is None:
            if topic.topic_id == ZERO_ID:
                refused.append(_refusal(None, ZERO_ID, "Neither topic name nor id were specified."))
            else:
                ids[topic.topic_id] += 1
        elif topic.topic_id == ZERO_ID:
            names[topic.name] += 1
        else:
            refused.append(_refusal(topic.name, topic.topic_id, "You may not specify both topic name and topic id."))
    refused += (_refusal(name, ZERO_ID, "Duplicate topic name.") for name, count in names.items() if count > 1)
    refused += (_refusal(None, topic_id, "Duplicate topic id.") for topic_id, count in ids.items() if count > 1)

    resolved: dict[bytes, str] = {}
    for topic_id in (topic_id for topic_id, count in ids.items() if count == 1):
        yield _WEIGHT
        found = image.topic_by_id(topic_id)
        if found is None:
            refused.append(_result(None, topic_id, KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)))
        elif not may(DELETE, found.name):
            shown = found.name if may(DESCRIBE, found.name) else None
            refused.append(_result(shown, topic_id, KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)))
        else:
            resolved[topic_id] = found.name
    for name in (name for name, count in names.items() if count == 1):
        yield _WEIGHT
        found = image.topic(name)
        describable = may(DESCRIBE, name)
        if not describable or (found is not None and not may(DELETE, name)):
            refused.append(_result(name, ZERO_ID, KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)))
        elif found is None:
            refused.append(_result(name, ZERO_ID, KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)))
        elif found.id in ids:
            resolved.pop(found.id, None)
            refused.append(_refusal(name, found.id, "The provided topic name maps to an ID that was already supplied."))
        else:
            resolved[found.id] = name
    return resolved, refused


def _refusal(name: str | None, topic_id: bytes, message: str) -> DeletableTopicResult:
    return _result(name, topic_id, KafkaError(ErrorCode.INVALID_REQUEST, message))


def _result(name: str | None, topic_id: bytes, error: KafkaError | None) -> DeletableTopicResult:
    return DeletableTopicResult(
        name=name,
        topic_id=topic_id,
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message,
    )
