"""Injects the error of a rule: the selected part of the request is not handled, the rest is."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pykbroker.faults import naming
from pykbroker.handlers.contract import CloseConnection
from pykbroker.refusals import answers
from pykbroker.refusals.answers import PlacedRefusal
from pykbroker.refusals.naming import around
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
#: Requests with an epoch of a share session.
_OF_SHARE_SESSIONS = (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE)


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
    if ctx.api_key in _OF_SHARE_SESSIONS:
        return _refuse_share(refusal, fault.after, broker, ctx, request, proceed)
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
    known = _as_request(request, list(naming.session_names(request, broker)))
    whole = _whole_site(refusal, ctx, request, known)
    if not after:
        request.max_wait_ms = 0
    answer = proceed()

    def look_again(response: Any) -> None:
        session = broker.fetch_sessions.session(response.session_id)
        if session is not None:
            session.look_again()

    return _with_error(answer, refusal, ctx, request, known, whole, look_again)


def _refuse_share(
    refusal: PlacedRefusal,
    after: bool,
    broker: Broker,
    ctx: RequestContext,
    request: Any,
    proceed: Callable[[], Answer],
) -> Answer:
    """Answer an error at once, and let the share session begin, go on or end as the request says: members count its epochs on after errors.
    Nothing is acquired, and what is refused is not acknowledged, unless it comes ``after``.
    """
    is_fetch = ctx.api_key == ApiKey.SHARE_FETCH
    known = _as_share_fetch(request, list(naming.session_names(request, broker))) if is_fetch else request
    whole = _whole_site(refusal, ctx, request, known)
    is_meant = None if whole is not None else refusal.wanted
    acknowledges = {}
    for topic in request.topics:
        for each in topic.partitions:
            names = {**around(request), "topic_id": topic.topic_id, "partition": each.partition_index}
            if each.acknowledgement_batches and (is_meant is None or is_meant(names)):
                acknowledges[topic.topic_id, each.partition_index] = each
    if not after:
        for each in acknowledges.values():
            each.acknowledgement_batches = []
        if is_fetch:
            request.max_wait_ms = request.max_records = 0
    answer = proceed()

    def refuse_acknowledgements(response: Any) -> None:
        for found in response.responses if is_fetch else ():
            for part in found.partitions:
                if (found.topic_id, part.partition_index) in acknowledges:
                    part.acknowledge_error_code = int(refusal.code)

    return _with_error(answer, refusal, ctx, request, known, whole, refuse_acknowledgements)


def _with_error(
    answer: Answer,
    refusal: PlacedRefusal,
    ctx: RequestContext,
    request: Any,
    known: Any,
    whole: Site | None,
    complete: Callable[[Any], None],
) -> Answer:
    """The answer of a session with the error in its place, unless it has one of its own. ``complete`` does what else belongs to errors of
    partitions.
    """

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
        answers.merge(response, answers.built(known, site, refusal), site.path)
        complete(response)
        return response

    return answer.map(said) if isinstance(answer, Deferred) else said(answer)


def _whole_site(refusal: PlacedRefusal, ctx: RequestContext, request: Any, known: Any) -> Site | None:
    """The place for the error of the request as a whole, if that is where it belongs; ``known`` names what its session knows."""
    sites = [answers.site_for(refusal, each, ctx.api_version) for each in (request, known)]
    return None if any(site is not None and site.path for site in sites) else sites[0]


def _as_share_fetch(request: Any, named: list[Names]) -> Any:
    """A ShareFetch request that names the partitions of its session."""
    from pykbroker.wire.messages.share_fetch import FetchPartition, FetchTopic

    topics = [FetchTopic(names["topic_id"], [FetchPartition(names["partition"])]) for names in named]
    return type(request)(group_id=request.group_id, member_id=request.member_id, topics=topics)


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
