"""Versions in the form that is asked for."""

from __future__ import annotations

from typing import Any

from pykbroker.registry.errors import RegistryError
from pykbroker.registry.rest.call import Call
from pykbroker.registry.schema import PROTOBUF, Version, abbreviated

_SERIALIZED = "serialized"


async def text_of(call: Call, found: Version) -> str:
    """The text of a version's schema: for Protobuf, with ``format=serialized``, its descriptor in base64. Raises RegistryError."""
    wanted = call.query.get("format", "")
    if not wanted:
        return found.schema.text
    if wanted != _SERIALIZED or found.schema.type != PROTOBUF:
        raise RegistryError(422, f"The format {abbreviated(wanted)} is not served for {found.schema.type}")
    parsed: Any = await call.registry.parsed(found)
    return str(parsed.serialized)


async def shaped(call: Call, found: Version) -> dict[str, Any]:
    """A version as an answer."""
    return {**found.as_json(), "schema": await text_of(call, found)}
