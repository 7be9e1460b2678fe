from __future__ import annotations

from pykbroker.lake.description import Format
from pykbroker.lake.values.column_names import Naming, refusal


def test_names_that_no_column_may_have() -> None:
    beside = {"Delay": "BIGINT"}
    assert refusal("origin", beside, Format.PARQUET) is None
    assert refusal("delay", beside, Format.PARQUET) == "another column has this name, except for upper and lower case"
    assert refusal("Kafka_Offset", {}, Format.PARQUET) == "a column of the record itself has this name"
    assert refusal("", {}, Format.PARQUET) == refusal("a\n", {}, Format.ICEBERG) == "its name cannot be a column's"
    assert refusal("a b", {}, Format.DELTA) == "Delta Lake refuses such a name"
    assert refusal("a b", {}, Format.PARQUET) is None


def test_there_is_room_for_so_many() -> None:
    naming = Naming(Format.PARQUET, 2)
    assert [naming.taken(name, {}) for name in ("a", "", "b", "c")] == [True, False, True, False]
