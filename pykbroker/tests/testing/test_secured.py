"""Brokers with security for tests, through stock clients."""

from __future__ import annotations

import asyncio

import confluent_kafka
import kafka as kafka_python
import pytest
from confluent_kafka import Producer

from pykbroker.security.ready_made import PROTOCOLS
from pykbroker.testing import Kafka
from pykbroker.tests.kit.leftovers import collect_leftovers

leftovers = pytest.fixture(autouse=True)(collect_leftovers)


def send(kafka: Kafka, settings: dict[str, object], limit_s: float = 20) -> list[confluent_kafka.KafkaError]:
    """The errors of a client that sends one record; none where it got in."""
    errors: list[confluent_kafka.KafkaError] = []
    base = {"bootstrap.servers": kafka.bootstrap_servers, "error_cb": errors.append, "log.connection.close": False}
    producer = Producer({**base, **settings})
    producer.produce("t", value=b"x")
    for _ in range(int(limit_s / 0.1)):
        if not producer.flush(0.1):
            return []
        if errors:
            break
    producer.purge()
    producer.flush(1)
    return errors


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_settings_of_clients_let_them_in(protocol: str) -> None:
    with Kafka(security=protocol) as kafka:
        assert send(kafka, kafka.security.librdkafka()) == []
        producer = kafka_python.KafkaProducer(
            bootstrap_servers=kafka.bootstrap_servers, **kafka.security.python(), api_version=(3, 9)
        )
        producer.send("t", b"y").get(20)
        producer.close()
        assert [record.value for record in kafka.records("t")] == [b"x", b"y"]


def test_who_has_a_wrong_password_or_no_certificate_that_is_good_stays_out() -> None:
    with Kafka(security="sasl_ssl", users={"bob": 'quoted "and" \\ escaped'}) as kafka:
        assert send(kafka, kafka.security.librdkafka("bob")) == []
        assert send(kafka, {**kafka.security.librdkafka("bob"), "sasl.password": "wrong"})
        with pytest.raises(ValueError, match="there is no user 'alice'"):
            kafka.security.librdkafka("alice")
    with Kafka(security="ssl") as kafka:
        late = kafka.security.certificate("alice", days=-1)
        settings = kafka.security.librdkafka() | {"ssl.certificate.pem": late.chain, "ssl.key.pem": late.key}
        assert send(kafka, settings)


def test_a_certificate_of_the_broker_runs_out_and_is_renewed() -> None:
    with Kafka(security="ssl") as kafka:
        kafka.renew_certificate(days=-1)
        assert send(kafka, kafka.security.librdkafka())
        kafka.renew_certificate()
        assert send(kafka, kafka.security.librdkafka()) == []


def test_a_token_runs_out() -> None:
    with Kafka(security="sasl_plaintext") as kafka:
        for seconds, good in ((600, True), (-10, False)):
            token = kafka.security.token("alice", seconds)
            errors = send(
                kafka,
                {
                    "security.protocol": "SASL_PLAINTEXT",
                    "sasl.mechanism": "OAUTHBEARER",
                    "oauth_cb": lambda _, token=token: (token, 4_000_000_000),
                },
            )
            assert (errors == []) == good


def test_what_is_no_security_is_an_error() -> None:
    with pytest.raises(ValueError, match="security is 'tls'; it must be one of ssl, sasl_plaintext, sasl_ssl"):
        Kafka(security="tls")
    with Kafka() as kafka, pytest.raises(RuntimeError, match="this broker has no security"):
        _ = kafka.security


def test_a_process_of_its_own_and_a_reset_keep_it() -> None:
    with Kafka(security="sasl_ssl", process=True) as kafka:
        assert send(kafka, kafka.security.librdkafka()) == []
    with Kafka(security="sasl_ssl", brokers=2) as kafka:
        kafka.reset()
        assert send(kafka, kafka.security.librdkafka()) == []


@pytest.mark.kafka(security="sasl_ssl", users={"carol": "c"})
def test_the_marker_says_it(kafka: Kafka) -> None:
    assert send(kafka, kafka.security.librdkafka("carol")) == []


def test_aiokafka_comes_in() -> None:
    import aiokafka

    async def scenario(kafka: Kafka) -> None:
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers, **kafka.security.python())
        await producer.start()
        await producer.send_and_wait("t", b"x")
        await producer.stop()

    with Kafka(security="sasl_ssl") as kafka:
        asyncio.run(scenario(kafka))
