"""The request log: requests of clients with their answers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from pykbroker.http.api.route import HttpCall
from pykbroker.steered.call import whole
from pykbroker.steered.refusal import refusing
from pykbroker.steered.request_log import MOST_REQUESTS, Request, chosen

if TYPE_CHECKING:
    from pykbroker.steered.steering import Steering
    from pykbroker.wire.errors import ErrorCode

#: Error codes that are looked at in one turn.
_AT_ONCE: Final = 100
QUERY: Final = {
    "api": "name of an API in Kafka, such as Produce",
    "client_id": "the client.id",
    "topic": "a topic in the request",
    "limit": f"only this number of the newest (at most {MOST_REQUESTS} are kept)",
}


async def listed(steering: Steering, call: HttpCall) -> dict[str, Any]:
    asked = call.query
    with refusing(400, ValueError):
        found = chosen(steering.requests, asked.get("api"), asked.get("client_id"), asked.get("topic"))
    limit = whole("limit", asked["limit"]) if "limit" in asked else MOST_REQUESTS
    newest = found[-limit:] if limit else []
    return {"recording": steering.noting, "requests": [await _as_json(each) for each in newest]}


async def forget(steering: Steering, call: HttpCall) -> dict[str, Any]:
    steering.requests.clear()
    return {"recording": steering.noting}


async def record(steering: Steering, call: HttpCall) -> dict[str, Any]:
    steering.note(on=call.flag("on"))
    return {"recording": steering.noting}


async def _as_json(request: Request) -> dict[str, Any]:
    """Return a request; its answer may have thousands of error codes, which are looked at in turns."""
    codes: set[ErrorCode] = set()
    for number, code in enumerate(request.each_error_code()):
        if code:
            codes.add(code)
        if number % _AT_ONCE == _AT_ONCE - 1:
            await asyncio.sleep(0)
    await asyncio.sleep(0)
    return {
        "api": request.api,
        "version": request.version,
        "client_id": request.client_id,
        "client": request.client,
        "broker": request.node_id,
        "correlation_id": request.correlation_id,
        "topics": sorted(request.topics),
        "at_ms": request.at_ms,
        "took_ms": request.took_ms,
        "error_codes": sorted(code.name for code in codes),
        "refused": request.refused,
        "path": request.path,
        "status": request.status,
        "text": request.text(codes),
    }
