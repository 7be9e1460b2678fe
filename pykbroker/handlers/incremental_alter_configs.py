"""IncrementalAlterConfigs (key 44, versions 0 to 1): set, remove, append to, subtract from single settings (KIP-339).

- Each resource is validated separately; the valid ones are committed together. v1: flexible.
- Log levels (KIP-412) change at once, in this process, and do not survive a restart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pykbroker.brokers.resources import alter_resources, responses, times_named
from pykbroker.controller.config_alterations import Alteration, Change
from pykbroker.handlers.in_slices import flat, in_turn
from pykbroker.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pykbroker.brokers.broker import Broker
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.errors import KafkaError


#: Resources that are altered together.
_AT_ONCE = 20


def handle(
    broker: Broker, ctx: RequestContext, request: IncrementalAlterConfigsRequest
) -> Deferred[IncrementalAlterConfigsResponse]:
    times = times_named(request.resources)

    def alter(some: Sequence[AlterConfigsResource]) -> Deferred[list[AlterConfigsResourceResponse]]:
        alterations = [
            Alteration(
                resource.resource_type,
                resource.resource_name,
                [Change(config.name, config.config_operation, config.value) for config in resource.configs],
            )
            for resource in some
        ]
        done = alter_resources(broker, ctx, alterations, loggers=True, validate_only=request.validate_only, times=times)
        return done.map(lambda errors: responses(AlterConfigsResourceResponse, some, errors))

    answered = in_turn(broker, ctx, request.resources, alter, _AT_ONCE)
    return answered.map(lambda answers: IncrementalAlterConfigsResponse(responses=flat(answers)))


def failed(request: IncrementalAlterConfigsRequest, version: int, error: KafkaError) -> IncrementalAlterConfigsResponse:
    """The request as a whole is refused: every resource carries the error."""
    del version
    return IncrementalAlterConfigsResponse(
        responses=responses(AlterConfigsResourceResponse, request.resources, [error] * len(request.resources))
    )
