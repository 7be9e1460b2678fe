"""GSSAPI as settings ask for it: what ends the start, and how it is then."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pykbroker.config.setting import ConfigError
from pykbroker.security.kerberos.login_module import LOGIN_MODULE
from pykbroker.security.sasl.mechanism import Authenticated, Mechanism
from pykbroker.tests.kit.kerberos import REALM, Realm, initiator, needs_kerberos, running_realm
from pykbroker.tests.process.test_mechanisms import made

SERVICE = {"sasl.kerberos.service.name": "kafka"}
MODULE = f'{LOGIN_MODULE} required useKeyTab="true" storeKey="true" principal="kafka/localhost@{REALM}"'


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    with running_realm(tmp_path_factory.mktemp("realm")) as realm:
        yield realm


def signed_in(mechanism: Mechanism, realm: Realm, name: str) -> Authenticated | None:
    client, exchange = initiator(realm.ticket(name)), mechanism()
    client.step(exchange.evaluate(client.step()))
    agreed = client.unwrap(exchange.evaluate(b"")).message
    exchange.evaluate(client.wrap(agreed, False).message)
    return exchange.result


@needs_kerberos
def test_a_ticket_for_the_principal_of_the_settings(realm: Realm) -> None:
    assert signed_in(made("GSSAPI", realm.jaas(), **SERVICE), realm, "alice") == Authenticated("alice")


@needs_kerberos
def test_rules_are_of_the_listener(realm: Realm) -> None:
    rules = {"sasl.kerberos.principal.to.local.rules": "RULE:[1:$1@$0](.*@NOWHERE),RULE:[1:$1]s/b/r/"}
    assert signed_in(made("GSSAPI", realm.jaas(), **SERVICE, **rules), realm, "bob") == Authenticated("rob")


@needs_kerberos
def test_the_module_may_name_the_service_and_a_file_in_the_form_of_java(realm: Realm) -> None:
    module = realm.jaas().replace('keyTab="', 'serviceName="kafka" keyTab="file:')
    assert signed_in(made("GSSAPI", module), realm, "carol") == Authenticated("carol")


@needs_kerberos
def test_a_key_or_rules_that_are_not_there_end_the_start(realm: Realm) -> None:
    with pytest.raises(ConfigError, match=r"the key of kafka/localhost@TEST.REALM is not available: .*/nothing"):
        made("GSSAPI", f'{MODULE} keyTab="/nothing";', **SERVICE)
    with pytest.raises(ConfigError, match=r"Invalid rule in sasl.kerberos.principal.to.local.rules: 'RULE:nothing'"):
        made("GSSAPI", realm.jaas(), **SERVICE, **{"sasl.kerberos.principal.to.local.rules": "RULE:nothing"})


@needs_kerberos
def test_a_key_table_that_everybody_may_read_is_named_in_the_log(
    realm: Realm, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "open.keytab"
    path.write_bytes(realm.key_table.read_bytes())
    for mode in (0o600, 0o644):
        path.chmod(mode)
        caplog.clear()
        made("GSSAPI", realm.jaas(path), **SERVICE)
        assert ("open.keytab holds keys of Kerberos" in caplog.text) == (mode == 0o644)


@pytest.mark.parametrize(
    ("module", "settings", "said"),
    [
        (MODULE, {}, "needs sasl.kerberos.service.name: what stands before the /"),
        (f'{MODULE} serviceName="http"', SERVICE, "is kafka, and serviceName of the login module is http"),
        (MODULE.replace("useKeyTab", "useTicketCache"), SERVICE, 'needs useKeyTab="true"'),
        (MODULE.replace("storeKey", "renewTGT"), SERVICE, 'needs storeKey="true"'),
        (MODULE.partition("principal")[0], SERVICE, 'needs principal="kafka/<host>@<REALM>"'),
        (f'{LOGIN_MODULE} required useKeyTab="true" storeKey="true" principal="*"', SERVICE, "needs principal="),
        ("com.example.Module required", SERVICE, f"com.example.Module, .*: write {LOGIN_MODULE}"),
        (MODULE, {**SERVICE, "sasl.server.callback.handler.class": "com.example.Handler"}, "take it out"),
    ],
)
def test_settings_that_are_wrong_end_the_start(module: str, settings: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        made("GSSAPI", f"{module};", **settings)


def test_without_the_extra_the_start_ends_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    for name in ("acceptor", "words"):
        monkeypatch.delitem(sys.modules, f"pykbroker.security.kerberos.{name}", raising=False)
    with pytest.raises(ConfigError, match=r"libkrb5-dev\); then run  pip install '\.\[kerberos\]'"):
        made("GSSAPI", f"{MODULE};", **SERVICE)
