"""SCRAM: the exchanges of RFC 7677 and RFC 5802's rules, and every way to be refused."""

from __future__ import annotations

import base64
import hashlib
import hmac
import tracemalloc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pykbroker.security.sasl.mechanism import Authenticated, CredentialsRefused
from pykbroker.security.sasl.scram import FoundCredential, ScramExchange, stored_and_server_key

SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")


def credential(password: str, algorithm: str = "sha256") -> Any:
    stored, server = stored_and_server_key(hashlib.pbkdf2_hmac(algorithm, password.encode(), SALT, 4096), algorithm)
    return SimpleNamespace(salt=SALT, stored_key=stored, server_key=server, iterations=4096)


def exchange(nonce: str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", **users: str) -> ScramExchange:
    known = {
        name: FoundCredential(credential(word), Authenticated(name))
        for name, word in ({"user": "pencil"} | users).items()
    }
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
        b"n,,n=user,r=abc,tokenauth=true,tokenauth=false",
        b"n,,n=user,r=abc,tokenauth=false,tokenauth=false",
    ],
)
def test_first_messages_that_are_refused(first: bytes) -> None:
    with pytest.raises(CredentialsRefused):
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
    with pytest.raises(CredentialsRefused) as refused:
        ours.evaluate(final)
    assert refused.value.client_message is None
    assert ours.result is None


@pytest.mark.parametrize(
    "first",
    [
        b"n,,n=" + b"a" * 500_000 + b",r=x",
        b"n,,n=" + b"=2C" * 170_000 + b",r=x",
        b"n,,n=a,r=x" + b",a=b" * 125_000 + b",",
        b"n,a=" + b"=3D" * 170_000,
    ],
)
def test_a_giant_first_message_takes_no_more_memory_than_it_has_itself(first: bytes) -> None:
    """Who sends it has not signed in."""
    assert most_memory(lambda: exchange().evaluate(first)) < 8 * len(first)


def test_a_giant_final_message_takes_no_more_memory_than_it_has_itself() -> None:
    for final in (
        FINAL[:-48] + b",a=b" * 125_000 + b",",
        b"c=" + b"abcd" * 125_000 + b"!",
        FINAL[:-48] + b",p=abc" * 80_000,
    ):
        ours = exchange()
        ours.evaluate(FIRST)
        assert most_memory(lambda: ours.evaluate(final)) < 8 * len(final)  # noqa: B023


def most_memory(refused: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(CredentialsRefused):
            refused()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_an_extension_may_be_called_as_the_proof_is() -> None:
    ours = exchange()
    challenge = ours.evaluate(FIRST + b",p=x")
    with pytest.raises(CredentialsRefused, match="its password differs"):
        ours.evaluate(b"c=biws,r=" + challenge[2:].partition(b",")[0] + b",p=x,p=" + b"A" * 43 + b"=")
