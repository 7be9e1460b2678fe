"""Decodes bytes to objects, for each kind of values: with one schema, or with the schemas that registry frames name."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from pykbroker.lake.errors import LakeError
from pykbroker.lake.values.conversion_error import ConversionError
from pykbroker.lake.values.decode_options import DecodeOptions, ValueFormat
from pykbroker.lake.values.json_values import decode_json
from pykbroker.lake.values.types import Columns
from pykbroker.lake.values.wire_format import Frame, unframed, unframed_message

_MOST_KNOWN = 1000
Read = Callable[[bytes], dict[str, Any]]
Schemas = Mapping[int, Mapping[str, Any]]
"""Schemas of a registry by id, as ``Registry.schema`` returns them; Protobuf's with compiled ``descriptors``."""


def reading(options: DecodeOptions, schemas: Schemas) -> Read:
    """The function that decodes a value. It raises only ConversionError."""
    if options.kind is ValueFormat.JSON:
        return decode_json
    if options.kind is ValueFormat.TEXT:
        return _text
    if options.is_framed:
        return _Framed(options.kind, schemas)
    return _fixed(options)[1]


def columns_of(options: DecodeOptions) -> Columns:
    """The columns of the given schema, or of text. Raises LakeError if the schema is invalid or contains itself."""
    return {"value": "STRING"} if options.kind is ValueFormat.TEXT else _fixed(options)[0]


def columns_of_frame(options: DecodeOptions, frame: Frame, schemas: Schemas) -> Columns | None:
    """The columns of the schema that a frame names; None if it has no columns, so that its values cannot be decoded."""
    try:
        return _of_frame(options.kind, frame, schemas)[0]
    except ConversionError:
        return None


def frame_of(kind: ValueFormat, value: bytes) -> tuple[Frame, bytes]:
    return unframed(value) if kind is ValueFormat.AVRO else unframed_message(value)


def _text(value: bytes) -> dict[str, Any]:
    try:
        return {"value": value.decode()}
    except UnicodeDecodeError as error:
        raise ConversionError(f"the value is no UTF-8: {error.reason} at byte {error.start}") from None


def _fixed(options: DecodeOptions) -> tuple[Columns, Read]:
    assert options.schema is not None, "one without a schema file is framed"
    if options.kind is ValueFormat.AVRO:
        from pykbroker.lake.values.avro_values import AvroSchema

        schema = AvroSchema(options.schema)
        return schema.columns(), schema.decoder()
    from pykbroker.lake.values import protobuf_values as protobuf

    message = protobuf.ProtobufSchema(base64.b64decode(options.schema)).named(options.message or "")
    return protobuf.columns_of(message), protobuf.decoder_of(message)


def _of_frame(kind: ValueFormat, frame: Frame, schemas: Schemas) -> tuple[Columns, Read]:
    found = schemas.get(frame.schema)
    if found is None:
        raise ConversionError(f"the registry has no schema {frame.schema}")
    if found["type"] != kind.upper():
        raise ConversionError(f"the schema {frame.schema} of the registry is {found['type']}, not {kind.upper()}")
    try:
        if kind is ValueFormat.AVRO:
            from pykbroker.lake.values.avro_values import AvroSchema

            schema = AvroSchema(found["text"], list(found["references"].values()))
            return schema.columns(), schema.decoder()
        from pykbroker.lake.values import protobuf_values as protobuf

        message = protobuf.ProtobufSchema(base64.b64decode(found["descriptors"])).at(frame.path)
        return protobuf.columns_of(message), protobuf.decoder_of(message)
    except LakeError as error:
        raise ConversionError(f"the schema {frame.schema} of the registry: {error}") from None


class _Framed:
    """Decodes each value with the schema that its frame names."""

    def __init__(self, kind: ValueFormat, schemas: Schemas) -> None:
        self._kind = kind
        self._schemas = schemas
        self._known: dict[Frame, Read | ConversionError] = {}

    def __call__(self, value: bytes) -> dict[str, Any]:
        frame, rest = frame_of(self._kind, value)
        read = self._known.get(frame) or self._learned(frame)
        if isinstance(read, ConversionError):
            raise ConversionError(
                read.what, read.path
            )  # the same exception, raised repeatedly, would keep all its tracebacks
        return read(rest)

    def _learned(self, frame: Frame) -> Read | ConversionError:
        try:
            found: Read | ConversionError = _of_frame(self._kind, frame, self._schemas)[1]
        except ConversionError as error:
            found = error
        if len(self._known) >= _MOST_KNOWN:  # bytes that are no frame look like many frames
            self._known.clear()
        self._known[frame] = found
        return found
