"""DescribeCluster (key 60, versions 0 to 2): cluster id, brokers, the controller for clients (KIP-700).

- v1: ``endpoint_type``; brokers (1) alone are answered, since controllers (2) have listeners of their own (KIP-919).
- v2: ``include_fenced_brokers`` lists fenced brokers too (KIP-1073).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.security.authorized import cluster_operations
from pykbroker.security.operations import NOT_ASKED
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.security.context import RequestContext

BROKERS = 1
CONTROLLERS = 2


def handle(broker: Broker, ctx: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
    if request.endpoint_type != BROKERS:
        raise _wrong_endpoint_type(request.endpoint_type)
    image = broker.metadata.image
    brokers = [
        DescribeClusterBroker(
            broker_id=known.id, host=endpoint.host, port=endpoint.port, rack=known.rack, is_fenced=known.fenced
        )
        for known in sorted(image.brokers.values(), key=lambda known: known.id)
        if (request.include_fenced_brokers or not known.fenced)
        and (endpoint := known.endpoints.get(ctx.listener)) is not None
    ]
    return DescribeClusterResponse(
        endpoint_type=BROKERS,
        cluster_id=image.cluster_id,
        controller_id=image.controller_for_clients(),
        brokers=brokers,
        cluster_authorized_operations=cluster_operations(broker.authorizer, ctx)
        if request.include_cluster_authorized_operations
        else NOT_ASKED,
    )


def failed(request: DescribeClusterRequest, version: int, error: KafkaError) -> DescribeClusterResponse:
    """The request as a whole is refused; endpoint type and cluster id are the schema's defaults."""
    del request, version
    return DescribeClusterResponse(error_code=error.code, error_message=error.message)


def _wrong_endpoint_type(endpoint_type: int) -> KafkaError:
    if endpoint_type == CONTROLLERS:
        return KafkaError(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER",
        )
    return KafkaError(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {endpoint_type}")
