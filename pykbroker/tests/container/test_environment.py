"""Names of variables as settings."""

from __future__ import annotations

import pytest

from pykbroker.container.environment import setting, settings


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("KAFKA_LOG_RETENTION_HOURS", "log.retention.hours"),
        (
            "KAFKA_LISTENER_NAME_SECURE_SCRAM___SHA___256_SASL_JAAS_CONFIG",
            "listener.name.secure.scram-sha-256.sasl.jaas.config",
        ),
        (
            "KAFKA_LISTENER_NAME_SECURE_SCRAM-SHA-256_SASL_JAAS_CONFIG",
            "listener.name.secure.scram-sha-256.sasl.jaas.config",
        ),
        ("KAFKA_SOME__NAME", "some_name"),
        ("KAFKA_SOME____NAME", "some-.name"),
    ],
)
def test_underscores_are_dots_and_more_of_them_are_something_else(variable: str, name: str) -> None:
    assert setting(variable) == name


def test_variables_of_others_and_of_the_jvm_are_no_settings() -> None:
    environment = {
        "PATH": "/bin", "KAFKA_NODE_ID": "3", "KAFKA_OPTS": "-Da=b", "KAFKA_HEAP_OPTS": "-Xmx1G", "CLUSTER_ID": "x",
        "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://a:1", "XKAFKA_B": "1",
    }  # fmt: skip
    assert list(settings(environment).items()) == [("advertised.listeners", "PLAINTEXT://a:1"), ("node.id", "3")]
