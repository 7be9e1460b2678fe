"""StreamsGroupHeartbeat (key 88, versions 0 to 1): the one request of a member of a streams group to its coordinator (KIP-1071).

A thread of a Kafka Streams application joins with its topology, reports the tasks and offsets that it has, and is assigned tasks. The
broker creates the internal topics that the application misses. The rules are in ``groups/streams/``.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.streams.checking import check_request
from pykbroker.coordination.groups.streams.configuring import StreamsStatus
from pykbroker.coordination.groups.streams.preparing import Preparation, UnencodedTasks, Unprepared
from pykbroker.coordination.groups.streams.requests import check_served, heartbeat
from pykbroker.coordination.groups.streams.settings import StreamsSettings
from pykbroker.coordination.groups.streams.topology import check_topics, words_of
from pykbroker.handlers.charging import charged_client
from pykbroker.handlers.in_slices import WEIGHT_OF_A_QUESTION, WEIGHT_OF_LITTLE, in_slices
from pykbroker.metadata.image import GROUP_RESOURCE
from pykbroker.runtime.waits import as_wait, attempt
from pykbroker.security.operations import CREATE
from pykbroker.security.resources import TOPIC
from pykbroker.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.controller.topics import NewTopic
    from pykbroker.coordination.groups.streams.heartbeats import StreamsAnswer
    from pykbroker.coordination.groups.streams.preparing import Prepared
    from pykbroker.runtime.slices import Work
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.errors import KafkaError
    from pykbroker.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest

_ERRORS_SHOWN = 3


def handle(
    broker: Broker, ctx: RequestContext, request: StreamsGroupHeartbeatRequest
) -> StreamsGroupHeartbeatResponse | Deferred[StreamsGroupHeartbeatResponse]:
    check_served(broker)
    return in_slices(broker, ctx, _work(broker, ctx, request))


def failed(request: StreamsGroupHeartbeatRequest, version: int, error: KafkaError) -> StreamsGroupHeartbeatResponse:
    return StreamsGroupHeartbeatResponse(error_code=error.code, error_message=error.given_message)


def _work(
    broker: Broker, ctx: RequestContext, request: StreamsGroupHeartbeatRequest
) -> Work[StreamsGroupHeartbeatResponse]:
    if request.topology is not None:
        broker.groups.check_fits(request.group_id, (yield from words_of(request.topology)))
    yield from check_topics(request)
    check_request(request)
    return _beat(broker, ctx, request, None)


def _beat(
    broker: Broker, ctx: RequestContext, request: StreamsGroupHeartbeatRequest, prepared: Prepared | None
) -> Deferred[StreamsGroupHeartbeatResponse]:
    """The group's answer, once what it needs of a large topology, or of many tasks, is made."""

    def found(answer: StreamsAnswer | Unprepared) -> Deferred[StreamsGroupHeartbeatResponse]:
        if isinstance(answer, Unprepared):
            ctx.in_slices = True
            return _prepared(broker, answer).chain(lambda made: _beat(broker, ctx, request, made))
        return as_wait(in_slices(broker, ctx, _answered(broker, ctx, request.group_id, answer)))

    return as_wait(broker.groups.ask(request.group_id, heartbeat, ctx, request, prepared)).chain(found)


def _prepared(broker: Broker, preparation: Unprepared) -> Deferred[Prepared]:
    """What is made in a thread; of a topology all but the look at the topics."""
    runtime = broker.runtime
    if isinstance(preparation, UnencodedTasks):
        return attempt(runtime.offload_read, preparation.encoded)
    assert isinstance(preparation, Preparation)

    def counted(prepared: Prepared) -> Deferred[Prepared]:
        return as_wait(runtime.slices.run(preparation.topics(prepared)))

    brought = attempt(runtime.offload_read, preparation.brought)
    return brought.chain(counted).chain(
        lambda prepared: attempt(runtime.offload_read, preparation.configured, prepared)
    )


def _answered(
    broker: Broker, ctx: RequestContext, group_id: str, found: StreamsAnswer
) -> Work[StreamsGroupHeartbeatResponse]:
    """The response; missing topics are being created, or it says why not."""
    response, missing = found
    if not missing:
        return response
    denied = yield from _denied(broker, ctx, missing)
    if denied:
        _add_detail(response, f"Unauthorized to CREATE on topics {', '.join(denied)}.")
        return response
    own = broker.metadata.image.config(GROUP_RESOURCE, group_id)
    interval_ms = broker.groups.settings.of(StreamsSettings).heartbeat_of(own)
    topics = broker.streams_topics
    errors = []
    for topic in missing:
        if (message := topics.error(topic.name)) is not None:
            errors.append(f"{topic.name} ({message})")
        yield WEIGHT_OF_LITTLE
    topics.create(missing, charged_client(ctx, strict_since=0), 2 * interval_ms)
    if errors:
        more = len(errors) - _ERRORS_SHOWN
        shown = ", ".join(errors[:_ERRORS_SHOWN]) + (f" and {more} more" if more > 0 else "")
        _add_detail(response, f"Creation failed: {shown}.")
    return response


def _denied(broker: Broker, ctx: RequestContext, topics: list[NewTopic]) -> Generator[float, None, list[str]]:
    """The topics that the member may not create."""
    authorizer = broker.authorizer
    if authorizer is None or authorizer.may_do_to_cluster(ctx, CREATE, tells=False):
        return []
    denied = []
    for topic in topics:
        if not authorizer.may(ctx, CREATE, TOPIC, topic.name):
            denied.append(topic.name)
        yield WEIGHT_OF_A_QUESTION
    return denied


def _add_detail(response: StreamsGroupHeartbeatResponse, detail: str) -> None:
    for status in response.status or ():
        if status.status_code == StreamsStatus.MISSING_INTERNAL_TOPICS:
            status.status_detail = f"{status.status_detail}; {detail}"
