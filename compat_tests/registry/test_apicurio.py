"""Serializers of Apicurio's registry for Java in Confluent's frame (``apicurio.registry.as-confluent``), beside those of
confluent-kafka-python.

The cases are in ``apicurio/ApicurioCases.java``. Confluent's own serializers for Java are in no public repository of artifacts that was reached.
"""

from __future__ import annotations

from pathlib import Path

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from compat_tests.harness.java import compile_java, java_command
from compat_tests.registry.test_other_languages import run
from pykbroker.testing import Kafka

HERE = Path(__file__).parent / "apicurio"
PERSON = (HERE / "person.json").read_text()
ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}


def test_serializers(kafka: Kafka) -> None:
    kafka.schemas.register("avro-of-others-value", ORDER)
    kafka.produce("avro-of-others", kafka.schemas.encode("avro-of-others-value", {"id": 9}))
    kafka.schemas.register("json-of-others-value", PERSON, "JSON")
    kafka.produce("json-of-others", kafka.schemas.encode("json-of-others-value", {"name": "Bob"}))
    classes = compile_java([HERE / "ApicurioCases.java"], "apicurio")
    command = java_command("ApicurioCases", "apicurio", classes=classes)
    command[command.index("-cp") + 1] += f":{HERE}"
    run([*command, kafka.bootstrap_servers], kafka.schema_registry_url)
    assert kafka.schemas.subjects() == [
        f"{name}-value" for name in ("avro-by-content", "avro-of-others", "avro", "json-of-others", "json", "protobuf")
    ]
    with SchemaRegistryClient({"url": kafka.schema_registry_url}) as client:
        (order, *same), (person,) = kafka.records("avro"), kafka.records("json")
        assert [each.value for each in same] == [order.value] * 3
        assert AvroDeserializer(client)(order.value, SerializationContext("avro", MessageField.VALUE)) == {"id": 7}
        read = JSONDeserializer(None, schema_registry_client=client)
        assert read(person.value, SerializationContext("json", MessageField.VALUE)) == {"name": "Ada"}
