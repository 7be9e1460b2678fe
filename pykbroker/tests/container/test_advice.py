"""What is said of variables of other images, and of this one's that have no effect."""

from __future__ import annotations

import pytest

from pykbroker.container import advice
from pykbroker.container.environment import setting


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"KAFKA_CREATE_TOPICS": "a:1:1"}, "KAFKA_CREATE_TOPICS creates no topics: run kafka-topics --create"),
        ({"KAFKA_JMX_PORT": "9999"}, "metrics are at /metrics"),
        ({"KAFKA_CFG_NODE_ID": "1"}, "KAFKA_CFG_NODE_ID is a variable of another image: write KAFKA_NODE_ID"),
        ({"KAFKA_LOG4J_ROOT_LOGLEVEL": "LOUD"}, "KAFKA_LOG4J_ROOT_LOGLEVEL=LOUD is not a level: write one of "),
        (
            {
                "KAFKA_LISTENERS": "SASL_SSL://:9093,IN://:9092",
                "KAFKA_LISTENER_NAME_SASL_SSL_PLAIN_SASL_JAAS_CONFIG": "x",
            },
            "since _ is a dot: write KAFKA_LISTENER_NAME_SASL__SSL_PLAIN_SASL_JAAS_CONFIG",
        ),
    ],
)
def test_what_has_no_effect(environment: dict[str, str], says: str) -> None:
    (said,) = advice.on(environment)
    assert says in said


def test_nothing_is_said_of_what_has_an_effect_or_none_in_any_image() -> None:
    environment = {
        "KAFKA_LISTENERS": "SASL_SSL://:9093,IN://:9092",
        "KAFKA_LISTENER_NAME_SASL__SSL_PLAIN_SASL_JAAS_CONFIG": "x",
        "KAFKA_LISTENER_NAME_IN_SSL_KEYSTORE_TYPE": "PEM",
        "KAFKA_HEAP_OPTS": "-Xmx1g",
        "KAFKA_OPTS": "-Xss1m -Djava.security.auth.login.config=/etc/kafka/jaas.conf",
        "KAFKA_CREATE_TOPICS": "",
        "KAFKA_LOG4J_ROOT_LOGLEVEL": "info",
        "PATH": "/bin",
    }
    assert list(advice.on(environment)) == []


@pytest.mark.parametrize("name", ["log.dirs", "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config", "node.id"])
def test_the_variable_of_a_setting(name: str) -> None:
    assert setting(advice.variable(name)) == name


def test_an_error_names_the_variables_of_its_settings() -> None:
    message = "Invalid value  for configuration log.retention.ms: Not a number of type LONG"
    assert advice.where(message, {"KAFKA_LOG_RETENTION_MS": ""}) == f"{message} (KAFKA_LOG_RETENTION_MS)"
    assert advice.where(message, {"KAFKA_LOG_DIRS": "x"}) == message
