"""IncrementalAlterConfigs (key 44, versions 0 to 1): set, remove, append to, subtract from single settings (KIP-339).

- Each resource is validated separately; the valid ones are committed together. v1: flexible.
- Log levels (KIP-412) change at once, in this process, and do not survive a restart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.brokers.resources import responses
from pykbroker.controller.config_alterations import Alteration, Change
from pykbroker.handlers.altered_resources import altered
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.errors import KafkaError


def handle(
    broker: Broker, ctx: RequestContext, request: IncrementalAlterConfigsRequest
) -> Deferred[IncrementalAlterConfigsResponse]:
    answers = altered(broker, ctx, request, _alteration, AlterConfigsResourceResponse, loggers=True)
    return answers.map(lambda each: IncrementalAlterConfigsResponse(responses=each))


def _alteration(resource: AlterConfigsResource) -> Alteration:
    changes = [Change(config.name, config.config_operation, config.value) for config in resource.configs]
    return Alteration(resource.resource_type, resource.resource_name, changes)


def failed(request: IncrementalAlterConfigsRequest, version: int, error: KafkaError) -> IncrementalAlterConfigsResponse:
    """The request as a whole is refused: every resource carries the error."""
    del version
    return IncrementalAlterConfigsResponse(
        responses=responses(AlterConfigsResourceResponse, request.resources, [error] * len(request.resources))
    )
