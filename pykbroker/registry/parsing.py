"""Parses schemas of all types, by the format's own module. Slow, for a thread; what was parsed is remembered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import Final, NamedTuple

from pykbroker.extras import install_hint
from pykbroker.registry.errors import TOO_LARGE, RegistryError, invalid_schema
from pykbroker.registry.formats.parsed import LARGEST, Malformed, Parsed
from pykbroker.registry.schema import AVRO, JSON, PROTOBUF, abbreviated

_MODULES: Final = {AVRO: "avro", JSON: "json_schema", PROTOBUF: "protobuf"}
_PACKAGES: Final = {AVRO: "avro", JSON: "jsonschema", PROTOBUF: "grpc_tools"}
_MOST_KEPT: Final = 200
#: Characters of the texts of all that is remembered; parsed, one takes up to forty bytes.
_MOST_BYTES: Final = 4 * 1024 * 1024


class SchemaSource(NamedTuple):
    """What is parsed: a text, and the texts of its references, by name, each after those that it refers to itself."""

    type: str
    text: str
    references: tuple[tuple[str, str], ...] = ()
    normalize: bool = False

    @property
    def size(self) -> int:
        return len(self.text) + sum(len(text) for _, text in self.references)


def missing_package(kind: str) -> str | None:
    """What to install for schemas of this type, as a sentence; None if it is there."""
    if find_spec(_PACKAGES[kind]) is not None:
        return None
    return f"schemas of type {kind} need the package {_PACKAGES[kind]}: {install_hint('registry')}."


class Parser:
    """Parses, and remembers the newest results. May be called in several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[SchemaSource, Parsed] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def parse(self, source: SchemaSource) -> Parsed:
        """A parsed schema. Raises RegistryError."""
        with self._lock:
            if source in self._kept:
                self._kept.move_to_end(source)
                return self._kept[source]
        made = _parsed(source)
        with self._lock:
            if source not in self._kept:
                self._kept[source] = made
                self._bytes += source.size
            while self._kept and (len(self._kept) > _MOST_KEPT or self._bytes > _MOST_BYTES):
                self._bytes -= self._kept.popitem(last=False)[0].size
        return made


def _parsed(source: SchemaSource) -> Parsed:
    if source.type not in _MODULES:
        raise invalid_schema(f"Invalid schema type {abbreviated(source.type)}")
    if source.size > LARGEST:
        raise RegistryError(TOO_LARGE, f"A schema has at most {LARGEST} characters here, with those that it refers to")
    if missing := missing_package(source.type):
        raise RegistryError(501, missing)
    parse = import_module(f"pykbroker.registry.formats.{_MODULES[source.type]}").parse
    references: Mapping[str, str] = dict(source.references)
    try:
        made: Parsed = parse(source.text, references, normalize=source.normalize)
    except Malformed as error:
        raise invalid_schema(f"Invalid schema of type {source.type}, details: {error}") from error
    return made
