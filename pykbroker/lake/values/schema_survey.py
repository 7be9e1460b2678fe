"""Finds the columns that a batch needs: in its values, or in the registry's schemas that the values name."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pyspark.sql import DataFrame

from pykbroker.lake.errors import LakeError
from pykbroker.lake.values.column_names import Naming
from pykbroker.lake.values.decode_options import DecodeOptions, NewColumns, ValueFormat
from pykbroker.lake.values.decoded_tables import DecodedTopic
from pykbroker.lake.values.deserializers import columns_of, columns_of_frame
from pykbroker.lake.values.json_values import merged_columns
from pykbroker.lake.values.protoc import compiled_texts
from pykbroker.lake.values.registry import SchemaRegistry
from pykbroker.lake.values.tasks import FOUND, MOST_FRAMES, Survey
from pykbroker.lake.values.types import Columns, grown, width
from pykbroker.lake.values.wire_format import Frame


@dataclass(frozen=True, slots=True)
class Surveyor:
    """``registry`` may be None if all schemas are stored already or none is needed."""

    registry: SchemaRegistry | None = None

    def columns(self, decoded: DecodedTopic, fixed: Columns, rows: DataFrame) -> Columns:
        """The fixed columns, followed by those that are new in these rows. Raises LakeError if a schema cannot be fetched or compiled."""
        assert decoded.options is not None, "keep_how was called before"
        found = self._found(decoded, decoded.options, fixed, rows)
        room = decoded.options.most_columns - width(fixed)
        return grown(fixed, found, Naming(decoded.lake.description.format, room).taken)

    def _found(self, decoded: DecodedTopic, options: DecodeOptions, fixed: Columns, rows: DataFrame) -> Columns:
        given = options.columns or {}
        if options.kind is ValueFormat.TEXT or options.schema is not None:
            return columns_of(options)
        if (fixed or given) and options.new_columns is not NewColumns.ADD:
            if options.is_framed:
                self._fetch(decoded, options, fixed, rows)
            return given
        return merged_columns(self._fetch(decoded, options, fixed, rows), {}) | given

    def _fetch(self, decoded: DecodedTopic, options: DecodeOptions, fixed: Columns, rows: DataFrame) -> Columns:
        """Merge the findings of the tasks, and fetch and store new schemas."""
        table = decoded.lake.description.format
        values = rows.where("value IS NOT NULL").select("value")
        found_by_tasks = values.mapInArrow(Survey(options, table).survey, FOUND).distinct()
        lines = (json.loads(row.found) for row in found_by_tasks.toLocalIterator())
        found: Columns = {}
        if options.kind is ValueFormat.JSON:
            most = options.most_columns + width(fixed)  # the limit holds for each task and for all together
            for each in lines:
                found = grown({}, merged_columns(found, each), Naming(table, most).taken)
            return found
        frames = set(islice((Frame(number, tuple(path)) for each in lines for number, *path in each), MOST_FRAMES))
        schemas = self._schemas(decoded, {frame.schema for frame in frames})
        for frame in sorted(frames):
            found = merged_columns(found, columns_of_frame(options, frame, schemas) or {})
        return found

    def _schemas(self, decoded: DecodedTopic, wanted: set[int]) -> dict[int, dict[str, Any]]:
        known = decoded.schemas()
        for number in sorted(wanted - known.keys()):
            if self.registry is None:
                raise LakeError(
                    f"{decoded.topic} has values with the schema id {number}: name their registry with --registry."
                )
            schema = self.registry.schema(number)
            if schema is not None:
                known[number] = _compiled(schema)
                decoded.keep_schema(number, known[number])
        return known


def _compiled(schema: dict[str, Any]) -> dict[str, Any]:
    """A Protobuf schema with its descriptors: tasks have no protoc. Others are unchanged."""
    if schema["type"] != ValueFormat.PROTOBUF.upper():
        return schema
    descriptors = compiled_texts(schema["text"], schema["references"])
    return {**schema, "descriptors": base64.b64encode(descriptors).decode()}
