"""AlterConfigs (key 33, versions 0 to 2): replace all settings given to a resource (KIP-133).

- Settings that the request does not name are removed, which is why KIP-339 added IncrementalAlterConfigs. v2: flexible.
- Loggers cannot be altered. A resource named twice is refused (Apache Kafka 4.4.0 never answers such a request).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.brokers.resources import responses
from pykbroker.controller.config_alterations import Alteration, Change, Operation
from pykbroker.handlers.altered_resources import altered
from pykbroker.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.errors import KafkaError


def handle(broker: Broker, ctx: RequestContext, request: AlterConfigsRequest) -> Deferred[AlterConfigsResponse]:
    answers = altered(broker, ctx, request, _alteration, AlterConfigsResourceResponse, loggers=False)
    return answers.map(lambda each: AlterConfigsResponse(responses=each))


def _alteration(resource: AlterConfigsResource) -> Alteration:
    changes = [Change(config.name, Operation.SET, config.value) for config in resource.configs]
    return Alteration(resource.resource_type, resource.resource_name, changes, replaces=True)


def failed(request: AlterConfigsRequest, version: int, error: KafkaError) -> AlterConfigsResponse:
    """The request as a whole is refused: every resource carries the error."""
    del version
    return AlterConfigsResponse(
        responses=responses(AlterConfigsResourceResponse, request.resources, [error] * len(request.resources))
    )
