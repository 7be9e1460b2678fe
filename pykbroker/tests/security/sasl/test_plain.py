"""PLAIN: who is let in, and what others hear."""

from __future__ import annotations

import pytest

from pykbroker.security.sasl.mechanism import CredentialsRefused
from pykbroker.security.sasl.plain import PlainExchange, users_of

USERS = users_of(
    {
        "user_alice": "secret",
        "user_br\N{LATIN SMALL LETTER O WITH DIAERESIS}t": "kn\N{LATIN SMALL LETTER A WITH DIAERESIS}cke",
        "user_": "x",
        "user_empty": "",
        "username": "broker",
        "password": "own",
    }
)


@pytest.mark.parametrize(
    "token",
    [
        "\0alice\0secret",
        "alice\0alice\0secret",
        "\0br\N{LATIN SMALL LETTER O WITH DIAERESIS}t\0kn\N{LATIN SMALL LETTER A WITH DIAERESIS}cke",
    ],
)
def test_who_knows_the_password_is_in(token: str) -> None:
    exchange = PlainExchange(USERS)
    assert exchange.evaluate(token.encode()) == b""
    assert exchange.result is not None
    assert exchange.result.name == token.split("\0")[1]


@pytest.mark.parametrize(
    ("token", "told"),
    [
        (b"\0alice\0wrong", "Invalid username or password"),
        (b"\0nobody\0secret", "Invalid username or password"),
        (b"\0broker\0own", "Invalid username or password"),  # the broker's own, for others
        (b"\0empty\0", "password not specified"),
        (b"\0empty\0x", "Invalid username or password"),
        (b"\0\0x", "username not specified"),
        (b"bob\0alice\0secret", "authorization id"),
        (b"bob\0alice\0wrong", "Invalid username or password"),
        (b"alice\0secret", "expected 3 tokens, got 2"),
        (b"\0a\0b\0c\0d", "expected 3 tokens, got 4"),
        (b"", "expected 3 tokens, got 1"),
        (b"\0\xff\0\xff", "Invalid username or password"),
    ],
)
def test_others_are_not(token: bytes, told: str) -> None:
    exchange = PlainExchange(USERS)
    with pytest.raises(CredentialsRefused) as refused:
        exchange.evaluate(token)
    assert told in str(refused.value.client_message)
    assert exchange.result is None
