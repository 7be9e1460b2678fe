"""OAUTHBEARER: the message, and what is said of a token that is refused. What a token must be is tested with its validator."""

from __future__ import annotations

import tracemalloc

import pytest

from pykbroker.security.sasl.mechanism import Authenticated, CredentialsRefused
from pykbroker.security.sasl.oauthbearer import OAuthBearerExchange, TokenRefused
from pykbroker.tests.kit.tokens import first_message

SEEN: list[str] = []


def validate(token: str) -> Authenticated:
    SEEN.append(token)
    if token == "bad":
        raise TokenRefused("it is bad", "insufficient_scope", "[a, b]")
    return Authenticated(token, 1000)


def test_the_token_says_who_it_is() -> None:
    exchange = OAuthBearerExchange(validate)
    assert exchange.evaluate(first_message("alice")) == b""
    assert exchange.result == Authenticated("alice", 1000)


def test_a_token_of_every_character_comes_through() -> None:
    token = "aZ09-_~+/.=="
    OAuthBearerExchange(validate).evaluate(first_message(token))
    assert SEEN[-1] == token


def test_a_giant_message_takes_no_more_memory_than_it_has_itself() -> None:
    """Who sends it has not signed in."""
    for pairs in (b"n,,\x01" + b"a=b\x01" * 125_000, b"n,a=" + b"=2C" * 170_000):
        tracemalloc.start()
        try:
            with pytest.raises(CredentialsRefused):
                OAuthBearerExchange(validate).evaluate(pairs)
            assert tracemalloc.get_traced_memory()[1] < 8 * len(pairs)
        finally:
            tracemalloc.stop()


def test_a_refusal_is_told_in_json_and_ends_it_when_the_client_has_heard() -> None:
    exchange = OAuthBearerExchange(validate)
    told = b'{"status":"insufficient_scope", "scope":"[a, b]"}'
    assert exchange.evaluate(first_message("bad")) == told
    assert exchange.result is None
    with pytest.raises(CredentialsRefused) as refused:
        exchange.evaluate(b"\x01")
    assert refused.value.client_message == told.decode()


def test_a_client_that_was_refused_may_have_a_better_token() -> None:
    exchange = OAuthBearerExchange(validate)
    exchange.evaluate(first_message("bad"))
    assert exchange.evaluate(first_message("alice")) == b""
    assert exchange.result is not None


def test_an_authorization_id_is_the_principal() -> None:
    OAuthBearerExchange(validate).evaluate(first_message("alice", "alice"))
    with pytest.raises(CredentialsRefused, match="authorization id"):
        OAuthBearerExchange(validate).evaluate(first_message("alice", "bob"))


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"n,,\x01\x01",
        b"y,,\x01auth=Bearer alice\x01\x01",
        b"n,,\x01auth=Bearer alice\x01",
        b"n,,\x01auth=Basic alice\x01\x01",
        b"n,,\x01auth=alice\x01\x01",
        b"n,,\x01a_b=c\x01auth=Bearer alice\x01\x01",
        b"n,,\x01auth=Bearer \xff\x01\x01",
    ],
)
def test_what_is_no_message_is_refused_and_no_token_is_looked_at(message: bytes) -> None:
    before = len(SEEN)
    with pytest.raises(CredentialsRefused, match="Invalid OAUTHBEARER client first message"):
        OAuthBearerExchange(validate).evaluate(message)
    assert len(SEEN) == before
