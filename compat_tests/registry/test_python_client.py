"""python-schema-registry-client: the client and its message serializer."""

from __future__ import annotations

import pytest
from schema_registry.client import SchemaRegistryClient, errors, schema
from schema_registry.serializers import AvroMessageSerializer, JsonMessageSerializer

from pykbroker.testing import Kafka

USER = {"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}
OLDER = {**USER, "fields": [*USER["fields"], {"name": "age", "type": "int"}]}


@pytest.fixture
def client(kafka: Kafka) -> SchemaRegistryClient:
    return SchemaRegistryClient(url=kafka.schema_registry_url)


def test_the_life_of_a_subject(client: SchemaRegistryClient) -> None:
    user = schema.AvroSchema(USER)
    number = client.register("user", user)
    assert client.register("user", user) == number
    assert client.get_by_id(number) == user
    assert client.check_version("user", user).version == 1
    assert client.test_compatibility("user", schema.AvroSchema(OLDER)) is False
    with pytest.raises(errors.ClientError) as caught:
        client.register("user", schema.AvroSchema(OLDER))
    assert caught.value.http_code == 409
    assert client.update_compatibility("NONE", "user")
    assert client.get_compatibility("user") == "NONE"
    client.register("user", schema.AvroSchema(OLDER))
    assert client.get_versions("user") == [1, 2]
    assert client.get_schema("user").version == 2
    assert client.get_subjects() == ["user"]
    assert client.delete_version("user", 1) == 1
    assert client.delete_subject("user") == [2]


def test_serializers(client: SchemaRegistryClient) -> None:
    value = {"name": "Ada"}
    avro = AvroMessageSerializer(client)
    assert avro.decode_message(avro.encode_record_with_schema("a", schema.AvroSchema(USER), value)) == value
    person = schema.JsonSchema({"type": "object", "properties": {"name": {"type": "string"}}})
    json = JsonMessageSerializer(client)
    assert json.decode_message(json.encode_record_with_schema("j", person, value)) == value
