"""What a container's broker is started with beside its settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.cli.serve_options import parser
from pykbroker.config.broker import BrokerConfig
from pykbroker.container.options import arguments
from pykbroker.security.authorizer import STANDARD_AUTHORIZER
from pykbroker.steered.http_options import read_token

PLAIN = BrokerConfig({"listeners": "PLAINTEXT://:9092"})
SECURED = BrokerConfig({"listeners": "SASL_PLAINTEXT://:9092", "security.inter.broker.protocol": "SASL_PLAINTEXT"})

AUTHORIZED = BrokerConfig({"listeners": "PLAINTEXT://:9092", "authorizer.class.name": STANDARD_AUTHORIZER})


def test_without_a_word_everybody_is_told_how_he_came_and_http_is_on(tmp_path: Path) -> None:
    options = parser().parse_args(arguments({}, PLAIN, token=tmp_path / "token"))
    assert (options.advertise, options.http, options.http_token_file) == (["as-reached"], "0.0.0.0:8080", None)
    assert not (tmp_path / "token").exists()


def test_what_is_advertised_is_told() -> None:
    assert "--advertise" not in arguments({}, BrokerConfig({"advertised.listeners": "PLAINTEXT://a:1"}))


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"PYKBROKER_HTTP": "off"}, []),
        ({"PYKBROKER_HTTP": "127.0.0.1:80"}, ["--http", "127.0.0.1:80"]),
        ({"PYKBROKER_HTTP_NAMES": "a.b, c"}, ["--http", "0.0.0.0:8080", "--http-name", "a.b", "--http-name", "c"]),
        ({"PYKBROKER_HTTP_TOKEN_FILE": "/t"}, ["--http", "0.0.0.0:8080", "--http-token-file", "/t"]),
        (
            {"PYKBROKER_SCHEMA_REGISTRY": "http://sr:8081"},
            ["--http", "0.0.0.0:8080", "--schema-registry", "http://sr:8081"],
        ),
        ({"KAFKA_LOG4J_ROOT_LOGLEVEL": "warn"}, ["--log-level", "WARN", "--http", "0.0.0.0:8080"]),
        ({"KAFKA_LOG4J_ROOT_LOGLEVEL": "OFF"}, ["--http", "0.0.0.0:8080"]),
    ],
)
def test_variables_say_otherwise(environment: dict[str, str], expected: list[str]) -> None:
    assert arguments(environment, PLAIN) == ["--advertise", "as-reached", *expected]


@pytest.mark.parametrize("config", [SECURED, AUTHORIZED])
def test_a_protected_broker_gets_a_token_each_time_another(tmp_path: Path, config: BrokerConfig, capsys) -> None:
    file = tmp_path / "token"
    assert arguments({}, config, token=file)[-2:] == ["--http-token-file", str(file)]
    assert f"the token that was made in {file}" in capsys.readouterr().err
    first = read_token(file)
    arguments({}, config, token=file)
    assert read_token(file) != first
    assert file.stat().st_mode & 0o777 == 0o600
