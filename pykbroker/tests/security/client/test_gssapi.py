"""Both sides of GSSAPI, ours, with MIT's KDC between them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pykbroker.security.client.gssapi import GssapiLogin
from pykbroker.security.client.login import LoginFailed
from pykbroker.security.sasl.gssapi import GssapiExchange
from pykbroker.security.sasl.mechanism import Authenticated
from pykbroker.tests.kit.kerberos import BROKER, REALM, Realm, needs_kerberos, running_realm

pytestmark = needs_kerberos


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    with running_realm(tmp_path_factory.mktemp("realm")) as realm:
        yield realm


@pytest.fixture
def login(realm: Realm) -> GssapiLogin:
    from pykbroker.security.kerberos.initiator import Initiator, KerberosIdentity

    holder = KerberosIdentity(None, ticket_cache=str(realm.ticket("alice")), has_key=False)
    return GssapiLogin(Initiator(holder, "kafka").begin("localhost"))


def context(realm: Realm):
    from pykbroker.security.kerberos.acceptor import Acceptor

    return Acceptor(f"{BROKER}@{REALM}", str(realm.key_table)).begin()


def test_there_and_back(realm: Realm, login: GssapiLogin) -> None:
    exchange = GssapiExchange(lambda: context(realm), str)
    token: bytes | None = login.first()
    while token is not None:
        token = login.answer(exchange.evaluate(token) or b"")
    assert exchange.result == Authenticated(f"alice@{REALM}")


@pytest.mark.parametrize("offer", [b"", b"\0\0\0\0", b"\6\1\0\0"])
def test_a_layer_that_is_asked_for(realm: Realm, login: GssapiLogin, offer: bytes) -> None:
    broker = context(realm)
    assert login.answer(broker.accept(login.first())) == b""
    with pytest.raises(LoginFailed, match="a SASL security layer"):
        login.answer(broker.wrap(offer))


def test_what_is_not_of_the_broker(realm: Realm, login: GssapiLogin) -> None:
    broker = context(realm)
    first = login.first()
    with pytest.raises(LoginFailed, match="Kerberos refuses"):
        login.answer(b"nonsense")
    broker.accept(first)


def test_an_offer_that_is_not_of_the_exchange(realm: Realm, login: GssapiLogin) -> None:
    login.answer(context(realm).accept(login.first()))
    with pytest.raises(LoginFailed, match="does not belong to this exchange"):
        login.answer(b"nonsense")
