"""Reads bodies of requests: bounded in size, in time, and in what they keep from clients meanwhile."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

from aiohttp import hdrs, web

from pykbroker.http.connection import HttpConnection
from pykbroker.runtime.json_text import loads
from pykbroker.steered.refusal import VerbRefused

#: Larger bodies are parsed in a thread.
PARSED_HERE: Final = 64 * 1024
_PLAIN: Final = ("", "identity")


async def read(request: web.Request, most: int) -> bytes:
    """Return the body, at most ``most`` bytes. Raises VerbRefused."""
    if request.headers.get(hdrs.CONTENT_ENCODING, "").strip().lower() not in _PLAIN:
        raise VerbRefused(415, "a body is sent as it is, without Content-Encoding")
    if (request.content_length or 0) > most:
        raise _too_large(most)
    connection = request.protocol
    assert isinstance(connection, HttpConnection)
    try:
        with connection.taking_body():
            async with asyncio.timeout(connection.patience_s):
                return await _all(request, most)
    except TimeoutError as error:
        raise VerbRefused(408, f"the body did not come within {connection.patience_s:g} seconds") from error
    except web.RequestPayloadError as error:
        raise VerbRefused(400, "the body is not what its headers say") from error


async def _all(request: web.Request, most: int) -> bytes:
    found = bytearray()
    async for some in request.content.iter_any():
        found += some
        if len(found) > most:
            raise _too_large(most)
    return bytes(found)


def _too_large(most: int) -> VerbRefused:
    return VerbRefused(413, f"a body has at most {most} bytes here")


async def read_object(request: web.Request, most: int) -> dict[str, Any]:
    """Return the JSON object of the body, an empty one if there is no body. Raises VerbRefused."""
    return await object_of(await read(request, most) or b"{}")


async def parsed(raw: bytes) -> Any:
    """Return the value of a text of JSON, which is parsed in a thread if it is large. Raises ValueError and RecursionError."""
    text = raw.decode(json.detect_encoding(raw), "surrogatepass")
    return loads(text) if len(raw) <= PARSED_HERE else await asyncio.to_thread(loads, text)


async def object_of(raw: bytes) -> dict[str, Any]:
    """Return the JSON object of a body. Raises VerbRefused."""
    try:
        said = await parsed(raw)
    except (ValueError, RecursionError) as error:
        raise VerbRefused(400, f"the body is no JSON: {error}") from error
    if not isinstance(said, dict):
        raise VerbRefused(400, "the body is an object of JSON, in braces")
    return said
