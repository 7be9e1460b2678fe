"""AlterConfigs (key 33, versions 0 to 2): replace all settings given to a resource (KIP-133).

- What the request does not name is taken away; KIP-339 made IncrementalAlterConfigs because of that. v2: flexible.
- Loggers cannot be altered this way. A resource named twice is refused (Apache Kafka 4.3.1 never answers that).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.config.alteration import Change, Operation, replaced
from pykbroker.config.resources import Alteration, alter_resources
from wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

if TYPE_CHECKING:
    from pykbroker.broker import Broker
    from pykbroker.context import RequestContext
    from wire.errors import KafkaError


def handle(broker: Broker, ctx: RequestContext, request: AlterConfigsRequest) -> AlterConfigsResponse:
    del ctx
    alterations = [
        Alteration(
            resource.resource_type,
            resource.resource_name,
            [Change(config.name, Operation.SET, config.value) for config in resource.configs],
        )
        for resource in request.resources
    ]
    answers = alter_resources(broker, alterations, replaced, loggers=False, validate_only=request.validate_only)
    return AlterConfigsResponse(responses=list(map(_response, request.resources, answers)))


def failed(request: AlterConfigsRequest, version: int, error: KafkaError) -> AlterConfigsResponse:
    """The request as a whole is refused: every resource carries the error."""
    del version
    return AlterConfigsResponse(responses=[_response(resource, error) for resource in request.resources])


def _response(resource: AlterConfigsResource, error: KafkaError | None) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=0 if error is None else error.code,
        error_message=None if error is None else error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
