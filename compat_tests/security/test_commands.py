"""pykbroker's own commands with ``--command-config``, on every kind of listener of the broker under test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from compat_tests.cli.conftest import Result, run
from compat_tests.security.listeners import USERS, Listeners, properties_value
from compat_tests.security.users import SCRAM_USERS

__all__ = ["run"]

Run = Callable[..., Result]
MODULES = "org.apache.kafka.common.security"
PLAIN = f'{MODULES}.plain.PlainLoginModule required username="alice" password="{USERS["alice"]}";'
SCRAM = f'{MODULES}.scram.ScramLoginModule required username="bob" password="{SCRAM_USERS["bob"]}";'
TOKEN = f'{MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="alice";'
BY_ISSUER = f"{MODULES}.oauthbearer.OAuthBearerLoginCallbackHandler"


@pytest.fixture
def bootstrap(secured: Listeners) -> str:
    return secured.address("PLAINTEXT")


@pytest.fixture
def ask(run: Run, secured: Listeners, tmp_path: Path) -> Run:
    def requested(listener: str, settings: dict[str, str], *words: str, stdin: bytes = b"") -> Result:
        file = tmp_path / "client.properties"
        file.write_text("".join(f"{name}={properties_value(text)}\n" for name, text in settings.items()))
        return run(*words, "-b", secured.address(listener), "--command-config", str(file), stdin=stdin)

    return requested


def tls(secured: Listeners, protocol: str = "SSL") -> dict[str, str]:
    return {
        "security.protocol": protocol,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(secured.files.authority),
    }


def own(certificate: Path) -> dict[str, str]:
    return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(certificate)}


def sasl(mechanism: str, jaas: str) -> dict[str, str]:
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}


def test_records_go_there_and_back_by_every_way(
    secured: Listeners, ask: Run, name: Callable[..., str], tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text(secured.issuer.sign())
    by_issuer = {
        "sasl.login.callback.handler.class": BY_ISSUER,
        "sasl.oauthbearer.token.endpoint.url": token.as_uri(),
    }
    ways: list[tuple[str, dict[str, str]]] = [
        ("SSL", tls(secured)),
        ("MUTUAL", {**tls(secured), **own(secured.files.alice)}),
        ("SASL_SSL", {**sasl("PLAIN", PLAIN), **tls(secured, "SASL_SSL")}),
        ("SASL_PLAINTEXT", sasl("SCRAM-SHA-256", SCRAM)),
        ("SASL_PLAINTEXT", sasl("SCRAM-SHA-512", SCRAM)),
        ("TOKENS", sasl("OAUTHBEARER", TOKEN)),
        ("SIGNED", {**sasl("OAUTHBEARER", f"{MODULES}.oauthbearer.OAuthBearerLoginModule required;"), **by_issuer}),
    ]
    for listener, settings in ways:
        topic = name()
        written = ask(listener, settings, "produce", topic, stdin=b"one\ntwo\n")
        assert written.status == 0, (listener, written.err)
        assert ask(listener, settings, "consume", topic, "--exit").lines == ["one", "two"]


@pytest.mark.parametrize(
    ("listener", "settings", "said"),
    [
        ("SASL_PLAINTEXT", sasl("PLAIN", PLAIN.replace("secret", "other")), "Invalid username or password"),
        ("SASL_PLAINTEXT", sasl("SCRAM-SHA-256", SCRAM.replace("secret", "other")), "invalid credentials with SASL"),
        ("TOKENS", sasl("PLAIN", PLAIN), "does not have sasl.mechanism=PLAIN; it has OAUTHBEARER."),
        ("SCOPED", sasl("OAUTHBEARER", TOKEN), "invalid_token"),
        ("PLAINTEXT", sasl("PLAIN", PLAIN), "does not use SASL"),
        ("SASL_PLAINTEXT", {}, "--command-config FILE says how"),
        ("PLAINTEXT", {"security.protocol": "SSL"}, "does not speak TLS"),
        ("SSL", {"security.protocol": "SSL"}, "is not trusted"),
        ("SSL", {}, "--command-config FILE says how"),
    ],
)
def test_what_is_wrong_is_said(ask: Run, listener: str, settings: dict[str, str], said: str) -> None:
    refused = ask(listener, settings, "topics", "list")
    assert said in refused.err
    assert refused.status in (1, 3)


def test_a_certificate_that_is_wanted_or_not_trusted(secured: Listeners, ask: Run) -> None:
    for shown in ({}, own(secured.files.stranger), own(secured.files.expired)):
        refused = ask("MUTUAL", {**tls(secured), **shown}, "topics", "list")
        assert (refused.status, "refuses the client's certificate" in refused.err) == (1, True), refused.err


def test_users_are_made_and_come_in(ask: Run) -> None:
    admin = sasl("PLAIN", PLAIN)
    assert ask("SASL_PLAINTEXT", admin, "users", "set", "dora", stdin=b"dora's\n").lines == ["dora may sign in"]
    assert ask("SASL_PLAINTEXT", admin, "users", "list", "dora").lines[1:] == [
        "dora\tSCRAM-SHA-256\t4096",
        "dora\tSCRAM-SHA-512\t4096",
    ]
    as_dora = SCRAM.replace('"bob"', '"dora"').replace(SCRAM_USERS["bob"], "dora's")
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        assert ask("SASL_PLAINTEXT", sasl(mechanism, as_dora), "cluster", "describe").status == 0
    assert ask("SASL_PLAINTEXT", admin, "users", "remove", "dora").lines == ["dora may not sign in"]
    assert ask("SASL_PLAINTEXT", sasl("SCRAM-SHA-256", as_dora), "cluster", "describe").status == 1
