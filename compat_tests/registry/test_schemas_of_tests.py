"""``kafka.schemas`` and ``records(decode=True)`` beside Confluent's own serializers of all three types."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from pykbroker.client.errors import ClientError
from pykbroker.testing import Kafka

PLACED = {
    "type": "record",
    "name": "Placed",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
AT = datetime(2026, 11, 27, 12, 30, tzinfo=UTC)
PAID = """
syntax = "proto3";
message Paid { int64 id = 1; message Part { string by = 1; } Part part = 2; }
"""
CONTEXT = SerializationContext("orders", MessageField.VALUE)


def test_values_of_confluents_serializer_are_decoded_and_the_other_way(kafka: Kafka) -> None:
    kafka.schemas.register("orders-value", PLACED)
    with SchemaRegistryClient({"url": kafka.schema_registry_url}) as client:
        serialize = AvroSerializer(client, conf={"auto.register.schemas": False, "use.latest.version": True})
        value = {"id": 7, "at": AT}
        written = serialize(value, CONTEXT)
        kafka.produce("orders", written)
        kafka.produce("orders", None)
        kafka.produce("orders", kafka.schemas.encode("orders-value", value))
        assert [record.decoded for record in kafka.records("orders", decode=True)] == [value, None, value]
        assert kafka.records("orders")[2].value == written
        assert AvroDeserializer(client)(kafka.schemas.encode("orders-value", value), CONTEXT) == value


def test_json_and_protobuf(kafka: Kafka) -> None:
    schemas = kafka.schemas
    schemas.register("a", {"type": "object", "title": "Named", "properties": {"name": {"type": "string"}}}, "JSON")
    written = schemas.encode("a", {"name": "tea"})
    with SchemaRegistryClient({"url": kafka.schema_registry_url}) as client:
        assert JSONDeserializer(None, schema_registry_client=client)(written, CONTEXT) == {"name": "tea"}
    assert schemas.decode(written) == {"name": "tea"}
    assert schemas.register("b", PAID, "protobuf") == 2
    written = schemas.encode("b", {"id": 4, "part": {"by": "card"}})
    assert written[:6] == b"\0\0\0\0\2\0"
    assert schemas.decode(written) == {"id": 4, "part": {"by": "card"}}
    assert schemas.decode(b"\0\0\0\0\2\4\0\0\n\4card") == {"by": "card"}  # the path of the message within
    assert schemas.subjects() == ["a", "b"]


def test_references(kafka: Kafka) -> None:
    schemas = kafka.schemas
    schemas.register("placed", PLACED)
    order = {"type": "record", "name": "Order", "fields": [{"name": "placed", "type": "Placed"}]}
    number = schemas.register("orders-value", order, references=[("Placed", "placed", 1)])
    found = schemas.get("orders-value")
    assert (found.id, found.version, found.type, found.references) == (number, 1, "AVRO", (("Placed", "placed", 1),))
    value = {"placed": {"id": 1, "at": AT}}
    assert schemas.decode(schemas.encode("orders-value", value)) == value


def test_ids_have_another_meaning_after_a_reset(kafka: Kafka) -> None:
    kafka.schemas.register("a", {"type": "string"}, "JSON")
    kafka.reset()
    kafka.schemas.register("a", '"string"')
    kafka.produce("orders", kafka.schemas.encode("a", "tea"))
    assert kafka.records("orders", decode=True)[0].decoded == "tea"


def test_what_does_not_fit_is_said(kafka: Kafka) -> None:
    schemas = kafka.schemas
    schemas.register("orders-value", PLACED)
    schemas.register("paid-value", PAID, "PROTOBUF")
    with pytest.raises(ValueError, match="not of its Avro schema"):
        schemas.encode("orders-value", {"id": "seven"})
    with pytest.raises(ValueError, match="the value is no Paid"):
        schemas.encode("paid-value", {"id": "seven"})
    with pytest.raises(ValueError, match="not of its Avro schema"):
        schemas.decode(b"\0\0\0\0\1\x80")
    with pytest.raises(ValueError, match="bytes are left over"):
        schemas.decode(b"\0\0\0\0\1\2\2\2")
    with pytest.raises(ValueError, match="no message at the path 3"):
        schemas.decode(b"\0\0\0\0\2\2\6")
    kafka.produce("orders", b"plain")
    with pytest.raises(ValueError, match="does not begin with a zero byte"):
        kafka.records("orders", decode=True)
    with pytest.raises(ClientError, match="40401"):
        schemas.get("nope")


def test_without_a_registry() -> None:
    with Kafka() as kafka, pytest.raises(RuntimeError, match="schema_registry=True"):
        _ = kafka.schemas


def test_of_a_broker_in_a_process_of_its_own() -> None:
    with Kafka(schema_registry=True, process=True) as kafka:
        kafka.schemas.register("a", '"string"')
        assert kafka.schemas.decode(kafka.schemas.encode("a", "tea")) == "tea"
