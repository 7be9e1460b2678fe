"""Schemas of strangers that are compared in a bounded number of steps: what is walked within a step is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pykbroker.registry.formats import json_nodes, json_object_diff
from pykbroker.registry.formats.json_diff import compare
from pykbroker.registry.formats.json_nodes import Document
from pykbroker.registry.formats.json_schema import parse
from pykbroker.registry.formats.parsed import Budget, Malformed

TEXT, INT = {"type": "string"}, {"type": "integer"}


def compared(original: Any, update: Any) -> list[str]:
    return [each.rule for each in compare(Document(original, {}), Document(update, {}), Budget())]


def thing(names: list[str], **more: Any) -> Any:
    return {"type": "object", "properties": dict.fromkeys(names, TEXT), **more}


def numbered(count: int, prefix: str = "a") -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def test_alternatives_are_not_compared_with_each_other_beyond_the_budget() -> None:
    looked = 0

    class Part(dict[str, Any]):
        def __eq__(self, other: object) -> bool:
            nonlocal looked
            looked += 1
            return self is other

        __hash__ = None  # type: ignore[assignment]

    with pytest.raises(Malformed, match="too complex"):
        compared({"anyOf": [Part(TEXT) for _ in range(1500)]}, {"anyOf": [TEXT]})
    assert not looked


def test_paths_of_differences_are_bounded_together() -> None:
    names = numbered(300)
    deep = [{"type": "object", "properties": {"x" * 100_000: {**thing(names), "properties": dict.fromkeys(names, kind)}}} for kind in (TEXT, INT)]  # fmt: skip
    with pytest.raises(Malformed, match="too complex"):
        compared(*deep)


@pytest.mark.parametrize("count", [10, 100])
def test_required_names_are_compared_once_for_an_object(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0

    class Names(set[str]):
        def __sub__(self, other: Any) -> Any:
            nonlocal made
            made += 1
            return super().__sub__(other)

    monkeypatch.setattr(json_object_diff, "set", Names, raising=False)
    names = numbered(count)
    assert compared(thing(names), thing(names, required=names)) == ["REQUIRED_ATTRIBUTE_ADDED"] * count
    assert made == 1


def test_required_names_are_not_searched_for_each_added_property() -> None:
    searched = 0

    class Required(list[str]):
        def __contains__(self, name: object) -> bool:
            nonlocal searched
            searched += 1
            return super().__contains__(name)

    names = numbered(50)
    found = compared(thing([], additionalProperties=False), thing(names, required=Required(names), additionalProperties=False))  # fmt: skip
    assert found == ["REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL"] * 50
    assert not searched


def test_patterns_are_matched_with_names_within_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    matched = 0
    compile_pattern = json_object_diff.compile_pattern

    def counted(text: str) -> Any:
        nonlocal matched
        matched += 1
        return compile_pattern(text)

    monkeypatch.setattr(json_object_diff, "compile_pattern", counted)
    patterns = dict.fromkeys((f"^b{number}$" for number in range(100)), TEXT)
    with pytest.raises(Malformed, match="too complex"):
        compared(thing(numbered(250)), thing([], patternProperties=patterns, additionalProperties=False))
    assert matched < 100 * 250


def test_patterns_of_an_object_stay_compiled() -> None:
    """To compile one holds everybody, so no object has more than are remembered."""
    patterns = dict.fromkeys((f"^b{number}$" for number in range(101)), TEXT)
    with pytest.raises(Malformed, match="more than 100 patterns"):
        compared(thing(["a"]), thing([], patternProperties=patterns, additionalProperties=False))


@pytest.mark.parametrize(
    "big",
    [
        {"type": "object", "required": numbered(50_000)},
        {"type": "object", "dependencies": {"a": numbered(50_000)}},
        {"type": "array", "items": [True] * 5_000},
        {"enum": numbered(50_000)},
    ],
    ids=["required", "dependencies", "items", "enum"],
)
def test_a_large_part_that_is_referred_to_often_is_paid_for_each_time(big: Any) -> None:
    steps = 0

    class Counted(Budget):
        def spend(self, spent: int = 1) -> None:
            nonlocal steps
            steps += spent

    small = {**big, **{name: [] for name in ("required", "items", "enum") if name in big}}
    one, other = (
        Document({"type": "object", "properties": {name: {"$ref": "#/definitions/b"} for name in numbered(20)}, "definitions": {"b": each}}, {})
        for each in (big, small)
    )  # fmt: skip
    compare(one, other, Counted())
    assert steps >= 20 * 50


def counting(monkeypatch: pytest.MonkeyPatch, name: str) -> list[Any]:
    """What a function of ``json_nodes`` is called with."""
    calls: list[Any] = []
    own = getattr(json_nodes, name)

    def counted(given: Any) -> Any:
        calls.append(given)
        return own(given)

    monkeypatch.setattr(json_nodes, name, counted)
    return calls


def test_anchors_are_found_in_one_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    walked = counting(monkeypatch, "_id")
    names = numbered(100)
    definitions = {name: {"$anchor": name, **TEXT} for name in names}
    parse(json.dumps({"definitions": definitions, "anyOf": [{"$ref": f"#{name}"} for name in names]}), {})
    assert len(walked) < 1000


def test_a_reference_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up = counting(monkeypatch, "unquote")
    to_long = {"b": {"$ref": "#/definitions/%41%41"}, "AA": TEXT}
    schema = {"type": "object", "properties": {name: {"$ref": "#/definitions/b"} for name in numbered(50)}}
    one = Document({**schema, "definitions": to_long}, {})
    assert compare(one, one, Budget()) == []
    assert len(looked_up) == 2
