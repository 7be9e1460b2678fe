"""FindCoordinator (key 10), versions 0 to 6: which broker coordinates a group, a transactional id or a share partition.

Many keys at once from version 4 (KIP-699). The answer names the broker's endpoint on the listener of the request. The first
request creates the coordinator's topic, and its answer waits for that (Apache Kafka answers
COORDINATOR_NOT_AVAILABLE, which costs the client a retry backoff).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.coordinators import KINDS, SHARES
from pykbroker.handlers.in_slices import each
from pykbroker.runtime.waits import apply, as_wait
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.find_coordinator import Coordinator, FindCoordinatorResponse

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer
    from pykbroker.metadata.image import Endpoint
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest

_KINDS = {kind.key_type: kind for kind in KINDS}
_MANY_KEYS_SINCE = 4


def handle(broker: Broker, ctx: RequestContext, request: FindCoordinatorRequest) -> Answer:
    kind = _KINDS.get(request.key_type)
    if kind is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if ctx.api_version < kind.found_since or broker.metadata.image.topic(kind.topic) is not None:
        return _answer(broker, ctx, request)
    return broker.auto_creation.create([kind.topic]).chain(lambda _: as_wait(_answer(broker, ctx, request)))


def _answer(
    broker: Broker, ctx: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Deferred[FindCoordinatorResponse]:
    if ctx.api_version >= _MANY_KEYS_SINCE:
        find = partial(_coordinator, broker, ctx, request.key_type)
        found = each(broker, ctx, request.coordinator_keys, find)
        return apply(lambda coordinators: FindCoordinatorResponse(coordinators=coordinators), found)
    node_id, endpoint = _find(broker, ctx, request.key_type, request.key)
    return FindCoordinatorResponse(
        error_message=ErrorCode.NONE.name, node_id=node_id, host=endpoint.host, port=endpoint.port
    )


def failed(request: FindCoordinatorRequest, version: int, error: KafkaError) -> FindCoordinatorResponse:
    if version >= _MANY_KEYS_SINCE:
        return FindCoordinatorResponse(
            coordinators=[
                Coordinator(key=key, error_code=error.code, error_message=error.message, node_id=-1, port=-1)
                for key in request.coordinator_keys
            ]
        )
    return FindCoordinatorResponse(error_code=error.code, error_message=error.message, node_id=-1, port=-1)


def _coordinator(broker: Broker, ctx: RequestContext, key_type: int, key: str) -> Coordinator:
    try:
        node_id, endpoint = _find(broker, ctx, key_type, key)
    except KafkaError as error:
        return Coordinator(key=key, error_code=error.code, node_id=-1, port=-1)
    return Coordinator(key=key, node_id=node_id, host=endpoint.host, port=endpoint.port)


def _find(broker: Broker, ctx: RequestContext, key_type: int, key: str) -> tuple[int, Endpoint]:
    """Node id and endpoint of the coordinator. Raises KafkaError INVALID_REQUEST or COORDINATOR_NOT_AVAILABLE."""
    kind = _KINDS[key_type]
    if ctx.api_version < kind.found_since or (kind is SHARES and not _is_share_partition(key)):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    image = broker.metadata.image
    partition = image.partition(kind.topic, kind.partition_of(key, image, broker.config))
    endpoint = None if partition is None else image.endpoint(partition.leader, ctx.listener)
    if partition is None or endpoint is None:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return partition.leader, endpoint


def _is_share_partition(key: str) -> bool:
    """Whether a key has a group, a topic id and a partition, with colons between them."""
    group_id, _, rest = key.partition(":")
    topic_id, _, index = rest.rpartition(":")
    return bool(group_id and topic_id) and index.isdecimal()
