"""Kafka's tools, and so the Java client: over SASL_SSL, with the settings of a client in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_tests.harness.kafka_tools import KafkaTools
from compat_tests.security.listeners import USERS, Listeners

_MODULES = "org.apache.kafka.common.security"
PLAIN = f'{_MODULES}.plain.PlainLoginModule required username="alice" password="{USERS["alice"]}";'
SCRAM = f'{_MODULES}.scram.ScramLoginModule required username="tooluser" password="tool-secret";'
TOKEN = f'{_MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="alice";'


class Secured:
    """Tools with a file of settings."""

    def __init__(self, tools: KafkaTools, listeners: Listeners, folder: Path) -> None:
        self._tools = tools
        self._listeners = listeners
        self._folder = folder

    def client(self, mechanism: str, jaas: str, listener: str = "SASL_SSL") -> Path:
        """The file."""
        path = self._folder / f"{mechanism}-{listener}.properties"
        path.write_text(
            f"security.protocol={'SASL_SSL' if listener == 'SASL_SSL' else 'SASL_PLAINTEXT'}\n"
            f"ssl.truststore.type=PEM\nssl.truststore.location={self._listeners.files.authority}\n"
            f"sasl.mechanism={mechanism}\nsasl.jaas.config={jaas}\n"
            "default.api.timeout.ms=15000\nrequest.timeout.ms=10000\n"
        )
        return path

    def __call__(self, tool: str, file: Path, *arguments: str, listener: str = "SASL_SSL", stdin: str = "") -> str:
        option = "--command-config"
        address = self._listeners.address(listener)
        result = self._tools(tool, "--bootstrap-server", address, option, str(file), *arguments, stdin=stdin)
        assert result.status == 0, result.text
        return result.text


@pytest.fixture
def run(kafka_tools: KafkaTools, secured: Listeners, tmp_path: Path) -> Secured:
    return Secured(kafka_tools, secured, tmp_path)


def test_a_user_of_scram_is_made_over_sasl_ssl_and_comes_in(run: Secured, name) -> None:
    plain, scram = run.client("PLAIN", PLAIN), run.client("SCRAM-SHA-512", SCRAM)
    user = ("--entity-type", "users", "--entity-name", "tooluser")
    run("configs", plain, "--alter", *user, "--add-config", "SCRAM-SHA-512=[iterations=4096,password=tool-secret]")
    assert "SCRAM-SHA-512=iterations=4096" in run("configs", plain, "--describe", *user)
    topic = name()
    run("topics", scram, "--create", "--topic", topic, "--partitions", "2")
    assert topic in run("topics", scram, "--list")
    run("console-producer", scram, "--topic", topic, stdin="one\ntwo\n")
    read = run("console-consumer", scram, "--topic", topic, "--from-beginning", "--max-messages", "2")
    assert {"one", "two"} <= set(read.split())


def test_a_token_comes_in(run: Secured, name) -> None:
    file = run.client("OAUTHBEARER", TOKEN, "TOKENS")
    topic = name()
    run("topics", file, "--create", "--topic", topic, listener="TOKENS")
    run("console-producer", file, "--topic", topic, listener="TOKENS", stdin="one\n")
    read = run("console-consumer", file, "--topic", topic, "--from-beginning", "--max-messages", "1", listener="TOKENS")
    assert "one" in read
