"""What was parsed is remembered, in bounds."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("avro")

from pykbroker.registry.parsing import Parser, SchemaSource


def test_of_large_schemas_few_are_remembered() -> None:
    """A parsed one takes many times as much memory as its text."""
    parser = Parser()
    texts = [
        json.dumps({"type": "record", "name": "R", "doc": str(number) * 900_000, "fields": []}) for number in range(6)
    ]
    found = [parser.parse(SchemaSource("AVRO", text)) for text in texts]
    again = [parser.parse(SchemaSource("AVRO", text)) is before for text, before in zip(texts, found, strict=True)]
    assert again == [False] * 6  # the newest four, each time
    assert parser.parse(SchemaSource("AVRO", texts[5])) is parser.parse(SchemaSource("AVRO", texts[5]))
