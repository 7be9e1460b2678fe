"""AlterConfigs (key 33, versions 0 to 2): replace all settings given to a resource (KIP-133).

- Settings that the request does not name are removed, which is why KIP-339 added IncrementalAlterConfigs. v2: flexible.
- Loggers cannot be altered. A resource named twice is refused (Apache Kafka 4.4.0 never answers such a request).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.brokers.resources import alter_resources, responses, times_named
from pykbroker.controller.config_alterations import Alteration, Change, Operation
from pykbroker.handlers.in_slices import flat, in_turn
from pykbroker.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.errors import KafkaError


#: Resources that are altered together.
_AT_ONCE = 20


def handle(broker: Broker, ctx: RequestContext, request: AlterConfigsRequest) -> Deferred[AlterConfigsResponse]:
    times = times_named(request.resources)

    def alter(some: Sequence[AlterConfigsResource]) -> Deferred[list[AlterConfigsResourceResponse]]:
        alterations = [
            Alteration(
                resource.resource_type,
                resource.resource_name,
                [Change(config.name, Operation.SET, config.value) for config in resource.configs],
                replaces=True,
            )
            for resource in some
        ]
        done = alter_resources(
            broker, ctx, alterations, loggers=False, validate_only=request.validate_only, times=times
        )
        return done.map(lambda errors: responses(AlterConfigsResourceResponse, some, errors))

    answered = in_turn(broker, ctx, request.resources, alter, _AT_ONCE)
    return answered.map(lambda answers: AlterConfigsResponse(responses=flat(answers)))


def failed(request: AlterConfigsRequest, version: int, error: KafkaError) -> AlterConfigsResponse:
    """The request as a whole is refused: every resource carries the error."""
    del version
    return AlterConfigsResponse(
        responses=responses(AlterConfigsResourceResponse, request.resources, [error] * len(request.resources))
    )
