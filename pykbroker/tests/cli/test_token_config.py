"""Settings of a client that signs in by a token: all that is not its owner's stays."""

from __future__ import annotations

from pykbroker.cli.token_config import by_token

MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


def test_how_to_connect_stays_and_who_it_is_does_not() -> None:
    settings = {
        "bootstrap.servers": "old:1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": "secret",
        "ssl.truststore.location": "/ca.pem",
        "ssl.keystore.location": "/alice.pem",
        "ssl.key.password": "secret",
        "client.id": "job",
    }
    assert by_token(settings, "new:2", "id", b"\xff\xfe") == {
        "bootstrap.servers": "new:2",
        "security.protocol": "SASL_SSL",
        "ssl.truststore.location": "/ca.pem",
        "client.id": "job",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{MODULE} required tokenauth="true" username="id" password="//4=";',
    }


def test_a_mechanism_that_is_none_of_scram_is_replaced() -> None:
    assert by_token({"sasl.mechanism": "PLAIN"}, "b:1", "id", b"")["sasl.mechanism"] == "SCRAM-SHA-256"
