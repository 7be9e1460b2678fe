"""Wraps each handler of a broker with an authorizer: the checks of its API, and a fast path for producers.

Permissions of a producer are cached until access lists change (``Authorizer.granted``), at the cost of one set look-up for each
topic.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from pykbroker.access.checks import CheckedRequest
from pykbroker.access.table import CHECKS
from pykbroker.security.operations import WRITE
from pykbroker.security.resources import TOPIC, TRANSACTIONAL_ID
from pykbroker.wire.apis import ApiKey

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.handlers.contract import Answer, Handle
    from pykbroker.security.context import RequestContext


def authorise(api_key: int, handle: Handle) -> Handle:
    """A ``Guard`` of the dispatcher: the handler with the checks of its API."""
    checks = CHECKS.get(api_key, ())
    if not any(check.acts for check in checks):
        return handle

    def guarded(broker: Broker, ctx: RequestContext, request: Any) -> Answer:
        proceed = partial(handle, broker, ctx, request)
        authorizer = broker.authorizer
        if request is None or authorizer is None:
            return proceed()
        asked = CheckedRequest(authorizer, broker, ctx, request)
        for check in reversed(checks):
            if check.acts:
                proceed = partial(check, asked, proceed)
        return proceed()

    return _short_for_producers(guarded, handle) if api_key == ApiKey.PRODUCE else guarded


def _short_for_producers(guarded: Handle, handle: Handle) -> Handle:
    def produce(broker: Broker, ctx: RequestContext, request: Any) -> Answer:
        authorizer = broker.authorizer
        if authorizer is None:
            return handle(broker, ctx, request)
        granted, who = authorizer.granted, ctx.principal
        if request.transactional_id is not None:
            name = request.transactional_id
            if (who, ctx.client_host, WRITE, TRANSACTIONAL_ID, name) not in granted:
                return guarded(broker, ctx, request)
        for topic in request.topic_data:
            if (who, ctx.client_host, WRITE, TOPIC, topic.name or topic.topic_id) not in granted:
                return guarded(broker, ctx, request)
        return handle(broker, ctx, request)

    return produce
