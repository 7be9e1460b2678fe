"""Schemas as values: what is registered, and where."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

AVRO: Final = "AVRO"
JSON: Final = "JSON"
PROTOBUF: Final = "PROTOBUF"
TYPES: Final = (JSON, PROTOBUF, AVRO)
_MOST_CHARACTERS: Final = 300
_COMPACT: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def abbreviated(text: str) -> str:
    """A stranger's words, as a message repeats them: bounded."""
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."


def compact(value: Any) -> str:
    """JSON without spaces, as the registry writes it."""
    return _COMPACT(value)


class Reference(NamedTuple):
    """``name`` is that by which the schema's text refers to a version of a subject; -1 is the latest."""

    name: str
    subject: str
    version: int

    def as_json(self) -> dict[str, Any]:
        """Its form in records and in answers."""
        return {"name": self.name, "subject": self.subject, "version": self.version}


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema. ``metadata`` and ``rule_set``, which are for clients, are texts of JSON."""

    text: str
    type: str = AVRO
    references: tuple[Reference, ...] = ()
    metadata: str | None = None
    rule_set: str | None = None

    def guid(self) -> str:
        """An id that depends on the content alone, the same in every registry of this kind."""
        parts = [
            self.type,
            self.text,
            *(compact(each) for each in self.references),
            self.metadata or "",
            self.rule_set or "",
        ]
        return str(
            uuid.UUID(
                bytes=hashlib.md5("\0".join(parts).encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()
            )
        )

    def properties(self) -> dict[str, Any]:
        """The properties of its metadata."""
        said = None if self.metadata is None else json.loads(self.metadata)
        found = said.get("properties") if isinstance(said, dict) else None
        return found if isinstance(found, dict) else {}

    def has_rule(self, kind: str) -> bool:
        """Whether one of its rules is of a type."""
        if self.rule_set is None or compact(kind) not in self.rule_set:  # which is not parsed in vain
            return False
        said = json.loads(self.rule_set)
        lists = said.values() if isinstance(said, dict) else ()
        rules = (rule for each in lists if isinstance(each, list) for rule in each)
        return any(isinstance(rule, dict) and rule.get("type") == kind for rule in rules)

    def as_json(self) -> dict[str, Any]:
        """Its fields in records and in answers; what is as by default is left out."""
        found: dict[str, Any] = {} if self.type == AVRO else {"schemaType": self.type}
        if self.references:
            found["references"] = [each.as_json() for each in self.references]
        if self.metadata is not None:
            found["metadata"] = json.loads(self.metadata)
        if self.rule_set is not None:
            found["ruleSet"] = json.loads(self.rule_set)
        return {**found, "schema": self.text}

    @classmethod
    def of_json(cls, said: Mapping[str, Any]) -> Schema:
        """Read a record's or a request's fields, whose types were checked (``requests.py``), or are those of a record."""
        metadata, rules = said.get("metadata"), said.get("ruleSet")
        return cls(
            said.get("schema") or "",
            said.get("schemaType") or AVRO,
            tuple(Reference(each["name"], each["subject"], each["version"]) for each in said.get("references") or ()),
            None if metadata is None else compact(metadata),
            None if rules is None else compact(rules),
        )


@dataclass(frozen=True, slots=True)
class Version:
    """A schema under a subject. ``deleted`` is soft: it is found by its id and where deleted ones are asked for."""

    subject: str
    version: int
    id: int
    schema: Schema
    guid: str
    deleted: bool = False

    def soft_deleted(self) -> Version:
        """The same, deleted."""
        return replace(self, deleted=True)

    def text(self) -> str:
        """Its form in answers, as text: what clients keep with a schema is not parsed for it."""
        schema = self.schema
        head: dict[str, Any] = {"subject": self.subject, "version": self.version, "id": self.id, "guid": self.guid}
        if schema.type != AVRO:
            head["schemaType"] = schema.type
        if schema.references:
            head["references"] = [each.as_json() for each in schema.references]
        kept = (("metadata", schema.metadata), ("ruleSet", schema.rule_set), ("schema", compact(schema.text)))
        said = [f'"{name}":{text}' for name, text in kept if text is not None]
        return f"{compact(head)[:-1]},{','.join(said)}}}"

    def as_json(self) -> dict[str, Any]:
        """Its form in answers."""
        return {
            "subject": self.subject,
            "version": self.version,
            "id": self.id,
            "guid": self.guid,
            **self.schema.as_json(),
        }
