"""Routes requests, after refusing those from other sites' pages, too large ones and invalid JSON."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

from aiohttp import hdrs, web

from pykbroker.http.api.description import description
from pykbroker.http.api.route import HttpCall, Route, Text
from pykbroker.http.api.table import ROUTES
from pykbroker.http.body import read, read_object
from pykbroker.http.guard import problem
from pykbroker.http.origin import is_own
from pykbroker.http.principal import HttpPrincipal
from pykbroker.http.rights import API
from pykbroker.steered.refusal import VerbRefused
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.steered.steering import Steering

PREFIX: Final = "/api/v1"
_JSON: Final = "application/json"
_SITE: Final = "Sec-Fetch-Site"
_DESCRIPTION: Final = "/openapi.json"


async def answer(request: web.Request, steering: Steering) -> web.StreamResponse:
    """Return the response to a request below ``/api/v1``."""
    path = request.rel_url.raw_path.removeprefix(PREFIX)
    try:
        if path == _DESCRIPTION:
            _only(request, ["GET"])
            return web.json_response(description())
        route, words = _find(request, path)
        if route.changes:
            check_origin(request, route.takes or (_JSON,))
        principal = HttpPrincipal(steering.node, request.remote or "")
        principal.check(API[route.name], words)
        found = await route.carry_out(steering, await _call(request, route, words, principal))
        if isinstance(found, Text):
            return web.Response(text=found.text, content_type=found.kind, charset="utf-8")
        return web.json_response(found)
    except VerbRefused as refusal:
        return problem(refusal.status, str(refusal))
    except KafkaError as error:
        return problem(409, f"{error.code.name}: {error.message}")


def _find(request: web.Request, path: str) -> tuple[Route, dict[str, str]]:
    """Return the route of a path, with the path's parameters.

    Raises VerbRefused, and HTTPMethodNotAllowed with the allowed methods.
    """
    found = [(route, words) for route in ROUTES if (words := route.words(path)) is not None]
    if not found:
        raise VerbRefused(404, f"there is no such path; {PREFIX}{_DESCRIPTION} has all of them")
    _only(request, [route.method for route, _ in found])
    return next((route, words) for route, words in found if route.method == request.method)


def _only(request: web.Request, methods: list[str]) -> None:
    if request.method not in methods:
        raise web.HTTPMethodNotAllowed(request.method, methods)


async def _call(request: web.Request, route: Route, words: dict[str, str], principal: HttpPrincipal) -> HttpCall:
    """Return the parameters of a request. Raises VerbRefused."""
    query = _query(request, route)
    if route.takes:
        return HttpCall(
            principal=principal,
            path=words,
            query=query,
            body={},
            kind=request.content_type,
            raw=await read(request, route.most),
        )
    return HttpCall(principal=principal, path=words, query=query, body=await _body(request, route))


def check_origin(request: web.Request, kinds: Collection[str]) -> None:
    """Refuse cross-site requests that change something. Raises VerbRefused.

    Any page can send requests that look like a form's; browsers add their origin to these, and ask for permission
    (CORS) before any other.
    """
    origins, hosts = request.headers.getall(hdrs.ORIGIN, ()), request.headers.getall(hdrs.HOST, ())
    if not is_own(origins, hosts, request.headers.getall(_SITE, ())):
        page, asked = (", ".join(each)[:100] for each in (origins, hosts))
        raise VerbRefused(
            403,
            f"pages of {page!r} may change nothing here, where {asked!r} was asked; "
            "a proxy in between must hand on the header Host as it came",
        )
    if request.content_type not in kinds:
        raise VerbRefused(415, f"what changes something is sent with the header Content-Type: {' or '.join(kinds)}")


def _query(request: web.Request, route: Route) -> dict[str, str]:
    """Return the query parameters. Raises VerbRefused for unknown ones: a misspelt filter would otherwise match everything."""
    for name in request.query:
        if name not in route.query:
            known = ", ".join(route.query) or "none"
            raise VerbRefused(400, f"{name[:40]!r} is not asked for here; these words may follow the path: {known}")
    return dict(request.query)


async def _body(request: web.Request, route: Route) -> dict[str, Any]:
    """Return the JSON object of the body, empty if the route allows none. Raises VerbRefused."""
    if not route.changes:
        return {}
    said = await read_object(request, route.most)
    known = None if route.body is None else route.body.get("properties")
    unknown = [name for name in said if name not in (known or {})] if known or route.body is None else []
    if unknown:
        raise VerbRefused(400, f"the body has {unknown[0][:40]!r}; it may have: {', '.join(known or ()) or 'nothing'}")
    return said
