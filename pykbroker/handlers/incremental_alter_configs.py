"""IncrementalAlterConfigs (key 44, versions 0 to 1): set, remove, append to, subtract from single settings (KIP-339).

- Each resource is checked by itself; those that are good are committed together. v1: flexible.
- Loggers (KIP-412) change at once, for this process, and are not kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.config.alteration import Change, altered
from pykbroker.config.resources import Alteration, alter_resources
from wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from pykbroker.broker import Broker
    from pykbroker.context import RequestContext
    from wire.errors import KafkaError


def handle(
    broker: Broker, ctx: RequestContext, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    del ctx
    alterations = [
        Alteration(
            resource.resource_type,
            resource.resource_name,
            [Change(config.name, config.config_operation, config.value) for config in resource.configs],
        )
        for resource in request.resources
    ]
    answers = alter_resources(broker, alterations, altered, loggers=True, validate_only=request.validate_only)
    return IncrementalAlterConfigsResponse(responses=list(map(_response, request.resources, answers)))


def failed(request: IncrementalAlterConfigsRequest, version: int, error: KafkaError) -> IncrementalAlterConfigsResponse:
    """The request as a whole is refused: every resource carries the error."""
    del version
    return IncrementalAlterConfigsResponse(responses=[_response(resource, error) for resource in request.resources])


def _response(resource: AlterConfigsResource, error: KafkaError | None) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=0 if error is None else error.code,
        error_message=None if error is None else error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
