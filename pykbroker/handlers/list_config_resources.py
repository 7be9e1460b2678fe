"""ListConfigResources (key 74, versions 0 to 1): names of the resources that have settings (KIP-714, KIP-1142).

- v0: client metrics subscriptions alone. v1: by type; no types means all. All topics and running brokers are listed, groups
  and subscriptions only if settings of theirs were altered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.metadata.image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.security.context import RequestContext

_EVERY_TYPE = (TOPIC_RESOURCE, BROKER_RESOURCE, BROKER_LOGGER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE)


def handle(broker: Broker, ctx: RequestContext, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    wanted = (CLIENT_METRICS_RESOURCE,) if ctx.api_version == 0 else request.resource_types or _EVERY_TYPE
    if any(resource_type not in _EVERY_TYPE for resource_type in wanted):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    image = broker.metadata.image
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=resource_type)
            for resource_type in _EVERY_TYPE
            if resource_type in wanted
            for name in _names(image, resource_type)
        ]
    )


def failed(request: ListConfigResourcesRequest, version: int, error: KafkaError) -> ListConfigResourcesResponse:
    del request, version
    return ListConfigResourcesResponse(error_code=error.code)


def _names(image: MetadataImage, resource_type: int) -> list[str]:
    if resource_type == TOPIC_RESOURCE:
        return sorted(image.topics)
    if resource_type in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE):
        return [str(broker.id) for broker in image.active_brokers()]
    return sorted(name for kind, name in image.configs if kind == resource_type)
