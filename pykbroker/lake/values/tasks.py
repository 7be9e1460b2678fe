"""The tasks on values: survey them and decode them. For ``mapInArrow``; pure, a batch in and a batch out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pykbroker.lake.description import Format
from pykbroker.lake.record_columns import SCHEMA
from pykbroker.lake.values.arrow_types import arrow_type
from pykbroker.lake.values.column_names import Naming, refusal
from pykbroker.lake.values.conversion import fields_fit
from pykbroker.lake.values.conversion_error import ConversionError
from pykbroker.lake.values.decode_options import DecodeOptions, KeyFormat, NewColumns, ValueFormat
from pykbroker.lake.values.deserializers import Schemas, frame_of, reading
from pykbroker.lake.values.json_values import decode_json, found_columns, is_empty, widen
from pykbroker.lake.values.types import Columns, Type, ddl, grown, struct, width

FOUND = "found STRING"
_LONGEST_REASON = 500
MOST_FRAMES = 1000
_LOOK_EVERY = 100
"""The number of columns is checked each time that this many values were read."""


@dataclass(frozen=True, slots=True)
class Survey:
    """Surveys the values of a task: returns the columns of JSON, or the frames of a registry."""

    options: DecodeOptions
    table: Format

    def survey(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """One row with the findings of this task, as JSON."""
        values = (value for batch in batches for value in batch.column("value").to_pylist())
        found = self._columns(values) if self.options.kind is ValueFormat.JSON else self._frames(values)
        yield pa.RecordBatch.from_pydict({"found": [json.dumps(found, sort_keys=True)]})

    def _columns(self, values: Iterator[bytes]) -> Columns:
        """At most as many columns as allowed: objects whose keys are data would fill the memory."""
        found: dict[str, Any] = {}
        for number, value in enumerate(values):
            try:
                widen(found, decode_json(value))
            except ConversionError:
                continue
            if number % _LOOK_EVERY == 0 and width(found_columns(found)) > 2 * self.options.most_columns:
                found = self._kept(found)
        return self._kept(found)

    def _kept(self, found: Mapping[str, Any]) -> Columns:
        return grown({}, found_columns(found), Naming(self.table, self.options.most_columns).taken)

    def _frames(self, values: Iterator[bytes]) -> list[list[int]]:
        found = set()
        for value in values:
            try:
                frame, _ = frame_of(self.options.kind, value)
            except ConversionError:
                continue
            found.add((frame.schema, *frame.path))
            if len(found) >= MOST_FRAMES:
                break
        return sorted(map(list, found))


@dataclass(frozen=True, slots=True)
class Decoding:
    """Decodes with one set of columns. A row is the archived one with ``error``, or with ``decoded`` in place of its value."""

    options: DecodeOptions
    table: Format
    columns: Columns
    schemas: Schemas

    @property
    def _form(self) -> Type:
        """The struct of the columns. While no column is known, all values are tombstones, but Spark's structs need a field."""
        return struct(self.columns or {"nothing": "BOOLEAN"})

    @property
    def ddl(self) -> str:
        return f"{SCHEMA}, error STRING, tombstone BOOLEAN, decoded {ddl(self._form)}"

    def decode(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        of_value = self._value_decoder()
        form = arrow_type(self._form)
        for batch in batches:
            values, keys = batch.column("value"), batch.column("key").to_pylist()
            rows, errors = [], []
            for key, value in zip(keys, values.to_pylist(), strict=True):
                row, error = None, None
                try:
                    self._check_key(key)
                    row = {} if value is None else of_value(value)
                except ConversionError as unfit:
                    error = str(unfit)[:_LONGEST_REASON]
                rows.append(row)
                errors.append(error)
            yield _with(batch, errors, values, pa.array(rows, form))

    def _value_decoder(self) -> Callable[[bytes], dict[str, Any]]:
        read, fit = reading(self.options, self.schemas), fields_fit(self.columns, self._unknown)
        return lambda value: fit(read(value))

    def _check_key(self, key: bytes | None) -> None:
        if self.options.key is KeyFormat.TEXT and key is not None:
            try:
                key.decode()
            except UnicodeDecodeError:
                raise ConversionError("the key is no UTF-8") from None

    def _unknown(self, name: str, value: Any, reserved: Mapping[str, Type]) -> None:
        if self.options.new_columns is NewColumns.IGNORE or is_empty(value):
            return
        if self.options.new_columns is NewColumns.QUARANTINE:
            raise ConversionError("it has no column, and new ones are not to be added", f".{name}")
        why = refusal(name, reserved, self.table) or f"there are {self.options.most_columns} already"
        raise ConversionError(f"it cannot be a column: {why}", f".{name}")


def _with(batch: pa.RecordBatch, errors: list[str | None], values: pa.Array, decoded: pa.Array) -> pa.RecordBatch:
    reasons = pa.array(errors, pa.string())
    kept = pc.if_else(reasons.is_valid(), values, pa.scalar(None, values.type))
    names = batch.schema.names
    columns = [kept if name == "value" else batch.column(name) for name in names]
    return pa.RecordBatch.from_arrays(
        [*columns, reasons, values.is_null(), decoded], [*names, "error", "tombstone", "decoded"]
    )
