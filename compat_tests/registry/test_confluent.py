"""confluent-kafka-python: its registry client, and its serializers of all three types through the broker."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from pykbroker.testing import Kafka

USER = '{"type":"record","name":"User","fields":[{"name":"name","type":"string"}]}'
OLDER = '{"type":"record","name":"User","fields":[{"name":"name","type":"string"},{"name":"age","type":"int"}]}'


@pytest.fixture
def client(kafka: Kafka) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": kafka.schema_registry_url}) as found:
        yield found


def test_the_life_of_a_subject(client: SchemaRegistryClient) -> None:
    schema = Schema(USER, "AVRO")
    number = client.register_schema("user-value", schema)
    assert client.register_schema("user-value", schema) == number
    assert client.get_schema(number).schema_str == USER
    assert client.lookup_schema("user-value", schema).version == 1
    assert client.test_compatibility("user-value", Schema(OLDER, "AVRO")) is False
    with pytest.raises(SchemaRegistryError) as caught:
        client.register_schema("user-value", Schema(OLDER, "AVRO"))
    assert caught.value.http_status_code == 409
    client.set_compatibility("user-value", "FORWARD")
    assert client.get_compatibility("user-value") == "FORWARD"
    client.register_schema("user-value", Schema(OLDER, "AVRO"))
    assert client.get_versions("user-value") == [1, 2]
    assert client.get_latest_version("user-value").version == 2
    assert client.delete_version("user-value", 1) == 1
    assert client.delete_subject("user-value") == [2]
    assert client.get_subjects() == []
    assert client.delete_subject("user-value", permanent=True) == [1, 2]


def test_what_is_missing_has_its_code(client: SchemaRegistryClient) -> None:
    for ask, code in (
        (lambda: client.get_latest_version("none"), 40401),
        (lambda: client.get_schema(99), 40403),
        (lambda: client.get_version("none", 1), 40401),
        (lambda: client.register_schema("s", Schema("{", "AVRO")), 42201),
    ):
        with pytest.raises(SchemaRegistryError) as caught:
            ask()
        assert caught.value.error_code == code


def test_clients_that_register_at_once_get_one_id(client: SchemaRegistryClient, kafka: Kafka) -> None:
    found: list[int] = []

    def register() -> None:
        mine = SchemaRegistryClient({"url": kafka.schema_registry_url})
        found.extend(mine.register_schema(f"s{number}", Schema(USER, "AVRO")) for number in range(3))

    threads = [threading.Thread(target=register) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [1] * 24
    assert all(client.get_versions(f"s{number}") == [1] for number in range(3))


def through(
    kafka: Kafka, topic: str, value: Any, serialize: Callable[..., Any], deserialize: Callable[..., Any]
) -> Any:
    """A value that was produced, consumed and read back."""
    context = SerializationContext(topic, MessageField.VALUE)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce(topic, serialize(value, context))
    assert producer.flush(30) == 0
    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap_servers, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    message = consumer.poll(30)
    consumer.close()
    assert message is not None
    assert message.error() is None
    return deserialize(message.value(), context)


def test_avro(client: SchemaRegistryClient, kafka: Kafka) -> None:
    value = {"name": "Ada"}
    assert through(kafka, "avro", value, AvroSerializer(client, USER), AvroDeserializer(client)) == value
    assert client.get_subjects() == ["avro-value"]


def test_json(client: SchemaRegistryClient, kafka: Kafka) -> None:
    schema = '{"title":"User","type":"object","properties":{"name":{"type":"string"}}}'
    value = {"name": "Ada"}
    assert through(kafka, "json", value, JSONSerializer(schema, client), JSONDeserializer(schema)) == value


def test_protobuf_with_an_import(client: SchemaRegistryClient, kafka: Kafka) -> None:
    pool = descriptor_pool.DescriptorPool()
    point = descriptor_pb2.FileDescriptorProto(name="point.proto", package="p", syntax="proto3")
    point.message_type.add(name="Point").field.add(name="x", number=1, type="TYPE_INT32", label="LABEL_OPTIONAL")
    line = descriptor_pb2.FileDescriptorProto(
        name="line.proto", package="p", syntax="proto3", dependency=["point.proto"]
    )
    line.message_type.add(name="Line").field.add(
        name="from_point", number=1, type="TYPE_MESSAGE", type_name=".p.Point", label="LABEL_OPTIONAL"
    )
    for each in (point, line):
        pool.Add(each) if hasattr(pool, "Add") else pool.AddSerializedFile(each.SerializeToString())
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName("p.Line"))
    value = kind()
    value.from_point.x = 7
    config = {"use.deprecated.format": False}
    found = through(kafka, "proto", value, ProtobufSerializer(kind, client, config), ProtobufDeserializer(kind, config))
    assert found.from_point.x == 7
    assert client.get_subjects() == ["point.proto", "proto-value"]
    assert client.get_latest_version("proto-value").schema.references[0].subject == "point.proto"


def test_references_of_avro(client: SchemaRegistryClient, kafka: Kafka) -> None:
    client.register_schema(
        "point", Schema('{"type":"record","name":"a.Point","fields":[{"name":"x","type":"int"}]}', "AVRO")
    )
    references = [SchemaReference("a.Point", "point", 1)]
    line = Schema('{"type":"record","name":"Line","fields":[{"name":"from","type":"a.Point"}]}', "AVRO", references)
    value = {"from": {"x": 7}}
    assert through(kafka, "refs", value, AvroSerializer(client, line), AvroDeserializer(client)) == value


def test_basic_authentication_and_tokens() -> None:
    with Kafka(schema_registry=True, security="sasl_plaintext", users={"alice": "secret"}) as kafka:
        where = f"http://{kafka.schema_registry_url.rpartition('@')[2]}"
        token = kafka.http_token
        for more in (
            {"basic.auth.user.info": f"anybody:{token}"},
            {"basic.auth.user.info": "alice:secret"},
            {
                "bearer.auth.credentials.source": "STATIC_TOKEN",
                "bearer.auth.token": token,
                "bearer.auth.logical.cluster": "l",
                "bearer.auth.identity.pool.id": "p",
            },
        ):
            assert SchemaRegistryClient({"url": where, **more}).get_subjects() == []
        with pytest.raises(SchemaRegistryError) as caught:
            SchemaRegistryClient({"url": where, "basic.auth.user.info": "alice:wrong"}).get_subjects()
        assert caught.value.http_status_code == 401


def test_an_open_transaction_on_the_topic_hides_no_registration(client: SchemaRegistryClient, kafka: Kafka) -> None:
    first = client.register_schema("a", Schema('"string"', "AVRO"))
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "stranger"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("_schemas", b"{}", b'{"keytype":"NOOP","magic":0}')
    assert producer.flush(30) == 0
    second = client.register_schema("b", Schema('"int"', "AVRO"))
    third = client.register_schema("c", Schema('"long"', "AVRO"))
    producer.abort_transaction(30)
    assert len({first, second, third}) == 3
    fresh = SchemaRegistryClient({"url": kafka.schema_registry_url})
    assert fresh.get_subjects() == ["a", "b", "c"]
