"""What serializers of Apicurio's registry ask, by the paths of its version 2: a small part of them, which stands on this registry.

With ``apicurio.registry.as-confluent`` they write Confluent's frame. An artifact of the group ``default`` is a subject, whose id is
both the global id and that of the content. Bodies are the schema's text, or an object with it and its references.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pykbroker.registry.errors import subject_not_found
from pykbroker.registry.rest import schemas, subjects
from pykbroker.registry.rest.call import Call, unprocessable
from pykbroker.registry.schema import AVRO
from pykbroker.registry_site import quoted
from pykbroker.runtime.json_text import loads

API: Final = "/apis/registry/v2"
CREATE: Final = f"{API}/groups/default/artifacts"
#: What objects are sent as by version 2 of the serializers, and by version 3.
_OBJECTS: Final = tuple(f"application/{each}.extended+json" for each in ("create", "get", "vnd.create", "vnd.get"))
#: What bodies are sent as, besides JSON.
KINDS: Final = (*_OBJECTS, "application/x-protobuf")


def path_of(path: str, headers: Mapping[str, str]) -> str:
    """The path, with the artifact that a header names where one is made."""
    return f"{path}/{quoted(headers.get('X-Registry-ArtifactId', ''))}" if path.endswith(CREATE) else path


def body_of(raw: bytes, headers: Mapping[str, str], kind: str) -> dict[str, Any]:
    """The body as this registry takes it; in a thread where it is large. Raises RegistryError."""
    said: dict[str, Any] = {"schemaType": headers.get("X-Registry-ArtifactType")}
    try:
        text = raw.decode()
        if kind not in _OBJECTS:
            return {**said, "schema": text}
        given = loads(text)
        references = [
            {"name": each["name"], "subject": each["artifactId"], "version": int(each["version"])}
            for each in given.get("references") or ()
        ]
        return {**said, "schema": given["content"], "references": references}
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise unprocessable("content") from error


async def register(call: Call) -> dict[str, Any]:
    """Register a schema as a subject's newest version."""
    return _described(call, await subjects.register(call))


async def look_up(call: Call) -> dict[str, Any]:
    """The version with the content of the body, which has no type."""
    latest = (await call.registry.state()).latest(call.subject)
    if latest is None:
        raise subject_not_found(call.subject)
    body = {**call.body, "schemaType": latest.schema.type, "references": latest.schema.as_json().get("references")}
    return _described(call, await subjects.look_up(replace(call, body=body)))


async def version(call: Call) -> dict[str, Any]:
    """A version, the newest one where none is named."""
    return _described(call, await subjects.version(replace(call, path={"version": "latest", **call.path})))


async def references(call: Call) -> list[dict[str, Any]]:
    """The references of a schema."""
    found = await schemas.by_id(call)
    return [
        {"groupId": "default", "artifactId": each["subject"], "version": str(each["version"]), "name": each["name"]}
        for each in found.get("references") or ()
    ]


def _described(call: Call, found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "groupId": "default",
        "id": call.subject,
        "version": str(found["version"]),
        "type": found.get("schemaType", AVRO),
        "globalId": found["id"],
        "contentId": found["id"],
        "state": "ENABLED",
        "references": [],
    }
