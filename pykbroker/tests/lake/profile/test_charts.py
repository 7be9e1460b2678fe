from __future__ import annotations

import re
from itertools import pairwise

from pykbroker.lake.profile.charts import Bar, columns, rows, spark


def heights(svg: str) -> list[float]:
    return [float(each) for each in re.findall(r'class="bar"[^>]* height="([\d.]+)"', svg)]


def test_columns_are_as_high_as_what_they_show() -> None:
    found = heights(columns([Bar(0, "none"), Bar(1, "hardly any"), Bar(50, "half"), Bar(100, "all")], height=132))
    assert found == [0.0, 1.0, 50.0, 100.0]
    assert heights(columns([])) == []


def test_labels_stand_where_there_is_room() -> None:
    many = columns([Bar(1, "", f"label {number}") for number in range(100)])
    shown = re.findall(r'class="tick" x="([\d.]+)"', many)
    assert 4 < len(shown) < 20
    assert all(float(after) - float(before) > 40 for before, after in pairwise(shown))


def test_rows_are_named_and_told() -> None:
    svg = rows([Bar(2, "tip", "a" * 50), Bar(1, "", "b")], ["two", "one"])
    widths = [float(each) for each in re.findall(r'class="bar"[^>]* width="([\d.]+)"', svg)]
    assert widths[0] == 2 * widths[1]
    assert f">{'a' * 19}…<" in svg
    assert ">one<" in svg
    assert heights(spark([1, 2])) == [11.0, 22.0]
