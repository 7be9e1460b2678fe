"""Who has a ticket, and never says the last word, is served nothing, whatever he sends: messages of GSSAPI that are spoiled."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from pykbroker.tests.kit.kerberos import Realm, initiator, needs_kerberos, running_realm
from pykbroker.tests.network.sayings import Part, ask
from pykbroker.tests.network.strangers import Strangers
from pykbroker.wire.headers import decode_response_header
from pykbroker.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pykbroker.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from pykbroker.wire.messages.sasl_handshake import SaslHandshakeRequest

pytestmark = needs_kerberos
FRAMES: Final = int(os.environ.get("PYKBROKER_STRANGE_FRAMES", "10000")) // 2
_HANDSHAKE: Final = ask(SaslHandshakeRequest("GSSAPI"), 1)


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    with running_realm(tmp_path_factory.mktemp("realm")) as realm:
        yield realm


def token(data: bytes) -> bytes:
    return ask(SaslAuthenticateRequest(data), 2)


def says(cache: Path) -> list[Sequence[Part]]:
    """The beginning is good, once: it is never shown again, and its beginning, middle and end are spoiled each time anew."""
    first = initiator(cache).step()
    other = initiator(cache)

    def fresh(sent: bytes) -> bytes:
        return token(initiator(cache).step())

    return [
        [_HANDSHAKE, token(first)],
        [_HANDSHAKE, token(first[: len(first) // 2])],
        [_HANDSHAKE, fresh, token(b""), token(b"\5\4\0\0" + bytes(28))],
        [_HANDSHAKE, fresh, token(b""), token(other.step())],
        [_HANDSHAKE, fresh, ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)]), 7)],
        [ask(SaslHandshakeRequest("GSSAPI"), 0), first],
        [first],
    ]


def _auth_bytes(sent: bytes) -> bytes:
    """Of the answer that came last."""
    while (size := int.from_bytes(sent[:4], "big")) + 4 < len(sent):
        sent = sent[size + 4 :]
    _, at = decode_response_header(sent, 4, SaslAuthenticateResponse.API_KEY, 2)
    return bytes(SaslAuthenticateResponse.decode(sent, at, 2)[0].auth_bytes)


def settings(realm: Realm) -> dict[str, str]:
    return {
        "sasl.kerberos.service.name": "kafka",
        "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,GSSAPI",
        "listener.name.sasl.gssapi.sasl.jaas.config": realm.jaas(),
    }


@pytest.mark.deep
def test_nothing_is_served_and_nobody_fails(realm: Realm, tmp_path: Path) -> None:
    strangers = Strangers(tmp_path, seed=15, says=says(realm.ticket("alice")), more=settings(realm))
    strangers.send(FRAMES)
    assert not strangers.found
    assert min(strangers.closed, strangers.answered) > strangers.connections // 4


def test_who_does_sign_in_is_found_out(realm: Realm, tmp_path: Path) -> None:
    """What looks for faults is able to find one."""
    cache, client = realm.ticket("bob"), []

    def first(sent: bytes) -> bytes:
        client[:] = [initiator(cache, mutual=False)]
        return token(client[0].step())

    def last(sent: bytes) -> bytes:
        try:
            return token(client[0].wrap(client[0].unwrap(_auth_bytes(sent)).message, False).message)
        except Exception:  # noqa: BLE001 - what comes before was spoiled
            return b""

    signing: list[Part] = [_HANDSHAKE, first, last, ask(CreateTopicsRequest([CreatableTopic("t", 1, 1)]), 7)]
    strangers = Strangers(tmp_path, seed=15, says=[signing], more=settings(realm))
    strangers.send(300)
    assert strangers.found["somebody is User:bob"]
