"""Values with the frame of a registry's serializers, encoded and decoded: a zero byte, the schema's id, and for Protobuf the path of
the message, as Confluent's wire format has it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from io import BytesIO
from typing import Any, Final, NamedTuple, cast

from pykbroker.client.errors import ClientError
from pykbroker.client.registry_client import RegistryClient, no_registry
from pykbroker.lake.errors import LakeError
from pykbroker.lake.values.conversion_error import ConversionError
from pykbroker.lake.values.registry import collect_references, is_schema
from pykbroker.lake.values.wire_format import Frame, unframed, unframed_message
from pykbroker.registry.parsing import SchemaSource, missing_package
from pykbroker.registry.schema import AVRO, JSON, PROTOBUF, abbreviated
from pykbroker.registry_site import quoted
from pykbroker.runtime.escaping import escaped

#: Parts of one Avro value: what its bytes say, and what they only claim.
_MOST_ITEMS: Final = 2_000_000
#: The path of a schema's first message, which is not written out.
_FIRST: Final = (0,)


class SchemaCodec(NamedTuple):
    """The two directions of one schema. Both raise ValueError: the value is not of the schema."""

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


class SchemaValues:
    """Encodes and decodes with the schemas that ``fetch`` returns for an id. Schemas are kept, since an id never changes its meaning."""

    def __init__(self, fetch: Callable[[int], SchemaSource]) -> None:
        self._fetch = fetch
        self._sources: dict[int, SchemaSource] = {}
        self._codecs: dict[Frame, SchemaCodec] = {}

    def encode(self, number: int, value: Any) -> bytes:
        """A value with its frame. Of a Protobuf schema it is the first message. Raises ValueError if it is not of the schema."""
        is_message = self._source(number).type == PROTOBUF
        frame = Frame(number, _FIRST if is_message else ())
        return b"\0" + number.to_bytes(4, "big") + (b"\0" if is_message else b"") + self._codec(frame).encode(value)

    def decode(self, value: bytes) -> Any:
        """The value behind a frame. Raises ValueError if there is none, and if the value is not of its schema."""
        try:
            frame, rest = unframed(value)
            if self._source(frame.schema).type == PROTOBUF:
                frame, rest = unframed_message(value)
            return self._codec(frame).decode(rest)
        except ConversionError as error:
            raise ValueError(str(error)) from None

    def _source(self, number: int) -> SchemaSource:
        if number not in self._sources:
            self._sources[number] = self._fetch(number)
        return self._sources[number]

    def _codec(self, frame: Frame) -> SchemaCodec:
        if frame not in self._codecs:
            self._codecs[frame] = codec(self._source(frame.schema), frame.path)
        return self._codecs[frame]


def of_registry(client: RegistryClient) -> SchemaValues:
    """Values by the schemas of a registry. What it refuses is raised as ClientError."""

    def answer_to(path: str) -> dict[str, Any]:
        found = client.ask("GET", path)
        try:
            if is_schema(found):
                return cast("dict[str, Any]", found)
        except (LookupError, TypeError, AttributeError):
            pass
        raise no_registry()

    def fetch(number: int) -> SchemaSource:
        found = answer_to(f"/schemas/ids/{number}")
        texts: dict[str, str] = {}
        try:
            collect_references(found, texts, lambda subject, version: answer_to(_path_of(subject, version)))
        except LakeError as error:
            raise ClientError(str(error)) from None
        return SchemaSource(found.get("schemaType", AVRO), found["schema"], tuple(texts.items()))

    return SchemaValues(fetch)


def _path_of(subject: str, version: int) -> str:
    """The path of a subject's version, which others may refer to after it was deleted."""
    return f"/subjects/{quoted(subject)}/versions/{version}?deleted=true"


def codec(source: SchemaSource, path: tuple[int, ...] = _FIRST) -> SchemaCodec:
    """The codec of a schema; ``path`` names a message of Protobuf's. Raises ConversionError if there is no such message, and ClientError
    for what is no schema, and if a package is missing.
    """
    if source.type not in (AVRO, JSON, PROTOBUF):
        raise ClientError(f"The registry has a schema of type {abbreviated(source.type)}, which is not known here.")
    if source.type != JSON and (missing := missing_package(source.type)):
        raise ClientError(f"{missing[0].upper()}{missing[1:]}")
    try:
        return _made(source, path)
    except (ConversionError, ClientError):
        raise
    except Exception as error:  # whatever the libraries raise for a stranger's text
        raise ClientError(f"This is no schema of type {source.type}: {escaped(str(error)[:500])}") from error


def _made(source: SchemaSource, path: tuple[int, ...]) -> SchemaCodec:
    if source.type == AVRO:
        return _avro(source)
    if source.type == JSON:
        return SchemaCodec(lambda value: json.dumps(value, allow_nan=False).encode(), _json)
    return _protobuf(source, path)


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("the value is nested too deeply") from None


def _avro(source: SchemaSource) -> SchemaCodec:
    """By Apache's library, logical types included."""
    io, schemas, names = (import_module(f"avro.{name}") for name in ("io", "schema", "name"))
    known = names.Names()
    for _, text in source.references:
        known.default_namespace = None
        schemas.make_avsc_object(json.loads(text), known)
    known.default_namespace = None
    schema = schemas.make_avsc_object(json.loads(source.text), known)

    def encode(value: Any) -> bytes:
        out = BytesIO()
        _valued(io.DatumWriter(schema).write, value, io.BinaryEncoder(out))
        return out.getvalue()

    class BoundedReader(io.DatumReader):  # type: ignore[name-defined,misc] # imported here
        """Items without bytes, nulls say, cost a value nothing: it may claim any number of them, and arrays of such arrays."""

        left = _MOST_ITEMS

        def read_data(self, *given: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                raise ValueError(f"it has more than {_MOST_ITEMS} items")
            return super().read_data(*given)

    def decode(data: bytes) -> Any:
        given = BytesIO(data)
        found = _valued(BoundedReader(schema).read, io.BinaryDecoder(given))
        if left := len(data) - given.tell():
            raise ValueError(f"the value is not of its Avro schema: {left} bytes are left over")
        return found

    return SchemaCodec(encode, decode)


def _valued(step: Callable[..., Any], *given: Any) -> Any:
    try:
        return step(*given)
    except Exception as error:  # the library raises many kinds for what does not fit
        raise ValueError(f"the value is not of its Avro schema: {str(error) or type(error).__name__}") from error


def _protobuf(source: SchemaSource, path: tuple[int, ...]) -> SchemaCodec:
    from google.protobuf import json_format, message_factory

    from pykbroker.lake.values.protobuf_values import ProtobufSchema, decoder_of
    from pykbroker.lake.values.protoc import compiled_texts

    message = ProtobufSchema(compiled_texts(source.text, dict(source.references))).at(path)
    made = message_factory.GetMessageClass(message)

    def encode(value: Any) -> bytes:
        try:
            encoded: bytes = json_format.ParseDict(value, made()).SerializeToString()
        except json_format.ParseError as error:
            raise ValueError(f"the value is no {message.full_name}: {error}") from None
        return encoded

    return SchemaCodec(encode, decoder_of(message))
