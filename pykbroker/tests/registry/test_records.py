"""The format of Confluent's registry. The texts are those of its public documentation and of topics that it wrote."""

from __future__ import annotations

import json

import pytest

from pykbroker.registry.records import (
    ClearSubjectKey,
    ConfigKey,
    ContextKey,
    DeleteSubjectKey,
    Key,
    ModeKey,
    SchemaKey,
    Unreadable,
    config_of,
    decode,
    encode,
    schema_value,
    version_of,
)
from pykbroker.registry.schema import Reference, Schema, Version

KEYS: list[tuple[Key, str]] = [
    (SchemaKey("s", 2), '{"keytype":"SCHEMA","subject":"s","version":2,"magic":1}'),
    (ConfigKey(None), '{"keytype":"CONFIG","subject":null,"magic":0}'),
    (ConfigKey("s"), '{"keytype":"CONFIG","subject":"s","magic":0}'),
    (ModeKey("s"), '{"keytype":"MODE","subject":"s","magic":0}'),
    (DeleteSubjectKey("s"), '{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}'),
    (ClearSubjectKey(None), '{"keytype":"CLEAR_SUBJECT","subject":null,"magic":0}'),
    (ContextKey(".c"), '{"keytype":"CONTEXT","tenant":"default","context":".c","magic":0}'),
]


@pytest.mark.parametrize(("key", "text"), KEYS)
def test_keys(key: Key, text: str) -> None:
    assert encode((key, None)) == (text.encode(), None)
    assert decode(text.encode(), None) == (key, None)
    assert decode(text.encode(), b'{"subject":"s"}') == (key, {"subject": "s"})


def test_a_schema() -> None:
    schema = Schema('{"type":"string"}', "JSON", (Reference("r", "t", 1),), '{"properties":{"a":"b"}}')
    found = Version("s", 1, 7, schema, schema.guid())
    key, value = encode((SchemaKey("s", 1), schema_value(found)))
    assert value is not None
    assert list(json.loads(value)) == [
        *("subject", "version", "id", "guid", "schemaType", "references", "metadata", "schema", "deleted")
    ]
    decoded = decode(key, value)
    assert decoded is not None
    assert decoded[1] is not None
    assert version_of(decoded[1]) == found


def test_whatever_this_registry_writes_it_reads() -> None:
    """The largest body of a request is of 4 MiB."""
    long = "x" * 3_500_000
    for schema in (Schema(long), Schema('"int"', references=(Reference(long, "s", 1),))):
        found = Version("s", 1, 7, schema, schema.guid())
        decoded = decode(*encode((SchemaKey("s", 1), schema_value(found))))
        assert decoded is not None
        assert decoded[1] is not None
        assert version_of(decoded[1]) == found


def test_a_record_of_an_earlier_registry() -> None:
    value = b'{"subject":"s","version":1,"id":1,"schema":"\\"string\\"","deleted":false}'
    decoded = decode(b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}', value)
    assert decoded is not None
    assert decoded[1] is not None
    found = version_of(decoded[1])
    assert (found.schema, found.guid) == (Schema('"string"'), Schema('"string"').guid())


@pytest.mark.parametrize("key", [b'{"keytype":"NOOP","magic":0}', b'{"keytype":"NEW","magic":9}', b"{}"])
def test_what_others_add_is_left_alone(key: bytes) -> None:
    assert decode(key, b"anything") is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, None),
        (b"", None),
        (b"[1]", None),
        (b"\xff", None),
        (b"[" * 100_000, None),
        (b'{"keytype":"SCHEMA","subject":1,"version":1}', None),
        (b'{"keytype":"SCHEMA","subject":"s","version":"1"}', None),
        (b'{"keytype":"CONFIG","subject":null}', b"no json"),
    ],
)
def test_what_is_no_record_is_said(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(Unreadable):
        decode(key, value)


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"subject": "s", "version": -1, "id": 1},
        {"subject": "s", "version": 1, "id": -1},
        {"subject": "s", "version": 1, "id": None},
        {"subject": "s", "version": 1, "id": 1, "references": [1]},
    ],
)
def test_a_value_that_is_no_schema_is_said(value: dict[str, object]) -> None:
    with pytest.raises(Unreadable):
        version_of(value)


def test_a_configuration_of_others_is_taken_as_far_as_it_is_known() -> None:
    said = {"compatibilityLevel": "LOOSE", "alias": 3, "normalize": True, "new": 1}
    assert config_of(said) == {"normalize": True, "new": 1}
    assert config_of({"compatibilityLevel": None}) == {}
    assert config_of({"compatibilityLevel": "FULL"}) == {"compatibilityLevel": "FULL"}
