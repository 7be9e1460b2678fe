"""SCRAM: the exchanges of RFC 7677 and RFC 5802's rules, and every way to be refused."""

from __future__ import annotations

import base64
import hashlib
import hmac
from types import SimpleNamespace
from typing import Any

import pytest

from pykbroker.security.sasl.mechanism import Authenticated, Refused
from pykbroker.security.sasl.scram import Found, ScramExchange, stored_and_server_key

SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")


def credential(password: str, algorithm: str = "sha256") -> Any:
    stored, server = stored_and_server_key(hashlib.pbkdf2_hmac(algorithm, password.encode(), SALT, 4096), algorithm)
    return SimpleNamespace(salt=SALT, stored_key=stored, server_key=server, iterations=4096)


def exchange(nonce: str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", **users: str) -> ScramExchange:
    known = {name: Found(credential(word), Authenticated(name)) for name, word in ({"user": "pencil"} | users).items()}
    return ScramExchange("sha256", lambda name, token: None if token else known.get(name), lambda: nonce)


FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
CHALLENGE = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
FINAL = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="


def test_the_exchange_of_rfc_7677() -> None:
    ours = exchange()
    assert ours.evaluate(FIRST) == CHALLENGE
    assert ours.result is None
    assert ours.evaluate(FINAL) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert ours.result == Authenticated("user")


def final_for(name: str, password: str, challenge: bytes, first: bytes) -> bytes:
    values = dict(part.split("=", 1) for part in challenge.decode().split(","))
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(values["s"]), int(values["i"]))
    key = hmac.digest(salted, b"Client Key", "sha256")
    unproved = f"c=biws,r={values['r']}"
    signed = b",".join((first.split(b",", 2)[2], challenge, unproved.encode()))
    signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
    proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
    return f"{unproved},p={base64.b64encode(proof).decode()}".encode()


@pytest.mark.parametrize("said", ["a=3Db=2Cc", "=2C=3D2C"])
def test_names_are_unescaped(said: str) -> None:
    name = {"a=3Db=2Cc": "a=b,c", "=2C=3D2C": ",=2C"}[said]
    ours = exchange(**{name: "odd"})
    first = f"n,,n={said},r=abc".encode()
    ours.evaluate(final_for(said, "odd", ours.evaluate(first), first))
    assert ours.result == Authenticated(name)


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"y,,n=user,r=abc",
        b"p=tls-unique,,n=user,r=abc",
        b"n,,n=,r=abc",
        b"n,,n=user,r=",
        b"n,,m=x,n=user,r=abc",
        b"n,,n=us=er,r=abc",
        b"n,,n=user,r=a b",
        b"n,,n=nobody,r=abc",
        b"n,,n=user,r=abc,tokenauth=true",
        b"n,a=other,n=user,r=abc",
        b"n,,n=\xc3\xbcser,r=abc",
        b"n,,n=user,r=abc\0",
    ],
)
def test_first_messages_that_are_refused(first: bytes) -> None:
    with pytest.raises(Refused):
        exchange().evaluate(first)


@pytest.mark.parametrize(
    "final",
    [
        b"",
        FINAL.replace(b"dHzb", b"dHzc"),
        FINAL.replace(b"$k0", b"$k1"),
        FINAL.replace(b"r=rOpr", b"r=xOpr"),
        FINAL.replace(b"c=biws", b"c=eSws"),
        FINAL[: FINAL.index(b"p=")] + b"p=",
        FINAL[: FINAL.index(b"p=")] + b"p=AAAA",
        FINAL.replace(b",p=", b",m=x,p="),
        FINAL + b",x=y",
    ],
)
def test_proofs_that_are_refused(final: bytes) -> None:
    ours = exchange()
    ours.evaluate(FIRST)
    with pytest.raises(Refused) as refused:
        ours.evaluate(final)
    assert refused.value.told is None
    assert ours.result is None
