"""The dispatcher's step that asks the authorizer. It stands there only where a broker has one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from pykbroker.access.checks import Asked
from pykbroker.access.table import CHECKS

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer
    from pykbroker.security.context import RequestContext


def authorise(broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer], /) -> Answer:
    """A ``Step``: the checks of the API, one before the other, and then the rest of the way."""
    checks = CHECKS.get(ctx.api_key)
    authorizer = broker.cluster.authorizer
    if checks is None or request is None or authorizer is None:
        return proceed()
    asked = Asked(authorizer, broker, ctx, request)
    for check in reversed(checks):
        proceed = partial(check, asked, proceed)
    return proceed()
