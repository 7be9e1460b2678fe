"""GSSAPI as clients' settings ask for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pykbroker.security.client.login import LoginFailed, Mechanism
from pykbroker.security.client.mechanisms import mechanism, user_and_password
from pykbroker.security.kerberos.login_module import LOGIN_MODULE
from pykbroker.tests.kit.kerberos import REALM, Realm, needs_kerberos, running_realm


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    with running_realm(tmp_path_factory.mktemp("realm")) as realm:
        yield realm


def made(options: str, **more: str) -> Mechanism:
    settings = {"sasl.mechanism": "GSSAPI", "sasl.jaas.config": f"{LOGIN_MODULE} required {options};", **more}
    return mechanism(settings, lambda: 0, lambda: "nonce")


SERVICE = {"sasl.kerberos.service.name": "kafka"}


@needs_kerberos
def test_a_key_table_gets_tickets(realm: Realm) -> None:
    options = f'useKeyTab=true keyTab="{realm.principal("alice")}" principal="alice@{REALM}"'
    by_key = made(options, **SERVICE)
    assert by_key.user == f"alice@{REALM}"
    assert by_key.begin("localhost").first()[:1] == b"\x60"
    assert made(f'{options} serviceName="kafka"').begin("localhost").first()[:1] == b"\x60"


@needs_kerberos
def test_a_ticket_cache(realm: Realm, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = realm.ticket("bob")
    assert made(f'useTicketCache=true ticketCache="{cache}"', **SERVICE).begin("localhost").first()[:1] == b"\x60"
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{cache}")
    assert made("useTicketCache=true", **SERVICE).begin("localhost").first()[:1] == b"\x60"


@needs_kerberos
def test_what_kerberos_refuses(realm: Realm, tmp_path: Path) -> None:
    without = made(f'useTicketCache=true ticketCache="{tmp_path}/nothing"', **SERVICE)
    with pytest.raises(LoginFailed, match="no ticket is available: No credentials cache found"):
        without.begin("localhost")
    other = made(f'useTicketCache=true ticketCache="{realm.ticket("carol")}"', **SERVICE)
    with pytest.raises(LoginFailed, match=r"kafka/elsewhere@TEST.REALM not found in Kerberos database"):
        other.begin("elsewhere").first()


@pytest.mark.parametrize(
    ("options", "more", "said"),
    [
        ("useTicketCache=true", {}, "sasl.kerberos.service.name is not set"),
        ("", SERVICE, "useTicketCache=true: there is no prompt for a password"),
        ("useKeyTab=true", SERVICE, 'no principal="..." to look up in the key table'),
    ],
)
@needs_kerberos
def test_settings_that_are_wrong(options: str, more: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        made(options, **more)


def test_without_the_extra_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    for name in ("initiator", "words"):
        monkeypatch.delitem(sys.modules, f"pykbroker.security.kerberos.{name}", raising=False)
    with pytest.raises(ValueError, match=r"needs the package gssapi, which is not installed"):
        made("useTicketCache=true", **SERVICE)


def test_it_has_no_password() -> None:
    with pytest.raises(ValueError, match="GSSAPI, which has neither a user name nor a password"):
        user_and_password({"sasl.mechanism": "GSSAPI"})
