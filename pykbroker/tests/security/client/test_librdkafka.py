"""Settings of Kafka's clients, said to librdkafka: it takes them."""

from __future__ import annotations

from pathlib import Path

import confluent_kafka
import pytest

from pykbroker.security.client.librdkafka import librdkafka
from pykbroker.tests.kit.certificates import as_pkcs12, authority, client, encrypted, trusted_jks, written

JAAS = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="a" password="b \\"c\\"";'


def test_stores_become_pem_in_line(tmp_path: Path) -> None:
    own = client()
    found = librdkafka(
        {
            "security.protocol": "SSL",
            "ssl.truststore.location": written(tmp_path, "trust.jks", trusted_jks(authority().certificate, "secret")),
            "ssl.truststore.password": "secret",
            "ssl.keystore.location": written(tmp_path, "own.p12", as_pkcs12(own, "secret")),
            "ssl.keystore.password": "secret",
            "ssl.endpoint.identification.algorithm": "",
        }
    )
    assert found.pop("ssl.ca.pem").strip() == authority().certificate.strip()
    assert found.pop("ssl.certificate.pem").split() == own.chain.split()
    assert found.pop("ssl.key.pem").split() == own.key.split()
    assert found == {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "none"}


def test_librdkafka_takes_an_encrypted_key_and_a_user() -> None:
    own = client()
    found = librdkafka(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": JAAS,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": authority().certificate,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": encrypted(own.key, "pass"),
            "ssl.keystore.certificate.chain": own.chain,
            "ssl.key.password": "pass",
        }
    )
    assert (found["sasl.username"], found["sasl.password"]) == ("a", 'b "c"')
    confluent_kafka.Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0, **found})


def test_what_it_has_in_another_way() -> None:
    assert librdkafka({}) == {"security.protocol": "PLAINTEXT"}
    with pytest.raises(ValueError, match="OAUTHBEARER"):
        librdkafka({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"})
