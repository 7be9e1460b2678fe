"""Confluent's registry client with basic authentication, a bearer's token, TLS and certificates, as it is configured with the real one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient, SchemaRegistryError
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from pykbroker.testing import Kafka

ORDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'
USERS = {"admin": "admin-secret", "alice": "alice:secret", "bob": "bob-secret"}
AUTHORISED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin",
}


@pytest.fixture(scope="module")
def secured() -> Iterator[Kafka]:
    with Kafka(AUTHORISED, schema_registry=True, security="sasl_ssl", users=USERS) as found:
        yield found


@pytest.fixture
def authority(secured: Kafka, tmp_path: Path) -> str:
    path = tmp_path / "authority.pem"
    path.write_text(secured.security.authority)
    return str(path)


def url(kafka: Kafka) -> str:
    """The address without the token's user."""
    scheme, _, rest = kafka.schema_registry_url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def allow(kafka: Kafka, user: str, operation: AclOperation, topic: str) -> None:
    client = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, **kafka.security.librdkafka("admin")})
    made = AclBinding(
        ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, f"User:{user}", "*", operation, AclPermissionType.ALLOW
    )
    for future in client.create_acls([made]).values():
        future.result()


def test_a_producer_and_a_consumer_with_rights_on_the_topic(secured: Kafka, authority: str) -> None:
    """Those that Kafka's own access lists give are enough for the registry, too."""
    allow(secured, "alice", AclOperation.WRITE, "orders")
    allow(secured, "bob", AclOperation.READ, "orders")
    common = {"url": url(secured), "ssl.ca.location": authority}
    context = SerializationContext("orders", MessageField.VALUE)
    with SchemaRegistryClient({**common, "basic.auth.user.info": f"alice:{USERS['alice']}"}) as alices:
        value = AvroSerializer(alices, ORDER)({"id": 7}, context)
        with pytest.raises(SchemaRegistryError) as caught:
            alices.register_schema("others-value", Schema(ORDER, "AVRO"))
        assert (caught.value.http_status_code, caught.value.error_code) == (403, 40301)
        with pytest.raises(SchemaRegistryError) as caught:
            alices.set_compatibility(level="NONE")
        assert caught.value.error_code == 40301
    assert secured.topics().get("orders") is None
    producer = Producer({"bootstrap.servers": secured.bootstrap_servers, **secured.security.librdkafka("admin")})
    producer.produce("orders", value)
    assert producer.flush(30) == 0
    with SchemaRegistryClient({**common, "basic.auth.user.info": f"bob:{USERS['bob']}"}) as bobs:
        assert AvroDeserializer(bobs)(value, context) == {"id": 7}
        assert bobs.get_subjects() == ["orders-value"]
        with pytest.raises(SchemaRegistryError, match="may not write"):
            bobs.register_schema("orders-value", Schema(ORDER.replace("Order", "Other"), "AVRO"))
    with SchemaRegistryClient({**common, "basic.auth.user.info": "bob:wrong"}) as wrong:
        with pytest.raises(SchemaRegistryError) as caught:
            wrong.get_subjects()
        assert caught.value.http_status_code == 401


def test_a_bearers_token(secured: Kafka, authority: str) -> None:
    token = {
        "bearer.auth.credentials.source": "STATIC_TOKEN",
        "bearer.auth.token": secured.security.token("admin"),
        "bearer.auth.logical.cluster": "lsrc-1",
        "bearer.auth.identity.pool.id": "pool-1",
    }
    with SchemaRegistryClient({"url": url(secured), "ssl.ca.location": authority, **token}) as client:
        assert client.register_schema("tokens-value", Schema(ORDER, "AVRO")) > 0


def test_another_authority_is_not_trusted(secured: Kafka, tmp_path: Path) -> None:
    with Kafka(security="ssl") as other:
        path = tmp_path / "other.pem"
        path.write_text(other.security.authority)
    settings = {"url": url(secured), "ssl.ca.location": str(path), "basic.auth.user.info": "bob:bob-secret"}
    with SchemaRegistryClient(settings) as client, pytest.raises(Exception, match="CERTIFICATE_VERIFY_FAILED"):
        client.get_subjects()


def test_a_certificate_of_a_client(tmp_path: Path) -> None:
    with Kafka({**AUTHORISED, "super.users": "User:CN=admin"}, schema_registry=True, security="ssl") as kafka:
        made = kafka.security.certificate("admin")
        files = {
            "ssl.ca.location": kafka.security.authority,
            "ssl.certificate.location": made.chain,
            "ssl.key.location": made.key,
        }
        common = {"url": url(kafka)}
        for name, text in files.items():
            path = tmp_path / name
            path.write_text(text)
            common[name] = str(path)
        with SchemaRegistryClient(common) as client:
            assert client.register_schema("orders-value", Schema(ORDER, "AVRO")) == 1
        del common["ssl.certificate.location"], common["ssl.key.location"]
        with SchemaRegistryClient(common) as client, pytest.raises(SchemaRegistryError, match="User:ANONYMOUS"):
            client.register_schema("orders-value", Schema(ORDER, "AVRO"))


def test_a_certificate_that_is_required(tmp_path: Path) -> None:
    with Kafka({"ssl.client.auth": "required"}, schema_registry=True, security="ssl") as kafka:
        made = kafka.security.certificate("admin")
        common = {"url": url(kafka)}
        for name, text in {"ca": kafka.security.authority, "certificate": made.chain, "key": made.key}.items():
            path = tmp_path / name
            path.write_text(text)
            common[f"ssl.{name}.location"] = str(path)
        with SchemaRegistryClient(common) as client:
            assert client.register_schema("orders-value", Schema(ORDER, "AVRO")) == 1
        del common["ssl.certificate.location"], common["ssl.key.location"]
        with SchemaRegistryClient(common) as client, pytest.raises(Exception, match="disconnected"):
            client.get_subjects()
