"""The schemas of a broker's registry in a test: registered and read without a client, and values encoded and decoded by them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from pykbroker.client.registry_client import RegistryClient
from pykbroker.registry_site import quoted

_TIMEOUT_S: Final = 60.0
#: The type of a schema that a registry's answer leaves out.
_AVRO: Final = "AVRO"


@dataclass(frozen=True, slots=True)
class SubjectVersion:
    """A version of a subject. ``type`` is ``AVRO``, ``JSON`` or ``PROTOBUF``; ``references`` are name, subject and version of each."""

    subject: str
    version: int
    id: int
    type: str
    text: str
    references: tuple[tuple[str, str, int], ...] = ()


class Schemas:
    """The registry at a URL, whose certificate an ``authority`` (PEM) issued. Every method raises ClientError with the registry's own message if it refuses."""

    def __init__(self, url: str, authority: str | None = None) -> None:
        self._client = RegistryClient(url, _TIMEOUT_S, authority)
        self._values = import_module("pykbroker.registry.values").of_registry(self._client)

    def register(
        self,
        subject: str,
        schema: str | Mapping[str, Any],
        type: str = _AVRO,  # noqa: A002 - the registry's word
        references: Iterable[tuple[str, str, int]] = (),
    ) -> int:
        """Register a schema (a text, or the object of a JSON text) as the subject's newest version, and return its id. A reference is
        a name, a subject and a version.
        """
        text = schema if isinstance(schema, str) else json.dumps(schema)
        named = [{"name": name, "subject": other, "version": version} for name, other, version in references]
        body = {"schema": text, "schemaType": type.upper(), "references": named}
        return int(self._client.ask("POST", f"/subjects/{quoted(subject)}/versions", body)["id"])

    def subjects(self) -> list[str]:
        """The subjects with a version that is not deleted, sorted."""
        return sorted(self._client.ask("GET", "/subjects"))

    def get(self, subject: str, version: int | str = "latest") -> SubjectVersion:
        """A version of a subject."""
        found = self._client.ask("GET", f"/subjects/{quoted(subject)}/versions/{version}")
        return SubjectVersion(
            found["subject"],
            found["version"],
            found["id"],
            found.get("schemaType", _AVRO),
            found["schema"],
            tuple((each["name"], each["subject"], each["version"]) for each in found.get("references") or ()),
        )

    def encode(self, subject: str, value: Any, version: int | str = "latest") -> bytes:
        """A value by a version of a subject, with the frame that serializers write before it. A Protobuf value is its JSON form, of the
        schema's first message. Raises ValueError if it is not of the schema.
        """
        encoded: bytes = self._values.encode(self.get(subject, version).id, value)
        return encoded

    def decode(self, value: bytes | None) -> Any:
        """The value of a serializer by the schema whose id it has; None for None. Raises ValueError if it is not one."""
        return None if value is None else self._values.decode(value)
