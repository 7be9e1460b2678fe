"""Access control for every HTTP request.

Two dangers. Somebody on the network, who is kept out by a token. And a page that a browser of this machine shows: it may send
requests to addresses that it cannot reach itself, and where its name is made to point at this machine (DNS rebinding) it may
read the answers, too. So a request must be for an address or a name that is known to be ours, unless it brings the token,
which no page knows.
"""

from __future__ import annotations

import hmac
import ipaddress
from typing import TYPE_CHECKING, Final

from aiohttp import hdrs, web

if TYPE_CHECKING:
    from collections.abc import Collection

    from aiohttp.typedefs import Handler, Middleware

    from pykbroker.http.options import HttpOptions

#: Whoever looks after processes asks these, and they tell nothing of what is in the broker.
OPEN_PATHS: Final = frozenset({"/health", "/ready"})
#: Headers of every answer. The server's software is not named.
_HEADERS: Final = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Server": "pykbroker"}
_BEARER: Final = "bearer "


def guard(options: HttpOptions, also_open: Collection[str] = ()) -> Middleware:
    """The middleware. ``also_open`` are more paths that tell nothing of what is in the broker."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        is_open = request.path in OPEN_PATHS or request.path in also_open
        refusal = None if is_open else refused(request, options)
        if refusal is not None:
            return refusal
        try:
            return await handler(request)
        except web.HTTPException as error:  # of aiohttp itself: no such path, no such method, too large a body
            answer = problem(error.status, error.reason)
            if hdrs.ALLOW in error.headers:
                answer.headers[hdrs.ALLOW] = error.headers[hdrs.ALLOW]
            return answer

    return guarded


async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
    """What every answer says (a signal of the application)."""
    response.headers.update(_HEADERS)


def refused(request: web.Request, options: HttpOptions) -> web.Response | None:
    """The refusal of a request; None where it may pass."""
    if options.token is not None:
        return None if _knows(request, options.token) else _without_token()
    host = host_of(request.headers.get(hdrs.HOST, ""))
    if is_ours(host, options):
        return None
    return problem(
        421, f"this broker does not know itself as {host!r}: ask it by an address, or start it with --http-name {host}"
    )


def _knows(request: web.Request, token: str) -> bool:
    said = request.headers.get(hdrs.AUTHORIZATION, "")
    if said[: len(_BEARER)].lower() != _BEARER:
        return False
    return hmac.compare_digest(said[len(_BEARER) :].strip().encode(), token.encode())


def _without_token() -> web.Response:
    answer = problem(401, "send the token of --http-token-file, in the header Authorization: Bearer TOKEN")
    answer.headers[hdrs.WWW_AUTHENTICATE] = "Bearer"
    return answer


def host_of(header: str) -> str:
    """The host of a Host header, without its port and brackets, in small letters."""
    host = header.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def is_ours(host: str, options: HttpOptions) -> bool:
    """Whether no page of others can have brought its reader here under this name: addresses have no owner who could point
    them elsewhere, and names without a dot are those of this machine and of containers.
    """
    if host in options.names or host == options.host.lower():
        return True
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return bool(host) and "." not in host
    return True


def problem(status: int, text: str) -> web.Response:
    """A refusal, in words (RFC 9457)."""
    return web.json_response({"title": text, "status": status}, status=status, content_type="application/problem+json")
