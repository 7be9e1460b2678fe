"""Routes the page's requests to handlers; refuses other sites' pages, too large bodies and invalid JSON.

Names are in the query or the body, never in the path: a group may be called ``..``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from aiohttp import hdrs, web

from pykbroker.http.api.router import check_origin
from pykbroker.http.body import read_object
from pykbroker.http.console import (
    acls,
    brokers,
    clients,
    counters,
    groups,
    metadata,
    quotas,
    records,
    schemas,
    settings,
    tail,
    topics,
    transactions,
)
from pykbroker.http.console.call import ConsoleCall
from pykbroker.http.guard import problem
from pykbroker.http.rights import CONSOLE
from pykbroker.steered.refusal import VerbRefused
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError

if TYPE_CHECKING:
    from pykbroker.http.console.console import Console

    Handler = Callable[[Console, ConsoleCall], Awaitable[Any]]

PREFIX: Final = "/console/api"
_KINDS: Final = ("application/json",)
_LARGEST_BODY: Final = 256 * 1024
#: A produced record may be larger; JSON escapes may take six bytes for each of its own.
_LARGEST: Final = {"/records/produce": 8 * 1024 * 1024}

_DENIALS: Final = (
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)

_LOOKS: Final[dict[str, Handler]] = {
    "/overview": brokers.overview,
    "/brokers": brokers.listed,
    "/topics": topics.listed,
    "/topic": topics.one,
    "/partitions": topics.partitions,
    "/records": records.search,
    "/record": records.one,
    "/tail": tail.follow,
    "/groups": groups.listed,
    "/group": groups.one,
    "/clients": clients.listed,
    "/client": clients.one,
    "/transactions": transactions.listed,
    "/settings": settings.listed,
    "/acls": acls.listed,
    "/quotas": quotas.listed,
    "/metadata": metadata.listed,
    "/schema": schemas.one,
    "/subjects": schemas.subjects,
    "/subject": schemas.subject,
    "/version": schemas.version,
    "/pulse": counters.now,
}
_CHANGES: Final[dict[str, Handler]] = {
    "/topics/create": topics.create,
    "/topics/delete": topics.delete,
    "/topics/partitions": topics.add_partitions,
    "/topics/empty": topics.delete_records,
    "/records/produce": records.produce,
    "/groups/delete": groups.delete,
    "/groups/reset": groups.reset,
    "/transactions/abort": transactions.abort,
    "/settings/alter": settings.alter,
    "/acls/add": acls.add,
    "/acls/remove": acls.remove,
    "/quotas/alter": quotas.alter,
}


async def answer(request: web.Request, console: Console) -> web.StreamResponse:
    """Return the response to a request below ``/console/api``."""
    path = request.path.removeprefix(PREFIX)
    try:
        if path in _LOOKS:
            _only(request, hdrs.METH_GET)
            return _said(await _done(path, _LOOKS[path], console, dict(request.query), request))
        if path in _CHANGES:
            _only(request, hdrs.METH_POST)
            check_origin(request, _KINDS)
            body = await read_object(request, _LARGEST.get(path, _LARGEST_BODY))
            return _said(await _done(path, _CHANGES[path], console, body, request))
    except VerbRefused as refusal:
        return problem(refusal.status, str(refusal))
    except KafkaError as error:
        return problem(403 if error.code in _DENIALS else 409, str(error))
    except WireError as error:
        return problem(422, f"the data cannot be read: {error}")
    return problem(404, "there is no such path")


async def _done(path: str, handler: Handler, console: Console, said: Mapping[str, Any], request: web.Request) -> Any:
    """Call a handler, if who asks has the rights of the act. Raises VerbRefused."""
    asked = console.acting_for(request.remote or "")
    asked.brokers.principal.check(CONSOLE[path], said)
    return await handler(asked, ConsoleCall(said, request))


def _said(value: Any) -> web.StreamResponse:
    return value if isinstance(value, web.StreamResponse) else web.json_response(value)


def _only(request: web.Request, method: str) -> None:
    if request.method != method:
        raise web.HTTPMethodNotAllowed(request.method, [method])
