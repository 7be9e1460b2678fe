"""AlterConfigs and IncrementalAlterConfigs beyond their messages: resources are altered some at a time, each with an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pykbroker.brokers.resources import alter_resources, responses, times_named
from pykbroker.handlers.in_slices import flat, in_turn

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.controller.config_alterations import Alteration
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext

Response = TypeVar("Response")

#: Resources that are altered together.
_AT_ONCE: Final = 20


def altered(
    broker: Broker,
    ctx: RequestContext,
    request: Any,
    alteration: Callable[[Any], Alteration],
    make: Callable[..., Response],
    *,
    loggers: bool,
) -> Deferred[list[Response]]:
    """The answers for the resources of either request: ``alteration`` is what one asks for, ``make`` the class of its answer.
    ``loggers`` allows levels of loggers.
    """
    times = times_named(request.resources)

    def alter(some: Sequence[Any]) -> Deferred[list[Response]]:
        alterations = [alteration(resource) for resource in some]
        done = alter_resources(
            broker, ctx, alterations, loggers=loggers, validate_only=request.validate_only, times=times
        )
        return done.map(lambda errors: responses(make, some, errors))

    return in_turn(broker, ctx, request.resources, alter, _AT_ONCE).map(flat)
