"""Injects the error of a rule: the selected part of the request is not handled, the rest is.

What walks a request or an answer, which may have any number of items, yields weights (``runtime/slices.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from pykbroker.faults import naming
from pykbroker.handlers.contract import CloseConnection
from pykbroker.refusals import answers
from pykbroker.refusals.answers import PlacedRefusal
from pykbroker.refusals.naming import around
from pykbroker.runtime.waits import Deferred, as_wait
from pykbroker.wire.apis import ApiKey, response_class
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.message import WireStruct

if TYPE_CHECKING:
    from pykbroker.brokers.broker import Broker
    from pykbroker.faults.fault import Fault
    from pykbroker.handlers.contract import Answer
    from pykbroker.refusals.naming import Names
    from pykbroker.refusals.shapes import Site
    from pykbroker.runtime.slices import Steps, Work
    from pykbroker.security.context import RequestContext

#: The weight of an item.
_WEIGHT = 0.6
#: Requests without effects, whose items only the handler knows: all topics, a session's partitions.
_READS = (ApiKey.FETCH, ApiKey.METADATA)
#: Requests with an epoch of a share session.
_OF_SHARE_SESSIONS = (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE)


def refuse(
    fault: Fault, broker: Broker, ctx: RequestContext, request: Any, proceed: Callable[[], Answer]
) -> Work[Answer]:
    """The answer with the error of a rule. Raises CloseConnection for a produce with acks=0, as Kafka does on errors."""
    assert fault.error is not None
    if ctx.api_key == ApiKey.PRODUCE and request.acks == 0:
        if fault.after:
            proceed()
        raise CloseConnection(f"{fault.error} for a produce request with acks=0")
    refusal = PlacedRefusal(ErrorCode[fault.error], fault.at, naming.wanted(fault, broker.metadata.image))
    if ctx.api_key == ApiKey.FETCH:
        return (yield from _refuse_fetch(refusal, fault.after, broker, ctx, request, proceed))
    if ctx.api_key in _OF_SHARE_SESSIONS:
        return (yield from _refuse_share(refusal, fault.after, broker, ctx, request, proceed))
    site = yield from answers.site_for(refusal, request, ctx.api_version)
    if fault.after or site is None or ctx.api_key in _READS:
        where = site or answers.deepest_site(request, ctx.api_version)
        failed = yield from answers.built(request, where, refusal)
        return (yield from changed(broker, proceed(), partial(_joined, failed, where, refusal)))
    failed = yield from answers.built(request, site, refusal)
    if refusal.wanted is None or not site.path or not (yield from answers.take_out(request, refusal.wanted)):
        return failed
    return (yield from changed(broker, proceed(), partial(_joined, failed, site, None)))


def changed(broker: Broker, answer: Answer, change: Callable[[Any], Work[Any]]) -> Work[Answer]:
    """The answer, changed once it is there; no answer (None) stays none."""
    if isinstance(answer, Deferred):
        run = broker.runtime.slices.run
        return answer.chain(lambda response: as_wait(None if response is None else run(change(response))))
    return None if answer is None else (yield from change(answer))


def ours(response: Any) -> Generator[float, None, Any]:
    """An answer that may be changed: a copy of a Metadata response, which is cached for all clients."""
    kind = response_class(response.API_KEY)
    return response if type(response) is kind else (yield from _copied(response, kind))


def _copied(struct: Any, kind: type[Any]) -> Work[Any]:
    yield _WEIGHT
    made = object.__new__(kind)
    for name in kind.__slots__:
        value = getattr(struct, name)
        if isinstance(value, list):
            items = []
            for each in value:
                copied = (yield from _copied(each, type(each))) if isinstance(each, WireStruct) else each
                items.append(copied)
            value = items
        setattr(made, name, value)
    return made


def _joined(failed: Any, site: Site, refusal: PlacedRefusal | None, response: Any) -> Work[Any]:
    """An answer with the errors of ``failed`` merged into it; with ``refusal``, its own results are overwritten too."""
    response = yield from ours(response)
    if refusal is not None:
        yield from answers.overwrite(response, site, refusal)
    yield from answers.merge(response, failed, site.path)
    return response


def _refuse_fetch(
    refusal: PlacedRefusal,
    after: bool,
    broker: Broker,
    ctx: RequestContext,
    request: Any,
    proceed: Callable[[], Answer],
) -> Work[Answer]:
    """Answer an error at once, as Kafka does, also for partitions of the session that the request does not name. The session
    examines them again next time, since the client did not get their records.
    """
    known = yield from _as_request(request, naming.session_names(request, broker))
    whole = yield from _whole_site(refusal, ctx, request, known)
    if not after:
        request.max_wait_ms = 0

    def look_again(response: Any) -> Steps:
        session = broker.fetch_sessions.session(response.session_id)
        if session is not None:
            session.look_again()
        yield from ()

    return (
        yield from changed(broker, proceed(), partial(_with_error, refusal, ctx, (request, known), whole, look_again))
    )


def _refuse_share(
    refusal: PlacedRefusal,
    after: bool,
    broker: Broker,
    ctx: RequestContext,
    request: Any,
    proceed: Callable[[], Answer],
) -> Work[Answer]:
    """Answer an error at once, and let the share session begin, go on or end as the request says: members count its epochs on after errors.
    Nothing is acquired, and what is refused is not acknowledged, unless it comes ``after``.
    """
    is_fetch = ctx.api_key == ApiKey.SHARE_FETCH
    known = request
    if is_fetch:
        known = yield from _as_share_fetch(request, naming.session_names(request, broker))
    whole = yield from _whole_site(refusal, ctx, request, known)
    is_meant = None if whole is not None else refusal.wanted
    acknowledged = set()
    for topic in request.topics:
        for each in topic.partitions:
            yield _WEIGHT
            names = {**around(request), "topic_id": topic.topic_id, "partition": each.partition_index}
            if each.acknowledgement_batches and (is_meant is None or is_meant(names)):
                acknowledged.add((topic.topic_id, each.partition_index))
                if not after:
                    each.acknowledgement_batches = []
    if is_fetch and not after:
        request.max_wait_ms = request.max_records = 0

    def refuse_acknowledgements(response: Any) -> Steps:
        for found in response.responses if is_fetch else ():
            for part in found.partitions:
                yield _WEIGHT
                if (found.topic_id, part.partition_index) in acknowledged:
                    part.acknowledge_error_code = int(refusal.code)

    change = partial(_with_error, refusal, ctx, (request, known), whole, refuse_acknowledgements)
    return (yield from changed(broker, proceed(), change))


def _with_error(
    refusal: PlacedRefusal,
    ctx: RequestContext,
    named: tuple[Any, Any],
    whole: Site | None,
    complete: Callable[[Any], Steps],
    response: Any,
) -> Work[Any]:
    """The answer of a session with the error in its place, unless it has one of its own. ``named`` are requests that name what it is about,
    the client's first; ``complete`` does what else belongs to errors of partitions.
    """
    if response.error_code:
        return response
    if whole is not None:
        answers.say(response, whole, refusal.code)
        response.responses = []
        return response
    site = answers.deepest_site(named[0], ctx.api_version)
    yield from answers.overwrite(response, site, refusal)
    for request in named:
        failed = yield from answers.built(request, site, refusal)
        yield from answers.merge(response, failed, site.path)
    yield from complete(response)
    return response


def _whole_site(
    refusal: PlacedRefusal, ctx: RequestContext, request: Any, known: Any
) -> Generator[float, None, Site | None]:
    """The place for the error of the request as a whole, if that is where it belongs; ``known`` names what its session knows."""
    sites = [
        (yield from answers.site_for(refusal, request, ctx.api_version)),
        (yield from answers.site_for(refusal, known, ctx.api_version)),
    ]
    return None if any(site is not None and site.path for site in sites) else sites[0]


def _as_share_fetch(request: Any, named: Iterable[Names]) -> Work[Any]:
    """A ShareFetch request that names the partitions of its session."""
    from pykbroker.wire.messages.share_fetch import FetchPartition, FetchTopic

    topics = []
    for names in named:
        topics.append(FetchTopic(names["topic_id"], [FetchPartition(names["partition"])]))
        yield _WEIGHT
    return type(request)(group_id=request.group_id, member_id=request.member_id, topics=topics)


def _as_request(request: Any, named: Iterable[Names]) -> Work[Any]:
    """A Fetch request that names the partitions of its session."""
    from pykbroker.wire.messages.fetch import FetchPartition, FetchTopic

    topics = []
    for names in named:
        ids = {"topic_id": names["topic_id"]} if "topic_id" in names else {}
        partitions = [FetchPartition(partition=names["partition"])]
        topics.append(FetchTopic(topic=names.get("topic", ""), partitions=partitions, **ids))
        yield _WEIGHT
    return type(request)(topics=topics)
