"""The dispatcher step that changes responses to those of an earlier release.

It is the innermost step, so that other steps see what the client sees. Without --as-version it is absent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pykbroker.runtime.waits import Deferred

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer
    from pykbroker.requests.dispatcher import Step
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.apis import ApiKey

#: Changes a response in place.
Change = Callable[["Broker", "RequestContext", Any, Any], None]


def amending(amendments: Mapping[ApiKey, Step]) -> Step:
    """Return one step that leaves each request to the amendment of its API, if there is one."""
    by_key = {int(key): amendment for key, amendment in amendments.items()}

    def step(broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer], /) -> Answer:
        amendment = by_key.get(ctx.api_key)
        return proceed() if amendment is None else amendment(broker, ctx, request, proceed)

    return step


def after(change: Change) -> Step:
    """Return an amendment that changes the handler's response, immediate or later."""

    def amendment(broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer], /) -> Answer:
        def changed(response: Any) -> Any:
            change(broker, ctx, request, response)
            return response

        answer = proceed()
        return answer.map(changed) if isinstance(answer, Deferred) else changed(answer)

    return amendment


def both(inner: Step, outer: Step) -> Step:
    """Compose two amendments of one API: the outer changes the response of the inner."""

    def amendment(broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer], /) -> Answer:
        return outer(broker, ctx, request, partial(inner, broker, ctx, request, proceed))

    return amendment
