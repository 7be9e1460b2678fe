"""Injects the error of a rule: the selected part of the request is not handled, the rest is."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pykbroker.faults import naming
from pykbroker.handlers.contract import CloseConnection
from pykbroker.refusals import answers
from pykbroker.refusals.answers import PlacedRefusal
from pykbroker.runtime.waits import Deferred
from pykbroker.wire.apis import ApiKey, response_class
from pykbroker.wire.errors import ErrorCode

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.faults.fault import Fault
    from pykbroker.handlers.contract import Answer
    from pykbroker.refusals.naming import Names
    from pykbroker.refusals.shapes import Site
    from pykbroker.security.context import RequestContext

#: Requests without effects, whose items only the handler knows: all topics, a session's partitions.
_READS = (ApiKey.FETCH, ApiKey.METADATA)


def refuse(fault: Fault, broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer]) -> Answer:
    """The answer with the error of a rule. Raises CloseConnection for a produce with acks=0, as Kafka does on errors."""
    assert fault.error is not None
    if ctx.api_key == ApiKey.PRODUCE and request.acks == 0:
        if fault.after:
            proceed()
        raise CloseConnection(f"{fault.error} for a produce request with acks=0")
    refusal = PlacedRefusal(ErrorCode[fault.error], fault.at, naming.wanted(fault, broker.metadata.image))
    site = answers.site_for(refusal, request, ctx.api_version)
    if ctx.api_key == ApiKey.FETCH:
        return _refuse_fetch(refusal, fault.after, broker, ctx, request, proceed)
    if fault.after or site is None or ctx.api_key in _READS:
        where = site or answers.deepest_site(request, ctx.api_version)
        failed = answers.built(request, where, refusal)
        return _join(proceed(), failed, where, refusal)
    failed = answers.built(request, site, refusal)
    if refusal.wanted is None or not site.path or not answers.take_out(request, refusal.wanted):
        return failed
    return _join(proceed(), failed, site, None)


def ours(response: Any) -> Any:
    """An answer that may be changed: a copy of a Metadata response, which is cached for all clients."""
    kind = response_class(response.API_KEY)
    if type(response) is kind:
        return response
    fields: tuple[str, ...] = kind.__slots__
    return kind(*(copy.deepcopy(getattr(response, each)) for each in fields))


def _join(answer: Answer, failed: Any, site: Site, refusal: PlacedRefusal | None) -> Answer:
    """An answer with the errors of ``failed`` merged into it; with ``refusal``, its own results are overwritten too."""

    def joined(response: Any) -> Any:
        response = ours(response)
        if refusal is not None:
            answers.overwrite(response, site, refusal)
        answers.merge(response, failed, site.path)
        return response

    return answer.map(joined) if isinstance(answer, Deferred) else joined(answer)


def _refuse_fetch(
    refusal: PlacedRefusal,
    after: bool,
    broker: Broker,
    ctx: RequestContext,
    request: Any,
    proceed: Callable[[], Answer],
) -> Answer:
    """Answer an error at once, as Kafka does, also for partitions of the session that the request does not name. The session
    examines them again next time, since the client did not get their records.
    """
    whole = next(
        (each for each in [answers.site_for(refusal, request, ctx.api_version)] if each and not each.path), None
    )
    if not after:
        request.max_wait_ms = 0
    named = [] if whole else list(naming.session_names(request, broker))
    answer = proceed()

    def said(response: Any) -> Any:
        if response.error_code:
            return response
        if whole is not None:
            answers.say(response, whole, refusal.code)
            response.responses = []
            return response
        site = answers.deepest_site(request, ctx.api_version)
        answers.overwrite(response, site, refusal)
        answers.merge(response, answers.built(request, site, refusal), site.path)
        answers.merge(response, answers.built(_as_request(request, named), site, refusal), site.path)
        session = broker.fetch_sessions.session(response.session_id)
        if session is not None:
            session.look_again()
        return response

    return answer.map(said) if isinstance(answer, Deferred) else said(answer)


def _as_request(request: Any, named: list[Names]) -> Any:
    """A Fetch request that names the partitions of its session."""
    from pykbroker.wire.messages.fetch import FetchPartition, FetchTopic

    topics = [
        FetchTopic(
            topic=names.get("topic", ""),
            **({"topic_id": names["topic_id"]} if "topic_id" in names else {}),
            partitions=[FetchPartition(partition=names["partition"])],
        )
        for names in named
    ]
    return type(request)(topics=topics)
