"""FindCoordinator (key 10), versions 0 to 6: which broker coordinates a group or a transactional id.

Many keys at once from version 4 (KIP-699). The answer names the broker's endpoint on the listener of the request. The first
request creates ``__consumer_offsets`` or ``__transaction_state``, and its answer waits for that (Apache Kafka answers
COORDINATOR_NOT_AVAILABLE, which costs the client a retry backoff).

Left out: share coordinators; their keys are answered COORDINATOR_NOT_AVAILABLE.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.coordinators import KINDS
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

#: The type of share partitions, whose coordinator is not served, and the version from which on it is known.
_SHARE, _SHARE_SINCE = 2, 6
_KINDS = {kind.key_type: kind for kind in KINDS}
_MANY_KEYS_SINCE = 4


def handle(broker: Broker, ctx: RequestContext, request: FindCoordinatorRequest) -> Answer:
    kind = _KINDS.get(request.key_type)
    if kind is None and request.key_type != _SHARE:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if kind is None or ctx.api_version < kind.found_since or broker.metadata.image.topic(kind.topic) is not None:
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
    kind = _KINDS.get(key_type)
    if ctx.api_version < (_SHARE_SINCE if kind is None else kind.found_since):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if kind is None:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    image = broker.metadata.image
    partition = image.partition(kind.topic, kind.partition_of(key, image, broker.config))
    endpoint = None if partition is None else image.endpoint(partition.leader, ctx.listener)
    if partition is None or endpoint is None:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return partition.leader, endpoint
