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

from pykbroker.metadata.answers import question
from pykbroker.metadata.ids import ZERO_ID
from pykbroker.metadata.names import CLUSTER_METADATA, is_internal, is_valid_topic_name
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
    from collections.abc import Iterable

    from pykbroker.brokers.broker import Broker
    from pykbroker.metadata.image import MetadataImage, PartitionImage, TopicImage
    from pykbroker.security.context import RequestContext


_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def handle(broker: Broker, ctx: RequestContext, request: MetadataRequest) -> MetadataResponse:
    answers = broker.cluster.metadata.answers
    asked = question(request, ctx, with_host=broker.cluster.authorizer is not None)
    if asked is None:
        return _answer(broker, ctx, request)
    return answers.find(asked) or answers.keep(asked, _answer(broker, ctx, request))


def failed(request: MetadataRequest, version: int, error: KafkaError) -> MetadataResponse:
    """The request as a whole is refused: every topic carries the error, and from v13 the answer itself."""
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(error_code=error.code, name=topic.name or "", topic_id=topic.topic_id)
            for topic in request.topics or ()
        ],
        error_code=error.code if version >= 13 else ErrorCode.NONE,
    )


def _answer(broker: Broker, ctx: RequestContext, request: MetadataRequest) -> MetadataResponse:
    image, authorizer = broker.cluster.metadata.image, broker.cluster.authorizer
    if request.topics is None or (ctx.api_version == 0 and not request.topics):
        topics = [_topic(image, topic, ctx) for topic in _shown(broker, ctx)]
    else:
        topics = _asked_for(broker, ctx, request)
    if request.include_topic_authorized_operations:
        for topic in topics:
            if topic.name is not None and topic.error_code != _DENIED:
                topic.topic_authorized_operations = authorized_operations(authorizer, ctx, TOPIC, topic.name)
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


def _asked_for(broker: Broker, ctx: RequestContext, request: MetadataRequest) -> list[MetadataResponseTopic]:
    assert request.topics is not None
    version = ctx.api_version
    if version < 12:
        for asked in request.topics:
            if asked.name is None:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"Topic name can not be null for version {version}")
            if asked.topic_id != ZERO_ID:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST, f"Topic IDs are not supported in requests for version {version}"
                )
    ids = dict.fromkeys(asked.topic_id for asked in request.topics if asked.topic_id != ZERO_ID)
    if ids:  # with an id anywhere in the request, names are ignored, as in Kafka
        return [_by_id(broker, topic_id, ctx) for topic_id in ids]
    if any(asked.name is None for asked in request.topics):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    names = list(dict.fromkeys(asked.name or "" for asked in request.topics))
    hidden = _denied(broker, ctx, DESCRIBE, names)
    image = broker.cluster.metadata.image
    known = {name: topic for name in names if name not in hidden and (topic := image.topic(name)) is not None}
    missing = [name for name in names if name not in known and name not in hidden]
    refused = {name: _refusal(name) for name in hidden}
    if missing and request.allow_auto_topic_creation and broker.cluster.config["auto.create.topics.enable"]:
        refused |= {name: _refusal(name, internal=is_internal(name)) for name in _create(broker, ctx, missing)}
    return [
        refused.get(name) or (_topic(image, known[name], ctx) if name in known else _unknown(name)) for name in names
    ]


def _create(broker: Broker, ctx: RequestContext, missing: list[str]) -> set[str]:
    """Begin the creation of topics; returns those that the client may not create."""
    authorizer = broker.cluster.authorizer
    denied: set[str] = set()
    if authorizer is not None and not authorizer.may(ctx, CREATE, CLUSTER, CLUSTER_NAME, tells=False):
        denied = _denied(broker, ctx, CREATE, missing)
    wanted = (name for name in missing if name not in denied and name != CLUSTER_METADATA and is_valid_topic_name(name))
    broker.cluster.auto_creation.create(wanted)
    return denied


def _shown(broker: Broker, ctx: RequestContext) -> Iterable[TopicImage]:
    """All topics that the client may describe."""
    topics, authorizer = broker.cluster.metadata.image.topics.values(), broker.cluster.authorizer
    if authorizer is None:
        return topics
    return [topic for topic in topics if authorizer.may(ctx, DESCRIBE, TOPIC, topic.name, tells=False)]


def _denied(broker: Broker, ctx: RequestContext, operation: int, names: Iterable[str]) -> set[str]:
    """Those of the names on which the client may not do ``operation``, whether they exist or not."""
    authorizer = broker.cluster.authorizer
    if authorizer is None:
        return set()
    return {name for name in names if not authorizer.may(ctx, operation, TOPIC, name)}


def _by_id(broker: Broker, topic_id: bytes, ctx: RequestContext) -> MetadataResponseTopic:
    image = broker.cluster.metadata.image
    topic = image.topic_by_id(topic_id)
    if topic is None:
        return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
    if _denied(broker, ctx, DESCRIBE, [topic.name]):
        return MetadataResponseTopic(error_code=_DENIED, name=None, topic_id=topic_id)
    return _topic(image, topic, ctx)


def _refusal(name: str, *, internal: bool = False) -> MetadataResponseTopic:
    """The answer for a topic that the client may not describe or create."""
    return MetadataResponseTopic(error_code=_DENIED, name=name, is_internal=internal)


def _unknown(name: str) -> MetadataResponseTopic:
    """The answer for a topic that does not exist (yet)."""
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_valid_topic_name(name) else ErrorCode.INVALID_TOPIC_EXCEPTION
    return MetadataResponseTopic(error_code=code, name=name, is_internal=is_internal(name))


def _topic(image: MetadataImage, topic: TopicImage, ctx: RequestContext) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=ErrorCode.NONE,
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.internal,
        partitions=[_partition(image, partition, ctx) for partition in topic.in_order()],
    )


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
