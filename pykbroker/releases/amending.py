"""Changes responses to those of an earlier release: what fills the dispatcher's place AMEND with --as-version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pykbroker.requests.pipeline import through
from pykbroker.runtime.waits import Deferred

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer, Handle
    from pykbroker.requests.pipeline import Guard, Step
    from pykbroker.security.context import RequestContext
    from pykbroker.wire.apis import ApiKey

#: Changes a response in place.
Change = Callable[["Broker", "RequestContext", Any, Any], None]


def amending(amendments: Mapping[ApiKey, Step]) -> Guard:
    """Return the guard that has the requests of each API pass its amendment, if there is one."""
    guards = {int(key): through(amendment) for key, amendment in amendments.items()}

    def guard(api_key: int, handle: Handle, /) -> Handle:
        amended = guards.get(api_key)
        return handle if amended is None else amended(api_key, handle)

    return guard


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
