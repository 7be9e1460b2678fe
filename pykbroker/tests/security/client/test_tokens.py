"""Where a client has its token from. What a token must be the brokers' validators say, ours for one."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from pykbroker.security.client.login import LoginFailed
from pykbroker.security.client.tokens import TokenEndpoint, TokenFile, UnsecuredToken, extensions
from pykbroker.security.sasl.mechanism import Authenticated
from pykbroker.security.sasl.unsecured_tokens import UnsecuredTokens

NOW_MS = 1_700_000_000_000


def test_an_unsecured_one_is_made_of_options() -> None:
    options = {
        "unsecuredLoginStringClaim_sub": 'a "quoted" name',
        "unsecuredLoginNumberClaim_level": "3",
        "unsecuredLoginListClaim_scope": "|a|b",
        "unsecuredLoginLifetimeSeconds": "60",
        "unsecuredLoginExtension_zone": "z",
    }
    token = UnsecuredToken(options, lambda: NOW_MS)
    validator = UnsecuredTokens({"unsecuredValidatorRequiredScope": "a b"}, lambda: NOW_MS)
    assert validator.validate(token()) == Authenticated('a "quoted" name', NOW_MS + 60_000)
    assert json.loads(base64.urlsafe_b64decode(token().split(".")[1] + "=="))["level"] == 3.0
    assert token.user == 'a "quoted" name'
    assert extensions(options) == {"zone": "z"}


def test_another_claim_may_say_who_it_is() -> None:
    options = {"unsecuredLoginStringClaim_who": "bob", "unsecuredLoginPrincipalClaimName": "who"}
    assert UnsecuredToken(options, lambda: NOW_MS).user == "bob"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "unsecuredLoginStringClaim_sub"),
        ({"unsecuredLoginStringClaim_sub": "a", "unsecuredLoginNumberClaim_exp": "1"}, "exp cannot be set"),
        ({"unsecuredLoginStringClaim_sub": "a", "unsecuredLoginLifetimeSeconds": "soon"}, "soon"),
        ({"unsecuredLoginStringClaim_sub": "a", "unsecuredLoginNumberClaim_level": "high"}, "high"),
    ],
)
def test_options_of_which_none_can_be_made(options: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        UnsecuredToken(options, lambda: NOW_MS)


def test_a_file_is_read_whenever_a_token_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "token"
    token = TokenFile(path)
    with pytest.raises(LoginFailed, match="cannot be read"):
        token()
    for text in ("one", "two"):
        path.write_text(text + "\n")
        assert token() == text


class Issuer(BaseHTTPRequestHandler):
    """Gives ``{"access_token": "<credentials> <body>"}``; to a path with a status that status, to others other things."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        shown = base64.b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
        answers = {"/token": {"access_token": f"{shown} {body}"}, "/nothing": {}, "/list": []}
        self.send_response(200 if self.path in answers else 401)
        self.end_headers()
        self.wfile.write(json.dumps(answers.get(self.path)).encode())

    def log_message(self, *args: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def issuer() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Issuer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_an_issuer_gives_one_to_who_shows_credentials(issuer: str) -> None:
    token = TokenEndpoint(f"{issuer}/token", "me", "secret", "a b", None)
    assert token() == "me:secret grant_type=client_credentials&scope=a+b"
    assert TokenEndpoint(f"{issuer}/token", "me", "s", None, None)() == "me:s grant_type=client_credentials"


@pytest.mark.parametrize(
    ("path", "why"), [("/other", "401"), ("/nothing", "has no access_token"), ("/list", "has no access_token")]
)
def test_an_issuer_that_gives_none(issuer: str, path: str, why: str) -> None:
    with pytest.raises(LoginFailed, match=why) as failed:
        TokenEndpoint(issuer + path, "me", "secret", None, None)()
    assert "secret" not in str(failed.value)
