"""The dispatcher's step that amends what a release answered otherwise: the innermost, so that whoever looks at requests
sees what the client sees. A broker that is taken for no other release does not have it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pykbroker.runtime.waits import Deferred

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer
    from pykbroker.releases.release import Release
    from pykbroker.requests.dispatcher import Step
    from pykbroker.security.context import RequestContext

#: Changes an answer in place: the release, the broker, the request's context, the request, the response.
Amendment = Callable[["Release", "Broker", "RequestContext", Any, Any], None]


def amending(release: Release) -> Step:
    """The step of a release."""
    amendments = {int(key): amendment for key, amendment in release.amendments.items()}

    def step(broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer], /) -> Answer:
        amendment = amendments.get(ctx.api_key)
        answer = proceed()
        if amendment is None or answer is None:  # nothing is to be sent
            return answer

        def amended(response: Any) -> Any:
            amendment(release, broker, ctx, request, response)
            return response

        return answer.map(amended) if isinstance(answer, Deferred) else amended(answer)

    return step
