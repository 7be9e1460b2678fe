"""The schemas as typed values: messages, structs and fields, independent of the generated Python."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from scripts.wiregen.names import snake
from scripts.wiregen.versions import NONE, Versions

JARS = ("clients", "group-coordinator", "share-coordinator", "transaction-coordinator", "raft", "metadata")
_COMMENT = re.compile(r"^\s*//.*$", re.MULTILINE)
_FOLDER = re.compile(r"common/(message|metadata)/\w+\.json")

INTEGERS = {"int8", "int16", "int32", "int64", "uint16", "uint32"}
FIXED = INTEGERS | {"bool", "float64", "uuid"}
VARIABLE = {"string", "bytes", "records"}


@dataclass(frozen=True, slots=True)
class Scalar:
    """A primitive type by its name in the schemas."""

    name: str


@dataclass(frozen=True, slots=True)
class Nested:
    """A struct, by its name in the schema."""

    name: str


@dataclass(frozen=True, slots=True)
class Array:
    """A list of scalars or structs."""

    element: Scalar | Nested


Type = Scalar | Nested | Array


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct. ``default`` is a Python value; [] and the name of a struct stand for fresh objects."""

    name: str
    type: Type
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int
    ignorable: bool
    default: Any
    json: str
    """The name of the field in Kafka's JSON of the message."""

    @property
    def fixed(self) -> bool:
        """Whether all its values have the same size."""
        return isinstance(self.type, Scalar) and self.type.name in FIXED

    @property
    def plain(self) -> Versions:
        """The versions in which the field is in the body of its struct, not among the tagged fields."""
        return NONE if self.tagged else self.versions

    @property
    def struct(self) -> str | None:
        """The name of the struct it holds, or holds a list of."""
        inner = self.type.element if isinstance(self.type, Array) else self.type
        return inner.name if isinstance(inner, Nested) else None


@dataclass(frozen=True, slots=True)
class StructSchema:
    """A struct: its name in the schema and its fields in the order of the wire."""

    name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class MessageSchema:
    """One schema file."""

    kind: str
    name: str
    api_key: int | None
    valid: Versions
    flexible: Versions
    unstable: bool
    listeners: tuple[str, ...]
    body: StructSchema
    structs: tuple[StructSchema, ...] = field(default=())

    @cached_property
    def by_name(self) -> dict[str, StructSchema]:
        """Every struct of the message, the body too."""
        return {struct.name: struct for struct in (self.body, *self.structs)}

    @cached_property
    def reach(self) -> dict[str, Versions]:
        """The versions of the message in which each struct can occur."""
        reach = {self.body.name: self.valid}
        waiting = [self.body.name]
        while waiting:
            name = waiting.pop()
            for each in self.by_name[name].fields:
                if each.struct is None:
                    continue
                seen = reach.get(each.struct, NONE)
                wider = seen | (reach[name] & each.versions)
                if wider != seen:
                    reach[each.struct] = wider
                    waiting.append(each.struct)
        return reach

    @cached_property
    def has_records(self) -> bool:
        """Whether a field holds record batches, which are never copied."""
        return any(each.type == Scalar("records") for struct in self.by_name.values() for each in struct.fields)


def load(jars: list[Path]) -> list[MessageSchema]:
    """Every schema in Kafka's jars, sorted by kind and name."""
    messages = []
    for jar in jars:
        if not re.fullmatch(rf"kafka-({'|'.join(JARS)})-[\d.]+\.jar", jar.name):
            continue
        with ZipFile(jar) as archive:
            names = filter(_FOLDER.fullmatch, archive.namelist())
            messages += [parse(_COMMENT.sub("", archive.read(name).decode())) for name in names]
    return sorted(messages, key=lambda message: (message.kind, message.name))


def parse(text: str) -> MessageSchema:
    """One schema from its JSON, comments already removed."""
    raw = json.loads(text)
    structs: list[StructSchema] = []
    body = StructSchema(raw["name"], _fields(raw.get("fields", []), structs))
    for common in raw.get("commonStructs", []):
        structs.append(StructSchema(common["name"], _fields(common["fields"], structs)))
    return MessageSchema(
        kind=raw["type"],
        name=raw["name"],
        api_key=raw.get("apiKey"),
        valid=Versions.parse(raw["validVersions"]),
        flexible=Versions.parse(raw.get("flexibleVersions", "none")),
        unstable=raw.get("latestVersionUnstable", False),
        listeners=tuple(raw.get("listeners", ())),
        body=body,
        structs=tuple(structs),
    )


def _fields(raw_fields: list[dict[str, Any]], structs: list[StructSchema]) -> tuple[Field, ...]:
    """Typed fields; structs defined in line are appended to ``structs``, outer before inner."""
    fields = []
    for raw in raw_fields:
        kind = _type(raw["type"])
        tagged = Versions.parse(raw.get("taggedVersions", "none"))
        versions = Versions.parse(raw["versions"]) if "versions" in raw else tagged
        if tagged and tagged != versions:
            raise ValueError(f"{raw['name']}: tagged in {tagged}, present in {versions}: not supported")
        nullable = Versions.parse(raw.get("nullableVersions", "none"))
        fields.append(
            Field(
                name=snake(raw["name"]),
                type=kind,
                versions=versions,
                nullable=nullable,
                tagged=tagged,
                tag=raw.get("tag", -1),
                ignorable=raw.get("ignorable", False),
                default=_default(kind, raw.get("default", "")),
                json=raw["name"][0].lower() + raw["name"][1:],
            )
        )
        if "fields" in raw:
            inner: list[StructSchema] = []
            own = StructSchema(raw["type"].removeprefix("[]"), _fields(raw["fields"], inner))
            structs.extend([own, *inner])
    return tuple(fields)


def _type(text: str) -> Type:
    if text.startswith("[]"):
        element = _type(text[2:])
        assert not isinstance(element, Array)
        return Array(element)
    return Scalar(text) if text in FIXED | VARIABLE else Nested(text)


def _default(kind: Type, raw: Any) -> Any:
    """The default by the rules of the schemas: without one, zero, empty, or a struct of defaults; never null.

    Null is the text "null"; a JSON null counts as not given, as in Kafka's generator.
    """
    text = "" if raw is None else str(raw)
    if isinstance(kind, Array):
        return None if text == "null" else []
    if isinstance(kind, Nested):
        return None if text == "null" else kind.name
    if kind.name in INTEGERS:
        return int(text or "0", 0)
    if kind.name == "bool":
        return text.lower() == "true"
    if kind.name == "float64":
        return float(text or "0")
    if kind.name == "uuid":
        return bytes(16)
    if kind.name == "records" or text == "null":
        return None
    return text if kind.name == "string" else b""
