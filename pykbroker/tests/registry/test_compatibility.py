from __future__ import annotations

import json

import pytest

from pykbroker.registry.compatibility import LEVELS, Earlier, checked_level, incompatibilities
from pykbroker.registry.errors import RegistryError
from pykbroker.registry.formats.parsed import Incompatibility, Malformed, Parsed


class Number:
    """Reads what is not greater: a stand-in for a format, whose rules are tested in their own room."""

    def __init__(self, value: int) -> None:
        self.value = value
        self.text = str(value)

    def cannot_read(self, writer: Number) -> list[Incompatibility]:
        return [Incompatibility("GREATER", "/", f"{writer.value}")] if writer.value > self.value else []


def earlier(*values: int, kind: str = "AVRO") -> list[Earlier]:
    def of(value: int) -> Parsed:
        return Number(value)

    return [
        Earlier(kind, version, str(value), lambda value=value: of(value)) for version, value in enumerate(values, 1)
    ]


@pytest.mark.parametrize(
    ("level", "before", "now", "version"),
    [
        ("NONE", [9], 1, None),
        ("BACKWARD", [9, 1], 2, None),  # the last version alone
        ("BACKWARD", [1, 9], 2, 2),
        ("BACKWARD_TRANSITIVE", [9, 1], 2, 1),
        ("FORWARD", [1, 9], 2, None),
        ("FORWARD", [9, 1], 2, 2),
        ("FORWARD_TRANSITIVE", [1, 9], 2, 1),
        ("FULL", [1, 2], 2, None),
        ("FULL", [2, 1], 2, 2),
        ("FULL_TRANSITIVE", [1, 2], 2, 1),
        ("FULL_TRANSITIVE", [], 2, None),
    ],
)
def test_the_modes(level: str, before: list[int], now: int, version: int | None) -> None:
    found = incompatibilities("AVRO", Number(now), level, earlier(*before))
    assert bool(found) == (version is not None)
    if version is not None:
        assert f"{{oldSchemaVersion: {version}}}" in found[1]
        assert f"{{compatibility: '{level}'}}" == found[-1]


@pytest.mark.parametrize(
    ("change", "levels"),
    [
        ("delete a field", "BACKWARD"),
        ("add an optional field", "BACKWARD FORWARD FULL"),
        ("add a field", "FORWARD"),
        ("delete an optional field", "BACKWARD FORWARD FULL"),
        ("change a type", ""),
    ],
)
def test_what_is_allowed_by_which_mode(change: str, levels: str) -> None:
    """The table of "Schema evolution and compatibility"
    (https://docs.confluent.io/platform/current/schema-registry/fundamentals/schema-evolution.html#compatibility-types).
    """
    avro = pytest.importorskip("pykbroker.registry.formats.avro", reason="the package avro is not installed")
    name, number = {"name": "name", "type": "string"}, {"name": "number", "type": "int"}
    optional = {"name": "color", "type": "string", "default": "green"}
    other = {"name": "color", "type": "int"}
    before, now = {
        "delete a field": ([name, number], [name]),
        "add an optional field": ([name], [name, optional]),
        "add a field": ([name], [name, number]),
        "delete an optional field": ([name, optional], [name]),
        "change a type": ([name, optional], [name, other]),
    }[change]
    old, new = (
        avro.parse(json.dumps({"type": "record", "name": "user", "fields": each}), {}) for each in (before, now)
    )
    allowed = {
        level
        for level in LEVELS
        if not incompatibilities("AVRO", new, level, [Earlier("AVRO", 1, old.text, lambda: old)])
    }
    assert allowed == {"NONE", *levels.split(), *(f"{each}_TRANSITIVE" for each in levels.split())}


def test_another_type_is_never_compatible() -> None:
    (first, *_) = incompatibilities("JSON", Number(1), "BACKWARD", earlier(1))
    assert first == "Incompatible because of different schema type: AVRO before, JSON now"


def test_what_cannot_be_compared_is_refused() -> None:
    class Large(Number):
        def cannot_read(self, writer: Number) -> list[Incompatibility]:
            raise Malformed("too large")

    with pytest.raises(RegistryError, match="cannot be checked: too large"):
        incompatibilities("AVRO", Large(1), "FULL", earlier(1))


def test_levels() -> None:
    assert [checked_level(each.lower()) for each in LEVELS] == list(LEVELS)
    for wrong in ("", "ALL", None, 1):
        with pytest.raises(RegistryError) as caught:
            checked_level(wrong)
        assert caught.value.code == 42203
