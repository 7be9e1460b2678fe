"""The whole exchange, with MIT's client and MIT's KDC."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pykbroker.security.kerberos.names import ShortNames
from pykbroker.security.sasl.conversation import AuthenticationFailed, Conversation
from pykbroker.security.sasl.gssapi import GssapiExchange
from pykbroker.security.sasl.mechanism import Authenticated, CredentialsRefused
from pykbroker.tests.kit.kerberos import BROKER, REALM, Realm, initiator, needs_kerberos, running_realm

pytestmark = needs_kerberos
OFFER = b"\1\1\0\0"


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    with running_realm(tmp_path_factory.mktemp("realm")) as realm:
        yield realm


@pytest.fixture(scope="module")
def alice(realm: Realm) -> Path:
    return realm.ticket("alice")


@pytest.fixture
def begin(realm: Realm) -> Callable[..., GssapiExchange]:
    from pykbroker.security.kerberos.acceptor import Acceptor

    acceptor = Acceptor(f"{BROKER}@{REALM}", str(realm.key_table))
    return lambda *rules: GssapiExchange(acceptor.begin, ShortNames(rules or ["DEFAULT"], REALM).user)


def agreed(exchange: GssapiExchange, cache: Path, answer: bytes = OFFER) -> GssapiExchange:
    """To its end, with this as the last word of the client."""
    client = initiator(cache)
    client.step(exchange.evaluate(client.step()))
    assert client.complete
    offer = client.unwrap(exchange.evaluate(b""))
    assert (offer.message, offer.encrypted) == (OFFER, False)
    assert exchange.result is None
    assert exchange.evaluate(client.wrap(answer, False).message) is None
    return exchange


def test_a_ticket_says_who_it_is(begin, alice: Path) -> None:
    assert agreed(begin(), alice).result == Authenticated("alice", expires_ms=None)


def test_without_mutual_authentication_the_offer_comes_at_once(begin, alice: Path) -> None:
    exchange, client = begin(), initiator(alice, mutual=False)
    offer = exchange.evaluate(client.step())
    assert client.unwrap(offer).message == OFFER
    exchange.evaluate(client.wrap(OFFER, False).message)
    assert exchange.result == Authenticated("alice")


def test_in_whose_name_he_comes_counts_for_nothing(begin, alice: Path) -> None:
    assert agreed(begin(), alice, OFFER + b"bob").result == Authenticated("alice")


def test_what_is_wrapped_may_be_encrypted(begin, alice: Path) -> None:
    exchange, client = begin(), initiator(alice)
    client.step(exchange.evaluate(client.step()))
    exchange.evaluate(b"")
    exchange.evaluate(client.wrap(OFFER, True).message)
    assert exchange.result == Authenticated("alice")


def test_rules_say_which_user_it_is(begin, alice: Path) -> None:
    assert agreed(begin("RULE:[1:$1]/U"), alice).result == Authenticated("ALICE")
    with pytest.raises(CredentialsRefused, match="no rule of"):
        agreed(begin("RULE:[2:$1]"), alice)


@pytest.mark.parametrize("answer", [b"", b"\1", b"\1\0\0", b"\2\1\0\0", b"\4\1\0\0", b"\0\0\0\0"])
def test_a_layer_of_sasl_is_not_agreed_on(begin, alice: Path, answer: bytes) -> None:
    exchange = begin()
    with pytest.raises(CredentialsRefused, match="security layer"):
        agreed(exchange, alice, answer)
    assert exchange.result is None


def test_something_where_nothing_is_to_be_said(begin, alice: Path) -> None:
    exchange, client = begin(), initiator(alice)
    client.step(exchange.evaluate(client.step()))
    with pytest.raises(CredentialsRefused, match="where an empty one is due"):
        exchange.evaluate(client.wrap(OFFER, False).message)


def test_a_client_is_told_no_more_than_that_it_is_refused(begin, alice: Path) -> None:
    token = initiator(alice).step()
    begin().evaluate(token)
    for shown in (token, b"", b"x"):
        conversation = Conversation({"GSSAPI": begin})
        conversation.handshake(1, "GSSAPI")
        with pytest.raises(AuthenticationFailed) as failed:
            conversation.token(shown)
        assert failed.value.client_message == (
            "Authentication failed during authentication due to invalid credentials with SASL mechanism GSSAPI"
        )
