"""Asks a schema registry: that of this process, or one at an address. Schemas are fetched by the ids with which serializers begin a value.

Of the latter only the configured address is requested: redirects and proxies of the environment are not followed. Responses are as
untrusted as records: limited in size, validated, and shown by the page as text.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

import aiohttp
from yarl import URL

from pykbroker.http.body import parsed
from pykbroker.steered.refusal import VerbRefused

if TYPE_CHECKING:
    from pykbroker.http.principal import HttpPrincipal
    from pykbroker.http.schema_registry import SchemaRegistrySide

NO_QUERY: Final[Mapping[str, str]] = MappingProxyType({})
_LARGEST: Final = 1024 * 1024
_TIMEOUT_S: Final = 10
_MOST_KEPT: Final = 500
_MOST_AT_ONCE: Final = 4
#: Registries leave the type out for Avro.
_KINDS: Final = {None: "avro", "AVRO": "avro", "PROTOBUF": "protobuf", "JSON": "json"}
#: Limit on decompressed responses: a small one could be large when decompressed.
_HEADERS: Final = {"Accept": "application/vnd.schemaregistry.v1+json, application/json", "Accept-Encoding": "identity"}


class ConsoleSchemas(Protocol):
    """A registry that the console asks."""

    async def ask(self, path: str, principal: HttpPrincipal, query: Mapping[str, str] = ...) -> Any:
        """The answer to a GET, in the values of JSON, for who has the rights. Raises VerbRefused."""
        ...

    async def schema(self, number: int, principal: HttpPrincipal) -> dict[str, Any]:
        """The ``kind`` and ``text`` of a schema. Raises VerbRefused."""
        ...


class OwnRegistry:
    """The registry of this process, by its side of HTTP. Nothing is cached: a reset gives ids another meaning."""

    def __init__(self, side: SchemaRegistrySide) -> None:
        self._side = side

    async def ask(self, path: str, principal: HttpPrincipal, query: Mapping[str, str] = NO_QUERY) -> Any:
        """As the protocol."""
        from pykbroker.registry.errors import RegistryError

        try:
            return await self._side.ask(path, query, principal)
        except RegistryError as error:
            raise VerbRefused(error.status, error.message) from error

    async def schema(self, number: int, principal: HttpPrincipal) -> dict[str, Any]:
        """As the protocol."""
        return _checked(number, await self.ask(f"/schemas/ids/{number}", principal))


class RemoteRegistry:
    """The registry at an address. Schemas are cached, since an id never changes its meaning."""

    def __init__(self, address: str) -> None:
        self._address = address.rstrip("/")
        self._kept: dict[int, dict[str, Any]] = {}
        self._requests = asyncio.Semaphore(_MOST_AT_ONCE)
        self._trusted: ssl.SSLContext | None = None

    async def schema(self, number: int, principal: HttpPrincipal) -> dict[str, Any]:
        """As the protocol."""
        if number not in self._kept:
            found = _checked(number, await self.ask(f"/schemas/ids/{number}", principal))
            while len(self._kept) >= _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[number] = found
        return self._kept[number]

    async def ask(self, path: str, principal: HttpPrincipal, query: Mapping[str, str] = NO_QUERY) -> Any:
        """As the protocol; whose rights are its own matter."""
        del principal
        async with self._requests:
            answer = await self._fetched(path, query)
            try:
                return await parsed(answer)
            except (ValueError, RecursionError) as error:
                raise VerbRefused(502, "what the schema registry answers is no JSON") from error

    async def _fetched(self, path: str, query: Mapping[str, str]) -> bytes:
        url = URL(f"{self._address}{path}", encoded=True).update_query(query)
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
        try:
            async with (
                aiohttp.ClientSession(
                    timeout=timeout, headers=_HEADERS, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()
                ) as session,
                session.get(url, allow_redirects=False, ssl=await self._ca_certificates()) as answer,
            ):
                if answer.status == 404:
                    raise VerbRefused(404, f"the schema registry has no {_what(path)}")
                if answer.status != 200:
                    raise VerbRefused(502, f"the schema registry answers {answer.status} when it is asked for {path}")
                return await _limited(answer.content)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            why = str(error)[:200] or type(error).__name__
            raise VerbRefused(502, f"the schema registry at {self._address} cannot be asked: {why}") from error

    async def _ca_certificates(self) -> ssl.SSLContext | bool:
        """Return the system's CA certificates for an https address; loaded in a thread, since it takes a while."""
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
            raise VerbRefused(502, f"the schema registry sends more than {_LARGEST} bytes in one answer")
    return bytes(found)


def _what(path: str) -> str:
    number = path.removeprefix("/schemas/ids/")
    return path if number == path else f"schema {number}"


def _checked(number: int, said: Any) -> dict[str, Any]:
    kind, text = (said.get("schemaType"), said.get("schema")) if isinstance(said, dict) else (None, None)
    if not isinstance(text, str) or not (kind is None or isinstance(kind, str)) or kind not in _KINDS:
        raise VerbRefused(502, f"the schema registry answers no schema of Avro, Protobuf or JSON for {number}")
    if said.get("references"):
        raise VerbRefused(422, f"schema {number} refers to others, which are not fetched: paste it in whole")
    return {"id": number, "kind": _KINDS[kind], "text": text.encode("utf-8", "replace").decode()}
