"""Access control for every HTTP request: token, or host name; ``rights.py`` has what the authorizer is asked.

It protects against two dangers: other hosts on the network, which need the token; and pages of other sites in a browser
of this machine, which can send requests to the broker and, with a host name that they let resolve to it (DNS
rebinding), read the responses. So the Host header must be an address or a known name of the broker, unless the request
has the token, which no other page knows.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from typing import TYPE_CHECKING, Final

from aiohttp import hdrs, web

if TYPE_CHECKING:
    from collections.abc import Collection

    from aiohttp.typedefs import Handler, Middleware

    from pykbroker.config.broker import BrokerConfig
    from pykbroker.steered.http_options import HttpOptions

#: Paths for process supervisors, without any data of the broker.
OPEN_PATHS: Final = frozenset({"/health", "/ready"})
#: Headers of every response. They do not name the server software.
HEADERS: Final = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Server": "pykbroker"}
_BEARER: Final = "bearer "
#: An address of IPv6 in brackets, or a name or an address of IPv4; perhaps with a port.
_HOST: Final = re.compile(r"(?:\[([0-9a-f:.]+(?:%\w+)?)\]|([^\[\]:]+))(?::[0-9]*)?", re.ASCII)
_LOCALHOST: Final = "localhost"
_NOT_FOUND: Final = (
    "there is no such path: there are /console, /health, /ready, /metrics, and those of /api/v1/openapi.json"
)
#: Characters of a host name that an error repeats.
_LONGEST_HOST: Final = 253


def guard(options: HttpOptions, also_open: Collection[str] = ()) -> Middleware:
    """Return the middleware. ``also_open`` are further paths without any data of the broker."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        is_open = request.path in OPEN_PATHS or request.path in also_open
        refusal = None if is_open else refused(request, options)
        if refusal is not None:
            return refusal
        try:
            return await handler(request)
        except web.HTTPException as error:  # aiohttp's own: unknown path, wrong method, too large a body
            answer = problem(error.status, _NOT_FOUND if error.status == 404 else error.reason)
            if hdrs.ALLOW in error.headers:
                answer.headers[hdrs.ALLOW] = error.headers[hdrs.ALLOW]
            return answer

    return guarded


async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
    """Add the headers of every response (a signal of the application)."""
    response.headers.update(HEADERS)


def refused(request: web.Request, options: HttpOptions) -> web.Response | None:
    """Return the refusal of a request; None if it is allowed."""
    if options.token is not None:
        return None if _knows(request, options.token) else _without_token()
    name = foreign_host(request, options)
    if name is None:
        return None
    if not request.headers.get(hdrs.HOST):
        return problem(421, "the header Host is missing: it says by which address or name the broker is asked")
    return problem(
        421, f"this broker does not know itself as {name!r}: ask it by an address, or start it with --http-name {name}"
    )


def foreign_host(request: web.Request, options: HttpOptions) -> str | None:
    """The host by which a request asks, shortened, if another site may have led a browser here by it; empty without one."""
    # A whole URL in the request line wins over the header Host (RFC 9112); the server library reads it so, too.
    for said in (request.headers.get(hdrs.HOST, ""), request.host):
        host = host_of(said)
        if not is_ours(host, options):
            return (host or said)[:_LONGEST_HOST]
    return None


def _knows(request: web.Request, token: str) -> bool:
    said = request.headers.getall(hdrs.AUTHORIZATION, ())
    if len(said) != 1 or said[0][: len(_BEARER)].lower() != _BEARER:
        return False
    given = said[0][len(_BEARER) :].strip().encode("utf-8", "surrogateescape")  # as the server library decodes headers
    return hmac.compare_digest(given, token.encode())


def _without_token() -> web.Response:
    answer = problem(401, "send the token of --http-token-file, in the header Authorization: Bearer TOKEN")
    answer.headers[hdrs.WWW_AUTHENTICATE] = "Bearer"
    return answer


def host_of(header: str) -> str:
    """Return the host of a Host header in lower case, without port and brackets; nothing if it is none."""
    found = _HOST.fullmatch(header.strip().lower())
    return "" if found is None else found[1] or found[2]


def is_ours(host: str, options: HttpOptions) -> bool:
    """Whether no other site can have led a browser here by this host.

    Addresses belong to no other site, and browsers resolve localhost themselves. Any other name is somebody's who decides
    what it resolves to, also one without a dot: by a search list of the network, or as a top-level domain.
    """
    if host in options.names or host in (options.host.lower(), _LOCALHOST):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def own_names(config: BrokerConfig, machine: str) -> frozenset[str]:
    """Return the names that the broker has without ``--http-name``: the machine's, and those of its listeners."""
    listeners = [*config.listeners, *config.advertised_listeners]
    return frozenset(name.lower() for name in (machine, *(each.host for each in listeners)) if name)


def problem(status: int, text: str) -> web.Response:
    """Return an error response (RFC 9457)."""
    return web.json_response({"title": text, "status": status}, status=status, content_type="application/problem+json")
