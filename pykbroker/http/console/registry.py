"""Schemas from an external schema registry, by the ids that its clients write before a value.

The one address that the broker was started with is asked, and nothing else: no redirect is followed and no proxy of the environment
taken. What comes from there is a stranger's like the records: it is cut off where it is too long, has to be what such a registry
answers, and becomes text in the page.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import Any, Final

import aiohttp

from pykbroker.http.api.refusal import Refusal

_LARGEST: Final = 1024 * 1024
_TIMEOUT_S: Final = 10
_MOST_KEPT: Final = 500
_MOST_AT_ONCE: Final = 4
#: Without a type it is Avro's.
_KINDS: Final = {None: "avro", "AVRO": "avro", "PROTOBUF": "protobuf", "JSON": "json"}
#: Unpacked, a small answer could be a large one.
_HEADERS: Final = {"Accept": "application/vnd.schemaregistry.v1+json, application/json", "Accept-Encoding": "identity"}


class Registry:
    """The registry at an address. An id means the same for ever, so what it stands for is kept."""

    def __init__(self, address: str) -> None:
        self._address = address.rstrip("/")
        self._kept: dict[int, dict[str, Any]] = {}
        self._asking = asyncio.Semaphore(_MOST_AT_ONCE)
        self._trusted: ssl.SSLContext | None = None

    async def schema(self, number: int) -> dict[str, Any]:
        """The ``kind`` and ``text`` of a schema. Raises Refusal."""
        async with self._asking:
            if number not in self._kept:
                found = _understood(number, await self._fetched(number))
                while len(self._kept) >= _MOST_KEPT:
                    del self._kept[next(iter(self._kept))]
                self._kept[number] = found
        return self._kept[number]

    async def _fetched(self, number: int) -> bytes:
        url = f"{self._address}/schemas/ids/{number}"
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
        try:
            async with (
                aiohttp.ClientSession(
                    timeout=timeout, headers=_HEADERS, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()
                ) as session,
                session.get(url, allow_redirects=False, ssl=await self._trust()) as answer,
            ):
                if answer.status == 404:
                    raise Refusal(404, f"the schema registry has no schema {number}")
                if answer.status != 200:
                    raise Refusal(
                        502, f"the schema registry answers {answer.status} when it is asked for schema {number}"
                    )
                return await _limited(answer.content)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            why = str(error)[:200] or type(error).__name__
            raise Refusal(502, f"the schema registry at {self._address} cannot be asked: {why}") from error

    async def _trust(self) -> ssl.SSLContext | bool:
        """The authorities of the system, for an address of https. Reading them takes a while, so a thread does."""
        if not self._address.startswith("https:"):
            return True
        if self._trusted is None:
            self._trusted = await asyncio.to_thread(ssl.create_default_context)
        return self._trusted


async def _limited(content: aiohttp.StreamReader) -> bytes:
    found = bytearray()
    async for chunk in content.iter_chunked(64 * 1024):
        found += chunk
        if len(found) > _LARGEST:
            raise Refusal(502, f"the schema registry sends more than {_LARGEST} bytes for one schema")
    return bytes(found)


def _understood(number: int, data: bytes) -> dict[str, Any]:
    try:
        said = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Refusal(502, "what the schema registry answers is no JSON") from error
    kind, text = (said.get("schemaType"), said.get("schema")) if isinstance(said, dict) else (None, None)
    if not isinstance(text, str) or not (kind is None or isinstance(kind, str)) or kind not in _KINDS:
        raise Refusal(502, f"the schema registry answers no schema of Avro, Protobuf or JSON for {number}")
    if said.get("references"):
        raise Refusal(422, f"schema {number} refers to others, which are not fetched: paste it in whole")
    return {"id": number, "kind": _KINDS[kind], "text": text.encode("utf-8", "replace").decode()}
