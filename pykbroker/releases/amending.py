"""The dispatcher's step that amends what a release answered otherwise: the innermost, so that whoever looks at requests
sees what the client sees. A broker that is taken for no other release does not have it.
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
    """One step that leaves each request to the amendment of its API, where there is one."""
    by_key = {int(key): amendment for key, amendment in amendments.items()}

    def step(broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer], /) -> Answer:
        amendment = by_key.get(ctx.api_key)
        return proceed() if amendment is None else amendment(broker, ctx, request, proceed)

    return step


def after(change: Change) -> Step:
    """An amendment that changes what the handler answers, at once or later."""

    def amendment(broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer], /) -> Answer:
        def changed(response: Any) -> Any:
            change(broker, ctx, request, response)
            return response

        answer = proceed()
        return answer.map(changed) if isinstance(answer, Deferred) else changed(answer)

    return amendment


def both(inner: Step, outer: Step) -> Step:
    """Two amendments of one API: what the inner answers is what the outer amends."""

    def amendment(broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer], /) -> Answer:
        return outer(broker, ctx, request, partial(inner, broker, ctx, request, proceed))

    return amendment
