"""Kafka's tools, and so the Java client: over SASL_SSL, with the settings of a client in a file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from compat_tests.harness.kafka_tools import KafkaTools, ToolResult
from compat_tests.security.listeners import USERS, Listeners
from compat_tests.tools.by_name import ours_here
from pykbroker.cli.app import main

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
            "default.api.timeout.ms=60000\nrequest.timeout.ms=30000\n"
        )
        return path

    def __call__(self, tool: str, file: Path, *arguments: str, listener: str = "SASL_SSL", stdin: str = "") -> str:
        result = self._run(tool, file, arguments, listener, stdin)
        assert result.status == 0, result.text
        return result.text

    def refused(self, tool: str, file: Path, *arguments: str) -> str:
        """What it says when it cannot."""
        result = self._run(tool, file, arguments, "SASL_SSL", "")
        assert result.status == 1, result.text
        return result.text

    def _run(self, tool: str, file: Path, arguments: tuple[str, ...], listener: str, stdin: str) -> ToolResult:
        address = self._listeners.address(listener)
        options = ("--bootstrap-server", address, "--command-config", str(file))
        return self._tools(tool, *options, *arguments, stdin=stdin)


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


def test_a_delegation_token_is_asked_for_renewed_used_and_ended(run: Secured, name) -> None:
    alice = run.client("PLAIN", PLAIN)
    created = run(
        "delegation-tokens", alice, "--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob"
    )
    found = re.search(r"^(\S{22}) +(\S+) +User:alice +User:alice +\[User:bob\]", created, re.MULTILINE)
    assert found is not None, created
    token, secret = found.groups()
    assert token in run("delegation-tokens", alice, "--describe", "--owner-principal", "User:bob")
    assert token not in run("delegation-tokens", alice, "--describe", "--owner-principal", "User:carol")
    renewed = run("delegation-tokens", alice, "--renew", "--renew-time-period", "-1", "--hmac", secret)
    assert "Completed renew operation. New expiry date" in renewed

    module = f"{_MODULES}.scram.ScramLoginModule"
    login = f'{module} required tokenauth="true" username="{token}" password="{secret}";'
    by_token, topic = run.client("SCRAM-SHA-256", login), name()
    run("topics", by_token, "--create", "--topic", topic)
    run("console-producer", by_token, "--topic", topic, stdin="one\n")
    assert "one" in run("console-consumer", by_token, "--topic", topic, "--from-beginning", "--max-messages", "1")
    refused = run.refused("delegation-tokens", by_token, "--create", "--max-life-time-period", "-1")
    assert "Delegation Token requests are not allowed" in refused

    ended = run("delegation-tokens", alice, "--expire", "--expiry-time-period", "-1", "--hmac", secret)
    assert "Completed expire operation" in ended
    assert "Authentication failed" in run.refused("topics", by_token, "--list")


def test_tokens_by_the_command_of_the_image_are_told_as_by_kafkas(
    run: Secured, kafka_tools: KafkaTools, secured: Listeners
) -> None:
    given = ("--bootstrap-server", secured.address("SASL_SSL"), "--command-config", str(run.client("PLAIN", PLAIN)))
    secrets: list[str] = []

    def both(*words: str) -> tuple[str, str]:
        """What Kafka's prints of its token, and ours of ours."""
        answers = []
        for number, tool in enumerate((kafka_tools, ours_here)):
            own = [secrets[number] if word == "HMAC" else word for word in words]
            answers.append(tool("delegation-tokens", *given, *own))
        theirs, mine = answers
        assert (mine.status, theirs.status) == (0, 0), mine.err
        return theirs.out, mine.out

    def plain(reported: str) -> str:
        """Without the ids, the secrets and the minutes of the times."""
        return re.sub(
            r"(?<=T\d\d):\d\d", "", re.sub(r"\S{22}(?= )|\S{86}==|(?<= : )\S{22}$", "-", reported, flags=re.MULTILINE)
        )

    renewers = ("--renewer-principal", "User:bob", "--renewer-principal", "User:dora")
    made = both("--create", "--max-life-time-period", "86400000", *renewers)
    assert plain(made[1]) == plain(made[0])
    assert "[User:bob, User:dora]" in made[1]
    secrets += [re.findall(r"\S{86}==", reported)[0] for reported in made]
    described = both("--describe", "--owner-principal", "User:alice")
    assert described[0].count("User:bob") == described[1].count("User:bob") >= 2
    assert described[0].splitlines()[:4] == described[1].splitlines()[:4]
    for words in (["--renew", "--renew-time-period", "3600000"], ["--expire", "--expiry-time-period", "-1"]):
        reported = both(*words, "--hmac", "HMAC")
        assert plain(reported[1]) == plain(reported[0])
    mine = ours_here("delegation-tokens", *given, "--renew", "--renew-time-period", "-1", "--hmac", secrets[1])
    assert (mine.status, "Delegation Token is not found on server." in mine.err) == (1, True)


def test_our_own_command_asks_either_broker(secured: Listeners, tmp_path: Path, capfd) -> None:
    (tmp_path / "alice").write_text(
        f"bootstrap.servers={secured.address('SASL_PLAINTEXT')}\nsecurity.protocol=SASL_PLAINTEXT\n"
        f"sasl.mechanism=PLAIN\nsasl.jaas.config={PLAIN}\n"
    )

    def ask(*words: str, who: str = "alice") -> str:
        capfd.readouterr()
        assert main([*words, "--command-config", str(tmp_path / who)]) == 0, capfd.readouterr().err
        return capfd.readouterr().out

    (made,) = json.loads(
        ask("tokens", "create", "--renewer", "mallory", "--write-config", str(tmp_path / "job"), "--json")
    )
    assert made["token"] in ask("tokens", "list", "mallory")
    ask("topics", "list", who="job")
    assert "expires at" in ask("tokens", "renew", made["token"], "--for", "1h")
    ask("tokens", "expire", made["token"])
    assert made["token"] not in ask("tokens", "list")
