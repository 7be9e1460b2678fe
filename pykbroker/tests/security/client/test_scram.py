"""SCRAM, the client's side: the exchange of RFC 7677, brokers that are not who they say, and our own broker's side."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace
from typing import Any

import pytest

from pykbroker.security.client.login import LoginFailed
from pykbroker.security.client.scram import ALGORITHMS, ScramLogin
from pykbroker.security.sasl.mechanism import Authenticated, CredentialsRefused
from pykbroker.security.sasl.scram import FoundCredential, ScramExchange, stored_and_server_key

NONCE = "rOprNGfwEbeRWgbNEkqO"
CHALLENGE = f"r={NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"


def login(name: str = "user", password: str = "pencil", **more: Any) -> ScramLogin:
    return ScramLogin("SCRAM-SHA-256", name, password, NONCE, **more)


def test_the_exchange_of_rfc_7677() -> None:
    ours = login()
    assert ours.first() == f"n,,n=user,r={NONCE}".encode()
    proof = ours.answer(CHALLENGE.encode())
    assert proof is not None
    assert proof.endswith(b"$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    assert ours.answer(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") is None


@pytest.mark.parametrize("mechanism", ALGORITHMS)
@pytest.mark.parametrize("by_token", [False, True])
@pytest.mark.parametrize(("typed", "good"), [("gr\u00fcn", True), ("blau", False)])
def test_our_brokers_side_lets_in_who_knows_the_password(
    mechanism: str, by_token: bool, typed: str, good: bool
) -> None:
    algorithm = ALGORITHMS[mechanism]
    salted = hashlib.pbkdf2_hmac(algorithm, "gr\u00fcn".encode(), b"salt", 4096)
    stored, server = stored_and_server_key(salted, algorithm)
    credential: Any = SimpleNamespace(salt=b"salt", stored_key=stored, server_key=server, iterations=4096)
    found = FoundCredential(credential, Authenticated("a=b,c"))
    broker = ScramExchange(
        algorithm, lambda name, token: found if (name, token) == ("a=b,c", by_token) else None, lambda: "x"
    )
    ours = ScramLogin(mechanism, "a=b,c", typed, NONCE, by_token=by_token)
    proof = ours.answer(broker.evaluate(ours.first()))
    assert proof is not None
    if good:
        assert ours.answer(broker.evaluate(proof)) is None
        assert broker.result == Authenticated("a=b,c")
    else:
        with pytest.raises(CredentialsRefused):
            broker.evaluate(proof)


@pytest.mark.parametrize(
    ("challenge", "why"),
    [
        (CHALLENGE.replace(NONCE, "another"), "does not belong to this exchange"),
        (CHALLENGE.replace("%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", ""), "does not belong to this exchange"),
        ("e=other-error", "not valid SCRAM"),
        (CHALLENGE.replace("4096", "4095"), "4095 iterations"),
        (CHALLENGE.replace("W22Z", "?"), "not valid SCRAM"),
    ],
)
def test_a_challenge_that_is_none(challenge: str, why: str) -> None:
    with pytest.raises(LoginFailed, match=why):
        login().answer(challenge.encode())


@pytest.mark.parametrize(
    ("said", "why"),
    [(b"v=AAAA", "signature is wrong"), (b"v=?", "not valid SCRAM"), (b"e=invalid-proof", "invalid-proof")],
)
def test_a_broker_that_does_not_know_the_password(said: bytes, why: str) -> None:
    ours = login()
    ours.answer(CHALLENGE.encode())
    with pytest.raises(LoginFailed, match=why):
        ours.answer(said)
