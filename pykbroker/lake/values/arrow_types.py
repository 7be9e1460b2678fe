"""The Arrow types of columns: a task returns rows to Spark as Arrow batches."""

from __future__ import annotations

import pyarrow as pa

from pykbroker.lake.values.types import Type, decimal_of, part

_SCALARS = {
    "BOOLEAN": pa.bool_(), "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(), "STRING": pa.string(), "JSON": pa.string(), "BINARY": pa.binary(), "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"), "TIMESTAMP_NTZ": pa.timestamp("us"),
}  # fmt: skip


def arrow_type(each: Type) -> pa.DataType:
    """The Arrow type of a column of this type."""
    if isinstance(each, str):
        digits = decimal_of(each)
        return _SCALARS[each] if digits is None else pa.decimal128(*digits)
    if (fields := part(each, "struct")) is not None:
        return pa.struct([(name, arrow_type(inner)) for name, inner in fields.items()])
    if (element := part(each, "array")) is not None:
        return pa.list_(arrow_type(element))
    return pa.map_(pa.string(), arrow_type(part(each, "map")))
