"""The columns of a record, which are those of Spark's Kafka source, and the columns that a query's schema requests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from pykbroker.lake.errors import LakeError

_TYPES = {
    "key": "BINARY",
    "value": "BINARY",
    "topic": "STRING",
    "partition": "INT",
    "offset": "BIGINT",
    "timestamp": "TIMESTAMP",
    "timestampType": "INT",
    "headers": "ARRAY<STRUCT<key: STRING, value: BINARY>>",
}
ALL = tuple(name for name in _TYPES if name != "headers")
_IN_RECORDS = {"key", "value", "headers", "timestamp"}
"""Columns that are not in a batch's header, which has the timestamp only with LogAppendTime."""


class _Type(Protocol):
    def simpleString(self) -> str: ...  # noqa: N802 - Spark's


class SparkField(Protocol):
    """A field of a Spark schema."""

    @property
    def name(self) -> str: ...
    @property
    def dataType(self) -> _Type: ...  # noqa: N802 - Spark's


class Columns(NamedTuple):
    """Column names, in the order that Spark expects."""

    names: tuple[str, ...]

    def in_records(self, *, appended: bool) -> bool:
        """Whether records must be decoded for these columns; ``appended`` means that the batch has LogAppendTime."""
        wanted = _IN_RECORDS.intersection(self.names)
        return bool(wanted - {"timestamp"} if appended else wanted)


def schema_of(columns: Columns) -> str:
    return ", ".join(f"{name} {_TYPES[name]}" for name in columns.names)


def columns_of(schema: Sequence[SparkField]) -> Columns:
    """The columns of a reader's schema. Raises LakeError for a column that records do not have, or have with another type."""
    for field in schema:
        if field.name not in _TYPES:
            raise LakeError(f"Records have no column {field.name!r}; they have {', '.join(_TYPES)}.")
        given, wanted = field.dataType.simpleString(), re.sub(r"(?<=[:,]) ", "", _TYPES[field.name].lower())
        if given != wanted:
            raise LakeError(f"The column {field.name} is {wanted}, not {given}; cast it in the query.")
    return Columns(tuple(field.name for field in schema))
