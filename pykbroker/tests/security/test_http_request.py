"""Requests to issuers over real sockets: where a redirect leads, and servers that never finish."""

from __future__ import annotations

import ssl
from contextlib import ExitStack

import pytest

from pykbroker.security.client.login import LoginFailed
from pykbroker.security.client.tokens import TokenEndpoint
from pykbroker.security.http_request import answer_of
from pykbroker.security.sasl.key_sets import fetch_keys
from pykbroker.security.sasl.signed_tokens import KeySetError
from pykbroker.tests.kit.certificates import authority
from pykbroker.tests.kit.dripping import ENDLESS, dripping
from pykbroker.tests.kit.redirecting import Server

TRUSTING = ssl.create_default_context(cadata=authority().certificate)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("tls", [False, True])
def test_credentials_follow_no_redirect(code: int, tls: bool) -> None:
    with ExitStack() as stack:
        other = stack.enter_context(Server().running())
        first = stack.enter_context(Server(other.address, code).running(tls=tls))
        token = TokenEndpoint(first.address, "me", "secret", None, TRUSTING if tls else None)
        with pytest.raises(LoginFailed, match=f"redirects to '{other.address}'.*credentials are not sent on") as failed:
            token()
        assert "secret" not in str(failed.value)
        assert len(first.heard) == 1
        assert other.heard == []


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_keys_are_not_fetched_where_a_redirect_leaves_https(code: int) -> None:
    with ExitStack() as stack:
        plain = stack.enter_context(Server().running())
        secured = stack.enter_context(Server(plain.address, code).running(tls=True))
        with pytest.raises(KeySetError, match=f"redirects from https to '{plain.address}'"):
            fetch_keys(secured.address, TRUSTING)
        assert plain.heard == []


def test_keys_are_fetched_where_a_redirect_is_as_safe_as_the_address() -> None:
    with ExitStack() as stack:
        at_last = stack.enter_context(Server().running(tls=True))
        between = stack.enter_context(Server(at_last.address).running(tls=True))
        plain = stack.enter_context(Server(between.address).running())
        assert [key.kid for key in fetch_keys(plain.address, TRUSTING)] == ["first"]


@pytest.mark.parametrize("elsewhere", ["file:///etc/passwd", "ftp://127.0.0.1/keys", "data:,x"])
def test_no_redirect_leads_to_another_protocol(elsewhere: str) -> None:
    with Server(elsewhere).running() as server, pytest.raises(KeySetError, match="returned no keys"):
        fetch_keys(server.address, None)


# Servers that never finish: each sends a piece well within every timeout of a socket


@pytest.mark.parametrize(("beginning", "piece"), ENDLESS)
def test_an_answer_that_never_ends_is_given_up(beginning: bytes, piece: bytes) -> None:
    """It ends at all: the server goes on until the client hangs up."""
    with dripping(beginning, piece) as url, pytest.raises(OSError, match=r"took too long|timed out"):
        answer_of(url, None, timeout_s=0.3)


def test_an_answer_has_at_most_a_megabyte() -> None:
    with (
        dripping(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * (1 << 20)) as url,
        pytest.raises(ValueError, match="more than 1048576"),
    ):
        answer_of(url, None)


@pytest.mark.parametrize("beginning", [b"\x00\x00\x00\x10", b"HTTP/1.1 200\r\nX: " + b"x" * 100_000])
def test_what_is_not_http_is_an_error_of_the_address(beginning: bytes) -> None:
    with dripping(beginning, b"\r\n") as url, pytest.raises(KeySetError, match="not HTTP"):
        fetch_keys(url, None)
