"""Secrets of delegation tokens: the HMAC, SCRAM by it, and who may ask."""

from __future__ import annotations

import base64
import random

import pytest

from compat_tests.security.scram_client import ScramClient
from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.image import MetadataImage
from pykbroker.security.context import RequestContext
from pykbroker.security.delegation_tokens import TokenSecrets, concerns, hmac_of, may_ask
from pykbroker.security.sasl.mechanism import Authenticated, CredentialsRefused
from pykbroker.security.sasl.scram import HASHES, MECHANISMS, ScramExchange
from pykbroker.tests.kit.cluster import Peer
from pykbroker.wire.internal.delegation_token_record import DelegationTokenRecord

TOKEN = DelegationTokenRecord("User:al:ice", "User:eve", ["User:bob"], 0, 2000, 1000, "the-id")


def secrets() -> TokenSecrets:
    return TokenSecrets(b"key", {TOKEN.token_id: TOKEN}, random.Random(1))


def test_the_secret_is_an_hmac_by_sha_512() -> None:
    """The second example of RFC 4231."""
    assert hmac_of(b"Jefe", "what do ya want for nothing?").hex() == (
        "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
        "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"
    )


@pytest.mark.parametrize("mechanism", HASHES)
def test_its_owner_signs_in_by_it(mechanism: int) -> None:
    known = secrets()
    exchange = ScramExchange(
        HASHES[mechanism], lambda name, token: known.find(name, mechanism) if token else None, lambda: "n"
    )
    password = base64.b64encode(known.hmac("the-id")).decode()
    client = ScramClient(MECHANISMS[mechanism], "the-id", password, extensions=",tokenauth=true")
    assert client.trusts(exchange.evaluate(client.final(exchange.evaluate(client.first()))))
    assert exchange.result == Authenticated("al:ice", 1000, by_token=True)


def test_another_secret_is_refused() -> None:
    known = secrets()
    exchange = ScramExchange("sha256", lambda name, _: known.find(name, 1), lambda: "n")
    client = ScramClient("SCRAM-SHA-256", "the-id", "the-id", extensions=",tokenauth=true")
    challenge = exchange.evaluate(client.first())
    with pytest.raises(CredentialsRefused, match="proof"):
        exchange.evaluate(client.final(challenge))
    assert exchange.result is None


def test_a_credential_is_made_once_and_forgotten_with_its_token() -> None:
    known = secrets()
    found = known.find("the-id", 1)
    assert found is not None
    assert known.find("the-id", 1).credential is found.credential  # type: ignore[union-attr]
    assert known.find("nobody's", 1) is None
    known.follow(MetadataImage(), MetadataDelta(delegation_tokens=[("the-id", True)]))
    assert known.find("the-id", 1).credential is found.credential  # type: ignore[union-attr]
    known.follow(MetadataImage(), MetadataDelta(delegation_tokens=[("the-id", False)]))
    assert known.find("the-id", 1).credential.salt != found.credential.salt  # type: ignore[union-attr]


@pytest.mark.parametrize(("who", "is_told"), [("al:ice", True), ("eve", True), ("bob", True), ("alice", False)])
def test_whom_a_token_concerns(who: str, is_told: bool) -> None:
    assert concerns(TOKEN, f"User:{who}") == is_told


@pytest.mark.parametrize(
    ("listener", "principal", "by_token", "may"),
    [
        ("PLAINTEXT", "User:alice", False, False),
        ("UNHEARD", "User:alice", False, False),
        ("CERTS", "User:CN=alice", False, True),
        ("CERTS", "User:ANONYMOUS", False, False),
        ("USERS", "User:alice", False, True),
        ("USERS", "User:ANONYMOUS", False, True),
        ("USERS", "User:alice", True, False),
    ],
)
def test_who_may_ask(listener: str, principal: str, by_token: bool, may: bool) -> None:
    protocols = {"PLAINTEXT": "PLAINTEXT", "CERTS": "SSL", "USERS": "SASL_SSL"}
    peer = Peer(listener=listener, principal=principal, by_token=by_token)
    assert may_ask(RequestContext(38, 1, 1, "c", peer.host, listener, principal, peer), protocols) == may
