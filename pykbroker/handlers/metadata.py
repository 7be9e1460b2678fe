"""Metadata (key 3, versions 0 to 13): brokers of the cluster, and topics with their leaders.

- v0: an empty topic list means all topics, and a replica on a stopped broker is an error. From v1 null means all and an
  empty list none.
- v4: ``allow_auto_topic_creation``; before it, every request may create topics (if auto.create.topics.enable is on).
- v5: offline replicas. v6: LISTENER_NOT_FOUND apart from LEADER_NOT_AVAILABLE. v7: leader epochs.
- v8: authorized operations (KIP-430); those of the cluster up to v10.
- v10: topic ids (KIP-516). v12: a topic may be named by id alone. v13: a top-level error code.

A topic that the request creates is answered UNKNOWN_TOPIC_OR_PARTITION until it exists, as in Kafka, and the client retries.
The controller that is named is a running broker.

With an authorizer, topics that the client may not describe are left out or, if named, refused whether they exist or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.handlers.in_slices import WEIGHT_OF_A_QUESTION, WEIGHT_OF_OPERATIONS, in_slices
from pykbroker.metadata.answers import question
from pykbroker.metadata.ids import ZERO_ID
from pykbroker.metadata.names import CLUSTER_METADATA, is_internal, is_valid_topic_name
from pykbroker.runtime.waits import apply
from pykbroker.security.authorized import authorized_operations, cluster_operations
from pykbroker.security.operations import CREATE, DESCRIBE, NOT_ASKED
from pykbroker.security.resources import CLUSTER, CLUSTER_NAME, TOPIC
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from pykbroker.brokers.broker import Broker
    from pykbroker.metadata.image import MetadataImage, PartitionImage, TopicImage
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext


_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
#: The most topics of a request whose answer is cached.
_MOST_KEPT = 200
#: The weight of a partition or topic, and of a name in the request (``runtime/slices.py``).
_WEIGHT = 0.3
_NAMING = 0.1


def handle(
    broker: Broker, ctx: RequestContext, request: MetadataRequest
) -> MetadataResponse | Deferred[MetadataResponse]:
    if ctx.as_of is not None:
        return in_slices(broker, ctx, _answer(broker, ctx.as_of, ctx, request))
    image, answers = broker.metadata.image, broker.metadata.answers
    asked = None
    if request.topics is None or len(request.topics) <= _MOST_KEPT:
        asked = question(request, ctx, with_host=broker.authorizer is not None)
        kept = None if asked is None else answers.find(asked)
        if kept is not None:
            return kept
    began = image.offset

    def keep(answer: MetadataResponse) -> MetadataResponse:
        if asked is None or began != image.offset:
            return answer
        return answers.keep(asked, answer)

    return apply(keep, in_slices(broker, ctx, _answer(broker, image, ctx, request)))


def failed(request: MetadataRequest, version: int, error: KafkaError) -> MetadataResponse:
    """The request as a whole is refused: every topic carries the error, and from v13 the answer itself."""
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(error_code=error.code, name=topic.name or "", topic_id=topic.topic_id)
            for topic in request.topics or ()
        ],
        error_code=error.code if version >= 13 else ErrorCode.NONE,
    )


def _answer(
    broker: Broker, image: MetadataImage, ctx: RequestContext, request: MetadataRequest
) -> Work[MetadataResponse]:
    authorizer = broker.authorizer
    if request.topics is None or (ctx.api_version == 0 and not request.topics):
        topics = yield from _visible(broker, image, ctx)
    else:
        topics = yield from _requested(broker, image, ctx, request)
    if request.include_topic_authorized_operations:
        for topic in topics:
            if topic.name is not None and topic.error_code != _DENIED:
                topic.topic_authorized_operations = authorized_operations(authorizer, ctx, TOPIC, topic.name)
            yield WEIGHT_OF_OPERATIONS
    return MetadataResponse(
        brokers=_brokers(image, ctx.listener),
        cluster_id=image.cluster_id,
        controller_id=image.controller_for_clients(),
        topics=topics,
        cluster_authorized_operations=cluster_operations(authorizer, ctx)
        if request.include_cluster_authorized_operations
        else NOT_ASKED,
    )


def _brokers(image: MetadataImage, listener: str) -> list[MetadataResponseBroker]:
    return [
        MetadataResponseBroker(node_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack)
        for broker in image.active_brokers()
        if (endpoint := broker.endpoints.get(listener)) is not None
    ]


def _requested(
    broker: Broker, image: MetadataImage, ctx: RequestContext, request: MetadataRequest
) -> Generator[float, None, list[MetadataResponseTopic]]:
    ids, names = yield from _named(ctx.api_version, request)
    topics: list[MetadataResponseTopic] = []
    if ids:  # with an id anywhere in the request, names are ignored, as in Kafka
        for topic_id in ids:
            found = yield from _by_id(broker, image, topic_id, ctx)
            topics.append(found)
        return topics
    weight = _WEIGHT if broker.authorizer is None else WEIGHT_OF_A_QUESTION
    missing: dict[str, int] = {}  # topics that do not exist, and their places in the answer
    for name in names:
        topic = image.topic(name)
        if _denied(broker, ctx, DESCRIBE, [name]):
            topics.append(_refusal(name))
        elif topic is None:
            missing[name] = len(topics)
            topics.append(_unknown(name))
        else:
            topics.append((yield from _topic(image, topic, ctx)))
        yield weight
    if missing and request.allow_auto_topic_creation and broker.config["auto.create.topics.enable"]:
        for name in _create(broker, ctx, list(missing)):
            topics[missing[name]] = _refusal(name, internal=is_internal(name))
    return topics


def _named(version: int, request: MetadataRequest) -> Generator[float, None, tuple[dict[bytes, None], dict[str, None]]]:
    """The ids and names in a request, each once. Raises KafkaError INVALID_REQUEST."""
    ids: dict[bytes, None] = {}
    names: dict[str, None] = {}
    lacks_both = False
    for asked in request.topics or ():
        if version < 12:
            if asked.name is None:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"Topic name can not be null for version {version}")
            if asked.topic_id != ZERO_ID:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST, f"Topic IDs are not supported in requests for version {version}"
                )
        if asked.topic_id != ZERO_ID:
            ids[asked.topic_id] = None
        if asked.name is None:
            lacks_both = True
        else:
            names[asked.name] = None
        yield _NAMING
    if lacks_both and not ids:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    return ids, names


def _create(broker: Broker, ctx: RequestContext, missing: list[str]) -> set[str]:
    """Begin the creation of topics; returns those that the client may not create."""
    authorizer = broker.authorizer
    denied: set[str] = set()
    if authorizer is not None and not authorizer.may(ctx, CREATE, CLUSTER, CLUSTER_NAME, tells=False):
        denied = _denied(broker, ctx, CREATE, missing)
    wanted = (name for name in missing if name not in denied and name != CLUSTER_METADATA and is_valid_topic_name(name))
    broker.auto_creation.create(wanted)
    return denied


def _visible(
    broker: Broker, image: MetadataImage, ctx: RequestContext
) -> Generator[float, None, list[MetadataResponseTopic]]:
    """All topics that the client may describe."""
    authorizer = broker.authorizer
    topics: list[MetadataResponseTopic] = []
    for name in list(image.topics):
        topic = image.topic(name)  # it may be deleted meanwhile
        if topic is not None and (authorizer is None or authorizer.may(ctx, DESCRIBE, TOPIC, name, tells=False)):
            topics.append((yield from _topic(image, topic, ctx)))
        yield _WEIGHT
    return topics


def _denied(broker: Broker, ctx: RequestContext, operation: int, names: Iterable[str]) -> set[str]:
    """Those of the names on which the client may not do ``operation``, whether they exist or not."""
    authorizer = broker.authorizer
    if authorizer is None:
        return set()
    return {name for name in names if not authorizer.may(ctx, operation, TOPIC, name)}


def _by_id(
    broker: Broker, image: MetadataImage, topic_id: bytes, ctx: RequestContext
) -> Generator[float, None, MetadataResponseTopic]:
    topic = image.topic_by_id(topic_id)
    yield _WEIGHT
    if topic is None:
        return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
    if _denied(broker, ctx, DESCRIBE, [topic.name]):
        return MetadataResponseTopic(error_code=_DENIED, name=None, topic_id=topic_id)
    return (yield from _topic(image, topic, ctx))


def _refusal(name: str, *, internal: bool = False) -> MetadataResponseTopic:
    """The answer for a topic that the client may not describe or create."""
    return MetadataResponseTopic(error_code=_DENIED, name=name, is_internal=internal)


def _unknown(name: str) -> MetadataResponseTopic:
    """The answer for a topic that does not exist (yet)."""
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_valid_topic_name(name) else ErrorCode.INVALID_TOPIC_EXCEPTION
    return MetadataResponseTopic(error_code=code, name=name, is_internal=is_internal(name))


def _topic(
    image: MetadataImage, topic: TopicImage, ctx: RequestContext
) -> Generator[float, None, MetadataResponseTopic]:
    answer = MetadataResponseTopic(
        error_code=ErrorCode.NONE, name=topic.name, topic_id=topic.id, is_internal=topic.internal
    )
    for partition in list(topic.in_order()):
        answer.partitions.append(_partition(image, partition, ctx))
        yield _WEIGHT
    return answer


def _partition(image: MetadataImage, partition: PartitionImage, ctx: RequestContext) -> MetadataResponsePartition:
    replicas, isr = partition.replicas, partition.isr
    offline = image.offline_replicas(partition, ctx.listener)
    error = ErrorCode.NONE
    leader = partition.leader
    if offline and ctx.api_version == 0:
        if len(offline) < len(replicas):
            error = ErrorCode.REPLICA_NOT_AVAILABLE
        replicas = [replica for replica in replicas if replica not in offline]
        isr = [replica for replica in isr if replica not in offline]
    if leader not in image.brokers or leader in offline:
        error = _leader_error(image, leader, ctx.api_version)
        leader = -1
    return MetadataResponsePartition(
        error_code=error,
        partition_index=partition.index,
        leader_id=leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=offline,
    )


def _leader_error(image: MetadataImage, leader: int, version: int) -> ErrorCode:
    if version >= 6 and leader in image.brokers:
        return ErrorCode.LISTENER_NOT_FOUND
    return ErrorCode.LEADER_NOT_AVAILABLE
