"""Commands with ``--command-config`` against a broker with every kind of listener, and every way to be wrong about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

from pykbroker.cli.app import application
from pykbroker.cli.command_config import read, security_of
from pykbroker.client.connection import BrokerConnection
from pykbroker.testing import Kafka
from pykbroker.tests.cli.conftest import Result
from pykbroker.tests.kit.certificates import (
    as_jks,
    as_pkcs12,
    authority,
    client,
    encrypted,
    now_ms,
    trusted_jks,
    trusted_pkcs12,
    written,
)
from pykbroker.tests.kit.secured import sasl_settings, tls_settings
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataResponse

Run = Callable[..., Result]

PROTOCOLS = {
    "PLAINTEXT": "PLAINTEXT",
    "SSL": "SSL",
    "MUTUAL": "SSL",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SASL_SSL": "SASL_SSL",
    "SHORT": "SASL_PLAINTEXT",
    "STRANGE": "SSL",
}
MODULES = "org.apache.kafka.common.security"
SESSION_MS = 60_000


class Broker:
    """With all of them. ``address`` by listener."""

    def __init__(self, kafka: Kafka) -> None:
        self.kafka = kafka
        self.listeners: dict[str, str] = kafka.node.summary()["brokers"][0]["listeners"]

    def address(self, listener: str) -> str:
        return self.listeners[listener]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    strange = authority().issue("elsewhere", now_ms(), hosts=["elsewhere.example"])
    skew = 'unsecuredValidatorAllowableClockSkewMs="100000000"'  # its clock stands still
    bearer = f"{MODULES}.oauthbearer.OAuthBearerLoginModule required {skew};"
    settings = {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in PROTOCOLS),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in PROTOCOLS.items()),
        **tls_settings(tmp_path_factory.mktemp("broker")),
        **sasl_settings("sasl_plaintext", "sasl_ssl", "short"),
        "listener.name.sasl_plaintext.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
        "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": bearer,
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.short.connections.max.reauth.ms": SESSION_MS,
        "listener.name.strange.ssl.keystore.type": "PEM",
        "listener.name.strange.ssl.keystore.location": written(
            tmp_path_factory.mktemp("strange"), "broker.pem", strange.pem
        ),
    }
    with Kafka(settings, clock="manual") as kafka:
        yield Broker(kafka)


@pytest.fixture
def ask(run: Run, broker: Broker, tmp_path: Path) -> Callable[..., Result]:
    """``ask("SSL", settings, "topics", "list")``."""

    def asked(listener: str, settings: Mapping[str, str], *words: str, stdin: bytes = b"") -> Result:
        where = ["--command-config", properties(tmp_path, settings), "-b", broker.address(listener)]
        return run(*words, *where, "--timeout", "60", stdin=stdin)

    return asked


def properties(folder: Path, settings: Mapping[str, str]) -> str:
    """A file as Java reads it."""
    lines = (f"{name}={text}".replace("\\", "\\\\").replace("\n", "\\n") for name, text in settings.items())
    return written(folder, "client.properties", "\n".join(lines).encode("ascii", "backslashreplace"))


def plain(password: str = "secret") -> dict[str, str]:
    login = f'{MODULES}.plain.PlainLoginModule required username="alice" password="{password}";'
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": login}


@cache
def trust() -> dict[str, str]:
    return {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": authority().certificate,
    }


BEARER = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.jaas.config": f'{MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="alice";',
}


def stores(kind: str, folder: Path) -> dict[str, str]:
    """Whom to believe, and what to show, in stores of this type."""
    own = client()
    if kind == "PEM":
        return {
            "ssl.truststore.type": kind,
            "ssl.truststore.location": written(folder, "trust", authority().certificate),
            "ssl.keystore.type": kind,
            "ssl.keystore.location": written(folder, "own", encrypted(own.key, "pass") + own.chain),
            "ssl.key.password": "pass",
        }
    make, trusted = (as_jks, trusted_jks) if kind == "JKS" else (as_pkcs12, trusted_pkcs12)
    return {
        "ssl.truststore.type": kind,
        "ssl.truststore.location": written(folder, "trust", trusted(authority().certificate, "secret")),
        "ssl.truststore.password": "secret",
        "ssl.keystore.type": kind,
        "ssl.keystore.location": written(folder, "own", make(own, "secret")),
        "ssl.keystore.password": "secret",
    }


# ---- coming in


@pytest.mark.parametrize("kind", ["PEM", "PKCS12", "JKS"])
def test_by_certificates_of_every_kind_of_store(ask: Any, tmp_path: Path, kind: str) -> None:
    for listener in ("SSL", "MUTUAL"):
        done = ask(listener, {"security.protocol": "SSL", **stores(kind, tmp_path)}, "cluster", "describe")
        assert done.status == 0, done.err


@pytest.mark.parametrize(
    ("listener", "settings"),
    [
        ("PLAINTEXT", {"security.protocol": "PLAINTEXT"}),
        ("SASL_PLAINTEXT", plain()),
        ("SASL_SSL", {**trust(), **plain(), "security.protocol": "SASL_SSL"}),
        ("SASL_PLAINTEXT", BEARER),
    ],
)
def test_there_and_back(ask: Any, listener: str, settings: dict[str, str]) -> None:
    topic = f"of-{listener}-{settings.get('sasl.mechanism')}"
    for words, stdin in (
        (("topics", "create", topic, "-p", "3"), b""),
        (("produce", topic, "-K", ":"), b"a:1\nb:2\nc:3\nd:4\n"),
    ):
        done = ask(listener, settings, *words, stdin=stdin)
        assert done.status == 0, done.err
    read_back = ask(listener, settings, "consume", topic, "--exit", "-g", topic)
    assert sorted(read_back.out.splitlines()) == ["1", "2", "3", "4"], read_back.err


@pytest.mark.parametrize("mechanism", ["scram-sha-256"])
def test_by_scram(ask: Any, mechanism: str) -> None:
    assert ask("PLAINTEXT", {}, "users", "set", "carol", stdin=b'quoted "and" \\ escaped\n').status == 0
    login = 'required username="carol" password="quoted \\"and\\" \\\\ escaped";'
    settings = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism.upper(),
        "sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule {login}",
    }
    assert ask("SASL_PLAINTEXT", settings, "topics", "list").status == 0
    settings["sasl.jaas.config"] = settings["sasl.jaas.config"].replace("escaped", "other")
    refused = ask("SASL_PLAINTEXT", settings, "topics", "list")
    assert refused.status == 1
    assert "refuses carol by SCRAM-SHA-256: Authentication failed" in refused.err


def test_the_file_says_where_the_brokers_are(run: Run, broker: Broker, tmp_path: Path) -> None:
    settings = {**plain(), "bootstrap.servers": broker.address("SASL_PLAINTEXT")}
    assert run("topics", "list", "--command-config", properties(tmp_path, settings)).status == 0


def test_the_environment_says_which_file(
    run: Run, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYKBROKER_COMMAND_CONFIG", properties(tmp_path, plain()))
    assert run("topics", "list", "-b", broker.address("SASL_PLAINTEXT")).status == 0


def test_a_session_is_renewed_before_it_ends(broker: Broker, tmp_path: Path) -> None:
    host, port = broker.address("SHORT").split(":")
    security = security_of(read(Path(properties(tmp_path, plain()))))
    connection = BrokerConnection(host, int(port), timeout_s=60, client_id="test", security=security)
    try:
        for _ in range(3):
            broker.kafka.advance(seconds=SESSION_MS / 1000 * 0.7)
            assert connection._sign_in_at is not None
            connection._sign_in_at = 0.0  # our clock is not the broker's
            connection.call(MetadataRequest(topics=[]), MetadataResponse)
    finally:
        connection.close()


def test_every_command_that_asks_a_cluster_takes_the_file() -> None:
    def commands(group: Any, *names: str) -> Iterator[tuple[str, Any]]:
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                yield from commands(command, *names, name)
            else:
                yield " ".join((*names, name)), command

    options = {
        name: {param.name for param in each.params} for name, each in commands(typer.main.get_command(application()))
    }
    asking = {name for name, found in options.items() if "bootstrap" in found}
    assert len(asking) > 40
    assert asking == {name for name, found in options.items() if "command_config" in found}


# ---- being wrong


@pytest.mark.parametrize(
    ("listener", "settings", "status", "said"),
    [
        (
            "SASL_PLAINTEXT",
            plain("wrong"),
            1,
            "refuses alice by PLAIN: Authentication failed: Invalid username or password",
        ),
        (
            "SASL_PLAINTEXT",
            {**plain(), "sasl.mechanism": "PLAIM"},
            2,
            "sasl.mechanism is PLAIM; it must be one of PLAIN, SCRAM-SHA-256",
        ),
        (
            "SHORT",
            {**BEARER},
            1,
            "does not have sasl.mechanism=OAUTHBEARER; it has PLAIN, SCRAM-SHA-256.",
        ),
        ("PLAINTEXT", plain(), 1, "does not use SASL: its security.protocol is PLAINTEXT or SSL."),
        ("SSL", {**trust(), **plain(), "security.protocol": "SASL_SSL"}, 1, "does not use SASL"),
        ("PLAINTEXT", trust(), 1, "does not speak TLS, which security.protocol=SSL asks for. Is it a plain port?"),
        ("SSL", {}, 3, "Does it want TLS, or a user who signs in? --command-config FILE says how."),
        ("SASL_PLAINTEXT", {}, 3, "Does it want TLS, or a user who signs in? --command-config FILE says how."),
        ("SASL_SSL", trust(), 3, "closed the connection"),
        ("SSL", {"security.protocol": "SSL"}, 1, "is not trusted: "),
        ("MUTUAL", trust(), 1, "refuses the client's certificate (tlsv13 alert certificate required)"),
        ("STRANGE", trust(), 1, "is for other names (IP address mismatch"),
        ("PLAINTEXT", {"security.protocol": "TLS"}, 2, "security.protocol is TLS; it must be one of"),
    ],
)
def test_each_is_told_what_is_wrong(ask: Any, listener: str, settings: dict[str, str], status: int, said: str) -> None:
    done = ask(listener, settings, "topics", "list")
    assert said in done.err
    assert (done.status, done.out) == (status, "")


def test_a_certificate_for_other_names_may_be_believed(ask: Any) -> None:
    settings = {**trust(), "ssl.endpoint.identification.algorithm": ""}
    assert ask("STRANGE", settings, "topics", "list").status == 0


def test_a_certificate_of_a_stranger_is_refused(ask: Any, tmp_path: Path) -> None:
    stranger = authority("Other CA").issue("alice", now_ms())
    shown = {"ssl.keystore.type": "PEM", "ssl.keystore.location": written(tmp_path, "stranger.pem", stranger.pem)}
    done = ask("MUTUAL", {**trust(), **shown}, "topics", "list")
    assert done.status == 1
    assert "refuses the client's certificate (tlsv1 alert unknown ca)" in done.err


def test_a_file_that_is_not_there_and_one_that_is_misspelt(run: Run, ask: Any) -> None:
    done = run("topics", "list", "--command-config", "/no/such.properties")
    assert (done.status, "/no/such.properties cannot be read: No such file" in done.err) == (2, True)
    done = ask("PLAINTEXT", {"sasl.mechansim": "PLAIN"}, "topics", "list")
    assert (
        done.status,
        "Kafka's clients have no setting sasl.mechansim; did you mean sasl.mechanism?" in done.err,
    ) == (
        0,
        True,
    )
