from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.types import ArrayType, BinaryType, DataType, LongType, StringType, StructField, StructType

from pykbroker.lake.direct.columns import Columns, columns_of
from pykbroker.lake.errors import LakeError

PAIR = StructType([StructField("key", StringType()), StructField("value", BinaryType())])


def schema(**types: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in types.items()])


def test_a_schema_says_which_columns_are_read_and_in_which_order() -> None:
    asked = schema(offset=LongType(), headers=ArrayType(PAIR), key=BinaryType())
    assert columns_of(asked.fields) == Columns(("offset", "headers", "key"))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (schema(offset=LongType(), payload=BinaryType()), "no column 'payload'; they have key, value, topic"),
        (schema(value=StringType()), "column value is binary, not string; cast it in the query"),
    ],
    ids=["name", "type"],
)
def test_what_records_do_not_have_is_told(asked: StructType, message: str) -> None:
    with pytest.raises(LakeError, match=message):
        columns_of(asked.fields)


def test_headers_of_batches_say_all_but_what_only_records_know() -> None:
    assert not Columns(("topic", "partition", "offset", "timestampType")).in_records(appended=False)
    assert Columns(("offset", "timestamp")).in_records(appended=False)
    assert not Columns(("offset", "timestamp")).in_records(appended=True)
    for name in ("key", "value", "headers"):
        assert Columns(("offset", name)).in_records(appended=True)
