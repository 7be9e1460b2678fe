"""Values with the frame of serializers, encoded and decoded by schemas given as texts."""

from __future__ import annotations

import json

import pytest

from pykbroker.registry.parsing import SchemaSource
from pykbroker.registry.values import SchemaValues

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}


def of(*sources: SchemaSource) -> tuple[SchemaValues, list[int]]:
    """Values by ids counted from 0, and the ids that were fetched."""
    fetched: list[int] = []

    def fetch(number: int) -> SchemaSource:
        fetched.append(number)
        return sources[number]

    return SchemaValues(fetch), fetched


def test_a_schema_is_fetched_once() -> None:
    values, fetched = of(SchemaSource("JSON", "{}"), SchemaSource("JSON", "{}"))
    written = values.encode(1, {"a": 1})
    assert written == b'\0\0\0\0\1{"a": 1}'
    assert [values.decode(written) for _ in range(3)] == [{"a": 1}] * 3
    assert fetched == [1]


def test_avro() -> None:
    pytest.importorskip("avro", reason="Apache's avro is not installed")
    named = json.dumps({"type": "array", "items": "Order"})
    values, _ = of(SchemaSource("AVRO", named, (("Order", json.dumps(ORDER)),)))
    written = values.encode(0, [{"id": 1}, {"id": -1}])
    assert written == b"\0\0\0\0\0\4\2\1\0"
    assert values.decode(written) == [{"id": 1}, {"id": -1}]


@pytest.mark.parametrize("cut", [b"", b"\0", b"\0\0\0\0", b"\1\0\0\0\0{}"])
def test_what_has_no_frame(cut: bytes) -> None:
    with pytest.raises(ValueError, match="does not begin with a zero byte"):
        of(SchemaSource("JSON", "{}"))[0].decode(cut)


@pytest.mark.parametrize("rest", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json(rest: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        of(SchemaSource("JSON", "{}"))[0].decode(b"\0\0\0\0\0" + rest)


@pytest.mark.parametrize(
    "items", ['"null"', '{"type": "array", "items": "null"}', '{"type":"record","name":"E","fields":[]}']
)
@pytest.mark.deep(but=1)
def test_items_without_bytes_are_bounded(items: str) -> None:
    """A few bytes that claim a million times a million items."""
    pytest.importorskip("avro", reason="Apache's avro is not installed")
    values, _ = of(SchemaSource("AVRO", f'{{"type": "array", "items": {items}}}'))
    million = b"\x80\x89\x7a"  # zigzag
    inner = million + b"\0" if "array" in items else b""
    hostile = b"\xfe\xff\xff\xff\x0f" + inner * 1000 if not inner else b"\xd0\x0f" + inner * 1000 + b"\0"
    with pytest.raises(ValueError, match="not of its Avro schema"):
        values.decode(b"\0\0\0\0\0" + hostile)
    assert values.decode(b"\0\0\0\0\0" + (b"\4\0\0\0" if inner else b"\4\0")) == (
        [[], []] if inner else [None, None] if items == '"null"' else [{}, {}]
    )
