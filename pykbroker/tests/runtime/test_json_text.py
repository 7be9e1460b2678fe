from __future__ import annotations

import json

import pytest

from pykbroker.runtime.json_text import DEEPEST, is_larger, loads

LONG = " " * 70_000


@pytest.mark.parametrize("more", ["", LONG], ids=["short", "long"])
def test_json_of_the_standard_alone(more: str) -> None:
    value = {"a": [1, -2.5, 1e308, "\u00e4\ud800", None, True, {"b": {}}], "": []}
    assert loads(json.dumps(value) + more) == value
    for text in ("NaN", "[Infinity]", '{"a":-Infinity}', "1e999", "-1e999", "'a'", "{", '"\n"', "1" * 5000):
        with pytest.raises(ValueError, match=r"."):
            loads(text + more)
    with pytest.raises(RecursionError):
        loads("[" * 100_000 + more)


def test_a_value_is_larger_by_its_characters_and_by_its_depth() -> None:
    deep: object = 1
    for _ in range(DEEPEST - 1):
        deep = [deep]
    assert not is_larger(deep, 1000)
    assert is_larger([deep], 1000)
    for value in ("x" * 90, ["x" * 80], {"k" * 40: "x" * 40}, [1] * 10):
        assert not is_larger(value, 90)
        assert is_larger(value, 60)
