"""Tickets of MIT's KDC, shown to a service by MIT's client."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from pykbroker.security.sasl.mechanism import CredentialsRefused
from pykbroker.tests.kit.kerberos import BROKER, REALM, Realm, initiator, needs_faketime, needs_kerberos, running_realm

pytestmark = needs_kerberos


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    with running_realm(tmp_path_factory.mktemp("realm")) as realm:
        yield realm


@pytest.fixture(scope="module")
def alice(realm: Realm) -> Path:
    """Her ticket cache."""
    return realm.ticket("alice")


def acceptor(realm: Realm):
    from pykbroker.security.kerberos.acceptor import Acceptor

    return Acceptor(f"{BROKER}@{REALM}", str(realm.key_table))


def test_who_has_a_ticket_is_known(realm: Realm, alice: Path) -> None:
    client, context = initiator(alice), acceptor(realm).begin()
    answer = context.accept(client.step())
    assert context.initiator == f"alice@{REALM}"
    client.step(answer)
    assert client.complete
    assert client.unwrap(context.wrap(b"offer")).message == b"offer"
    assert context.unwrap(client.wrap(b"agreed", False).message) == b"agreed"


def test_a_ticket_that_is_shown_twice_is_not_taken(realm: Realm, alice: Path) -> None:
    service, token = acceptor(realm), initiator(alice).step()
    service.begin().accept(token)
    with pytest.raises(CredentialsRefused, match="replay"):
        service.begin().accept(token)


def test_a_ticket_for_another_service_is_not_taken(realm: Realm, alice: Path) -> None:
    realm.principal("http/localhost")
    with pytest.raises(CredentialsRefused, match="http/localhost"):
        acceptor(realm).begin().accept(initiator(alice, "http/localhost").step())


@needs_faketime
@pytest.mark.parametrize(("clock", "said"), [("-1d", "Ticket expired"), ("+1d", "Ticket not yet valid")])
def test_a_ticket_of_another_time_is_not_taken(realm: Realm, clock: str, said: str) -> None:
    token = realm.first_token("traveller", clock)
    with pytest.raises(CredentialsRefused, match=said):
        acceptor(realm).begin().accept(token)


def test_a_key_that_is_new_is_read_from_the_file(realm: Realm, alice: Path) -> None:
    service = acceptor(realm)
    realm._admin(f"cpw -randkey {BROKER}", f"ktadd -k {realm.key_table} {BROKER}")
    context = service.begin()
    context.accept(initiator(realm.ticket("late")).step())
    assert context.initiator == f"late@{REALM}"


def test_tokens_that_are_none_are_refused(realm: Realm, alice: Path) -> None:
    service, chance = acceptor(realm), random.Random(15)
    good = initiator(alice).step()
    for _ in range(300):
        at, spoiled = chance.randrange(len(good)), bytearray(good)
        spoiled[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(4))
        context = service.begin()
        try:
            context.accept(bytes(spoiled))
        except CredentialsRefused:
            assert context.initiator is None
        else:
            assert context.initiator in (None, f"alice@{REALM}")
    for other in (b"", b"\x60", b"\x60\x82\xff\xff", good[:-1], b"x" * 10_000):
        with pytest.raises(CredentialsRefused):
            service.begin().accept(other)


def test_what_is_not_of_the_context_is_refused(realm: Realm, alice: Path) -> None:
    client, context = initiator(alice), acceptor(realm).begin()
    client.step(context.accept(client.step()))
    for other in (b"", b"x", context.wrap(b"offer"), client.wrap(b"agreed", False).message[:-1]):
        with pytest.raises(CredentialsRefused, match="does not belong to this exchange"):
            context.unwrap(other)


def test_a_key_that_is_not_to_be_had_ends_the_start(realm: Realm, tmp_path: Path) -> None:
    from pykbroker.security.kerberos.acceptor import Acceptor
    from pykbroker.security.kerberos.errors import KerberosError

    with pytest.raises(KerberosError, match=r"none\.keytab.* not found"):
        Acceptor(f"{BROKER}@{REALM}", str(tmp_path / "none.keytab"))
    with pytest.raises(KerberosError, match="No key table entry found for kafka/other@"):
        Acceptor(f"kafka/other@{REALM}", str(realm.key_table))


def test_the_default_realm(realm: Realm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from pykbroker.security.kerberos.acceptor import default_realm

    assert default_realm() == REALM
    (tmp_path / "krb5.conf").write_text("[libdefaults]\ndns_lookup_realm = false\n")
    monkeypatch.setenv("KRB5_CONFIG", str(tmp_path / "krb5.conf"))
    assert default_realm() == ""
