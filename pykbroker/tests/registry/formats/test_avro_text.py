"""As Java's library writes a schema."""

from __future__ import annotations

import pytest

from pykbroker.registry.formats.avro import parse


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ('{"type": "string"}', '"string"'),
        ('{"type": "string", "avro.java.string": "String"}', '{"type":"string","avro.java.string":"String"}'),
        ('{"type": {"type": "string"}}', None),
        (
            '{"fields": [{"type": {"type": "int"}, "order": "ascending", "name": "a"}], "name": "x.R", "type": "record", "doc": "d"}',
            '{"type":"record","name":"R","namespace":"x","doc":"d","fields":[{"name":"a","type":"int"}]}',
        ),
        (
            (
                '{"type":"record","name":"R","namespace":"x","fields":[{"name":"e","type":{"type":"enum","name":"y.E","symbols":["A"],"default":"A"}},'
                '{"name":"f","type":"y.E","default":"A","z":1},{"name":"r","type":["null","x.R"],"aliases":["q"]}],"aliases":["S"],"custom":true}'
            ),
            (
                '{"type":"record","name":"R","namespace":"x","fields":[{"name":"e","type":{"type":"enum","name":"E","namespace":"y","symbols":["A"],'
                '"default":"A"}},{"name":"f","type":"y.E","default":"A","z":1},{"name":"r","type":["null","R"],"aliases":["q"]}],"custom":true,'
                '"aliases":["S"]}'
            ),
        ),
    ],
)
def test_the_stored_text(text: str, stored: str | None) -> None:
    try:
        found: str | None = parse(text, {}).text
    except ValueError:
        found = None
    assert found == stored


def test_normalized_texts_have_other_attributes_in_order() -> None:
    one = parse('{"type":"int","b":1,"a":2}', {}, normalize=True).text
    assert one == parse('{"a":2,"type":"int","b":1}', {}, normalize=True).text == '{"type":"int","a":2,"b":1}'
    assert parse('{"type":"int","b":1,"a":2}', {}).text == '{"type":"int","b":1,"a":2}'
