"""Stock clients over SSL, SASL_PLAINTEXT and SASL_SSL, with every mechanism: a record there and back, and a wrong password."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass

import aiokafka
import aiokafka.abc
import confluent_kafka
import kafka
import kafka.net.sasl.oauth
import pytest

from compat_tests.security.listeners import USERS, Listeners
from compat_tests.security.tokens import now, unsecured
from compat_tests.security.users import SCRAM_USERS

RECORD = b"x" * 100_000
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@dataclass(frozen=True)
class Way:
    """How a client comes in."""

    listener: str
    protocol: str
    mechanism: str = ""
    certificate: bool = False

    @property
    def user(self) -> tuple[str, str]:
        return ("alice", USERS["alice"]) if self.mechanism == "PLAIN" else ("bob", SCRAM_USERS["bob"])

    def __str__(self) -> str:
        return f"{self.listener}-{self.mechanism}" if self.mechanism else self.listener


WAYS = [
    Way("SSL", "SSL"),
    Way("MUTUAL", "SSL", certificate=True),
    *(Way(protocol, protocol, mechanism) for protocol in ("SASL_PLAINTEXT", "SASL_SSL") for mechanism in _MECHANISMS),
]
WITH_PASSWORD = [way for way in WAYS if way.mechanism]


def librdkafka(way: Way, secured: Listeners, password: str | None = None) -> dict[str, object]:
    settings: dict[str, object] = {
        "bootstrap.servers": secured.address(way.listener),
        "security.protocol": way.protocol,
        "ssl.ca.location": str(secured.files.authority),
    }
    if way.mechanism:
        name, right = way.user
        settings |= {"sasl.mechanism": way.mechanism, "sasl.username": name, "sasl.password": password or right}
    if way.certificate:
        settings |= {"ssl.certificate.location": str(secured.files.alice), "ssl.key.location": str(secured.files.alice)}
    return settings


def python(way: Way, secured: Listeners, password: str | None = None) -> dict[str, object]:
    """For kafka-python and aiokafka."""
    settings: dict[str, object] = {
        "bootstrap_servers": secured.address(way.listener),
        "security_protocol": way.protocol,
    }
    if way.mechanism:
        name, right = way.user
        settings |= {
            "sasl_mechanism": way.mechanism,
            "sasl_plain_username": name,
            "sasl_plain_password": password or right,
        }
    if "SSL" in way.protocol:
        context = ssl.create_default_context(cafile=str(secured.files.authority))
        if way.certificate:
            context.load_cert_chain(secured.files.alice)
        settings["ssl_context"] = context
    return settings


def test_librdkafka_with_a_token_that_is_renewed(secured: Listeners, name) -> None:
    """A session ends with its token: the client asks for another one, and goes on."""
    given: list[str] = []

    def give(_: str) -> tuple[str, float]:
        given.append(unsecured(exp=now() + 4))
        return given[-1], now() + 4

    settings = {
        "bootstrap.servers": secured.address("TOKENS"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": give,
    }
    producer, topic = confluent_kafka.Producer(settings), name()
    while len(given) < 3:
        producer.produce(topic, RECORD)
        assert producer.flush(120) == 0
        producer.poll(0.2)


@pytest.mark.parametrize("listener", ["TOKENS", "SIGNED"])
def test_kafka_python_with_a_token(secured: Listeners, name, listener: str) -> None:
    class Tokens(kafka.net.sasl.oauth.AbstractTokenProvider):
        def token(self) -> str:
            return unsecured() if listener == "TOKENS" else secured.issuer.sign("ec", "ES256")

    producer = kafka.KafkaProducer(
        bootstrap_servers=secured.address(listener),
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="OAUTHBEARER",
        sasl_oauth_token_provider=Tokens(),
    )
    producer.send(name(), RECORD).get(60)
    producer.close()


def test_aiokafka_with_a_token(secured: Listeners, name) -> None:
    class Tokens(aiokafka.abc.AbstractTokenProvider):
        async def token(self) -> str:
            return secured.issuer.sign()

    async def send() -> None:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=secured.address("SIGNED"),
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="OAUTHBEARER",
            sasl_oauth_token_provider=Tokens(),
        )
        await producer.start()
        await producer.send_and_wait(name(), RECORD)
        await producer.stop()

    asyncio.run(asyncio.wait_for(send(), 120))


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_librdkafka(secured: Listeners, name, way: Way) -> None:
    topic, settings = name(), librdkafka(way, secured)
    producer = confluent_kafka.Producer(settings)
    producer.produce(topic, RECORD)
    assert producer.flush(120) == 0
    consumer = confluent_kafka.Consumer({**settings, "group.id": name("g"), "auto.offset.reset": "earliest"})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    message = consumer.poll(60)
    assert message is not None
    assert message.value() == RECORD
    consumer.close()


@pytest.mark.parametrize("way", WITH_PASSWORD, ids=str)
def test_librdkafka_with_a_wrong_password(secured: Listeners, way: Way) -> None:
    seen: list[confluent_kafka.KafkaError] = []
    producer = confluent_kafka.Producer({**librdkafka(way, secured, "wrong"), "error_cb": seen.append})
    while not any(error.code() == confluent_kafka.KafkaError._AUTHENTICATION for error in seen):
        producer.poll(1)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_kafka_python(secured: Listeners, name, way: Way) -> None:
    topic, settings = name(), python(way, secured)
    producer = kafka.KafkaProducer(**settings)
    producer.send(topic, RECORD).get(60)
    producer.close()
    consumer = kafka.KafkaConsumer(topic, **settings, auto_offset_reset="earliest", consumer_timeout_ms=60_000)
    assert next(consumer).value == RECORD
    consumer.close()


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_aiokafka(secured: Listeners, name, way: Way) -> None:
    async def there_and_back() -> None:
        topic, settings = name(), python(way, secured)
        producer = aiokafka.AIOKafkaProducer(**settings)
        await producer.start()
        await producer.send_and_wait(topic, RECORD)
        await producer.stop()
        consumer = aiokafka.AIOKafkaConsumer(topic, **settings, auto_offset_reset="earliest")
        await consumer.start()
        assert (await consumer.getone()).value == RECORD
        await consumer.stop()

    asyncio.run(asyncio.wait_for(there_and_back(), 120))
