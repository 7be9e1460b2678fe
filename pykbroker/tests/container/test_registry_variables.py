"""Variables of Confluent's image of its registry, as a compose file has them, on the broker's service."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.cli.serve_options import COMPATIBILITIES, parser, registry_options
from pykbroker.config.broker import BrokerConfig
from pykbroker.config.setting import ConfigError
from pykbroker.container import advice, options
from pykbroker.container.registry_variables import arguments
from pykbroker.registry.compatibility import LEVELS

COMPOSE = {
    "SCHEMA_REGISTRY_HOST_NAME": "schema-registry",
    "SCHEMA_REGISTRY_LISTENERS": "http://0.0.0.0:8081",
    "SCHEMA_REGISTRY_KAFKASTORE_BOOTSTRAP_SERVERS": "kafka:9092",
}
#: What Kubernetes sets beside a service of that name.
KUBERNETES = {
    "SCHEMA_REGISTRY_PORT": "tcp://10.0.0.1:8081",
    "SCHEMA_REGISTRY_PORT_8081_TCP": "tcp://10.0.0.1:8081",
    "SCHEMA_REGISTRY_SERVICE_HOST": "10.0.0.1",
}


def test_a_compose_file_keeps_its_lines() -> None:
    assert arguments(COMPOSE) == ["--schema-registry", "0.0.0.0:8081", "--http-name", "schema-registry"]
    assert not list(advice.on(COMPOSE))


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, []),
        (KUBERNETES, []),
        ({"SCHEMA_REGISTRY_HOST_NAME": "a"}, ["--schema-registry", "0.0.0.0:8081", "--http-name", "a"]),
        ({"SCHEMA_REGISTRY_LISTENERS": "http://:80"}, ["--schema-registry", "0.0.0.0:80"]),
        ({"SCHEMA_REGISTRY_LISTENERS": "HTTP://[::]:80"}, ["--schema-registry", "[::]:80"]),
        ({"PYKBROKER_SCHEMA_REGISTRY": "9000"}, ["--schema-registry", "0.0.0.0:9000"]),
        ({"PYKBROKER_SCHEMA_REGISTRY": "127.0.0.1:9000"}, ["--schema-registry", "127.0.0.1:9000"]),
        ({**COMPOSE, "PYKBROKER_SCHEMA_REGISTRY": "http://sr:8081"}, ["--schema-registry", "http://sr:8081"]),
        (
            {
                "SCHEMA_REGISTRY_LISTENERS": "http://0.0.0.0:8081",
                "SCHEMA_REGISTRY_SCHEMA_COMPATIBILITY_LEVEL": "full",
            },
            ["--schema-registry", "0.0.0.0:8081", "--schema-registry-compatibility", "FULL"],
        ),
        (
            {"SCHEMA_REGISTRY_LISTENERS": "https://0.0.0.0:8081", "PYKBROKER_SCHEMA_REGISTRY_LISTENER": "SSL"},
            ["--schema-registry", "0.0.0.0:8081", "--schema-registry-listener", "SSL"],
        ),
    ],
)
def test_variables(environment: dict[str, str], expected: list[str]) -> None:
    assert arguments(environment) == expected


@pytest.mark.parametrize(
    "listeners", ["https://0.0.0.0:8081", "http://a:1,http://b:2", "0.0.0.0:8081", "http://", "ftp://a:1"]
)
def test_a_listener_that_cannot_be(listeners: str) -> None:
    with pytest.raises(ConfigError, match=r"SCHEMA_REGISTRY_LISTENERS=.* one, as in http://0\.0\.0\.0:8081"):
        arguments({"SCHEMA_REGISTRY_LISTENERS": listeners})


@pytest.mark.parametrize("address", ["http://:", "http://0.0.0.0", "http://a b:99999"])
def test_an_address_that_is_none_is_refused_as_the_option_is(address: str) -> None:
    given = parser().parse_args(arguments({"SCHEMA_REGISTRY_LISTENERS": address}))
    with pytest.raises(ConfigError, match=r"--schema-registry wants \[HOST:\]PORT"):
        registry_options(given, BrokerConfig({"listeners": "PLAINTEXT://:9092"}))


def test_another_topic_is_refused() -> None:
    with pytest.raises(ConfigError, match="keeps its schemas in _schemas"):
        arguments({**COMPOSE, "SCHEMA_REGISTRY_KAFKASTORE_TOPIC": "mine"})
    assert arguments({**COMPOSE, "SCHEMA_REGISTRY_KAFKASTORE_TOPIC": "_schemas"}) == arguments(COMPOSE)


def test_what_has_no_effect_is_told() -> None:
    (told,) = advice.on({**COMPOSE, **KUBERNETES, "SCHEMA_REGISTRY_AUTHENTICATION_METHOD": "BASIC"})
    assert told.startswith("SCHEMA_REGISTRY_AUTHENTICATION_METHOD has no effect on the broker's own registry")
    assert not list(advice.on({**KUBERNETES, "SCHEMA_REGISTRY_AUTHENTICATION_METHOD": "BASIC"}))


def test_without_http_it_is_served_all_the_same(tmp_path: Path) -> None:
    config = BrokerConfig({"listeners": "PLAINTEXT://:9092"})
    found = options.arguments({**COMPOSE, "PYKBROKER_HTTP": "off"}, config, token=tmp_path / "token")
    given = parser().parse_args(found)
    assert (given.http, given.schema_registry, given.http_name) == (None, "0.0.0.0:8081", ["schema-registry"])
    another = {"PYKBROKER_SCHEMA_REGISTRY": "http://sr:8081", "PYKBROKER_HTTP": "off"}
    assert options.arguments(another, config, token=tmp_path / "token") == ["--advertise", "as-reached"]


def test_a_protected_broker_has_a_token_for_it(tmp_path: Path) -> None:
    config = BrokerConfig({"listeners": "SASL_PLAINTEXT://:9092", "security.inter.broker.protocol": "SASL_PLAINTEXT"})
    found = options.arguments({**COMPOSE, "PYKBROKER_HTTP": "off"}, config, token=tmp_path / "token")
    registry = registry_options(parser().parse_args(found), config)
    assert registry is not None
    assert registry.token == (tmp_path / "token").read_text().strip()


def test_the_command_knows_the_levels() -> None:
    assert COMPATIBILITIES == LEVELS
    given = parser().parse_args(["--schema-registry", "--schema-registry-compatibility", "none"])
    found = registry_options(given, BrokerConfig({"listeners": "PLAINTEXT://:9092"}))
    assert found is not None
    assert found.compatibility == "NONE"
    alone = parser().parse_args(["--schema-registry-compatibility", "NONE"])
    with pytest.raises(ConfigError, match="--schema-registry-compatibility is for a registry of the broker's own"):
        registry_options(alone, BrokerConfig({"listeners": "PLAINTEXT://:9092"}))
