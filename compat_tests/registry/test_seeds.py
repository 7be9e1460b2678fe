"""Seeds with schemas, and values by them, which Confluent's deserializers read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from pykbroker.seeding.seed import BadSeed
from pykbroker.testing import Kafka

SEED = """
schemas:
  orders-value:
    schema:
      type: record
      name: Order
      fields: [{name: id, type: long}, {name: note, type: ["null", string]}]
  paid-value:
    - {type: PROTOBUF, schema: 'syntax = "proto3"; message Paid { int64 id = 1; }'}
    - {type: PROTOBUF, schema: 'syntax = "proto3"; message Paid { int64 id = 1; string by = 2; }'}
  line-value: {type: json, schema: {type: object}}
  order-list:
    schema: {type: array, items: Order}
    references: [{name: Order, subject: orders-value, version: 1}]
topics:
  orders:
    - {key: a, value: {id: 7, note: tea}, value_schema: orders-value}
    - {key: a, value: null, value_schema: orders-value}
  paid:
    - {value: {id: 1, by: card}, value_schema: paid-value}
  lines:
    - {key: [{id: 1, note: null}], key_schema: order-list, value: {a: 1}, value_schema: line-value}
"""
CONTEXT = SerializationContext("orders", MessageField.VALUE)


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[Kafka]:
    path = tmp_path / "seed.yaml"
    path.write_text(SEED)
    with Kafka(schema_registry=True, seed=path) as found:
        yield found


def test_values_are_written_by_the_seeds_schemas(kafka: Kafka) -> None:
    for _ in range(2):
        with SchemaRegistryClient({"url": kafka.schema_registry_url}) as client:
            assert client.get_subjects() == ["line-value", "order-list", "orders-value", "paid-value"]
            first, deleted = kafka.records("orders")
            assert AvroDeserializer(client)(first.value, CONTEXT) == {"id": 7, "note": "tea"}
            assert deleted.value is None
            assert client.get_version("paid-value", 2).schema_id == 3
        assert kafka.records("paid", decode=True)[0].decoded == {"id": 1, "by": "card"}
        (line,) = kafka.records("lines", decode=True)
        assert (kafka.schemas.decode(line.key), line.decoded) == ([{"id": 1, "note": None}], {"a": 1})
        assert kafka.schemas.register("another", '"string"') == 6
        kafka.reset()  # seeds are loaded again


def test_it_is_for_brokers_without_schemas(kafka: Kafka) -> None:
    with pytest.raises(BadSeed, match="have schemas already"):
        kafka.seed({"schemas": {"a": {"schema": '"string"'}}})


@pytest.mark.parametrize(
    ("seed", "why"),
    [
        ({"schemas": []}, r"\['schemas'\]: schemas is a list"),
        ({"schemas": {"a": {"schema": "no type"}}}, r"\['a'\]: Invalid schema of type AVRO"),
        ({"schemas": {"a": {"schema": {}, "type": "XML"}}}, "Invalid schema type XML"),
        ({"schemas": {"a": {"scheme": {}}}}, 'no field "scheme" of a schema; did you mean "schema"'),
        ({"schemas": {"a": {"schema": 1}}}, "schema is a number"),
        ({"schemas": {"a": {"schema": {}, "references": [{"name": "x"}]}}}, "a reference is an object"),
        ({"topics": {"t": [{"value": 1, "value_schema": "a"}]}}, r"\['t'\]\[0\]: the seed has no schema a"),
        ({"topics": {"t": [{"value": 1, "value_schema": 5}]}}, "value_schema is a number"),
        (
            {"schemas": {"a": {"schema": '"int"'}}, "topics": {"t": [{"value": "x", "value_schema": "a"}]}},
            r"\['t'\]\[0\]: the value is not of its Avro schema",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(seed: dict[str, Any], why: str) -> None:
    with pytest.raises(BadSeed, match=why):
        Kafka(seed=seed)
