from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

import pyarrow as pa

from pykbroker.lake.description import Format
from pykbroker.lake.values import tasks
from pykbroker.lake.values.decode_options import DecodeOptions, ValueFormat
from pykbroker.lake.values.json_values import widen
from pykbroker.lake.values.types import width

MOST = 50


def surveyed(objects: Iterator[Any]) -> Any:
    values = pa.RecordBatch.from_pydict({"value": [json.dumps(each).encode() for each in objects]})
    survey = tasks.Survey(DecodeOptions(ValueFormat.JSON, most_columns=MOST), Format.PARQUET)
    (found,) = survey.survey(iter([values]))
    return json.loads(found.column("found")[0].as_py())


@pytest.mark.parametrize("within", [lambda found: found, lambda found: {"at": [{"by": found}]}])
def test_where_keys_are_data_few_of_them_are_kept(monkeypatch: pytest.MonkeyPatch, within: Any) -> None:
    """On whatever level they are; else a task would hold them all, and look at all of them with each value."""
    widest = 0

    def measured(columns: dict[str, Any], fields: Any) -> None:
        nonlocal widest
        widen(columns, fields)
        widest = max(widest, width({name: each for name, each in columns.items() if each is not None}))

    monkeypatch.setattr(tasks, "widen", measured)
    found = surveyed(within({f"key {number}": 1}) for number in range(2000))
    assert 0 < width(found) <= MOST
    assert widest <= 4 * MOST


def test_what_decodes_to_nothing_is_left_out_of_a_survey() -> None:
    assert surveyed(iter([{"n": 1}, [], {"n": 2.5, "s": "x"}])) == {"n": "DOUBLE", "s": "STRING"}
