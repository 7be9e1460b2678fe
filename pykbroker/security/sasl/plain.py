"""PLAIN (RFC 4616): a name and password in clear text, checked against the users in the listener's JAAS value."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Final

from pykbroker.security.sasl.mechanism import Authenticated, refused_aloud

USER_OPTION: Final = "user_"


def users_of(options: Mapping[str, str]) -> dict[str, str]:
    """The users and passwords in the options of PlainLoginModule."""
    return {key.removeprefix(USER_OPTION): password for key, password in options.items() if key.startswith(USER_OPTION)}


class PlainExchange:
    """See the module. The exchange is one message."""

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = users
        self.result: Authenticated | None = None

    def evaluate(self, token: bytes) -> bytes:
        parts = token.decode("utf-8", "replace").split("\0", 3)
        if len(parts) != 3:
            raise refused_aloud(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        asked_for, name, password = parts
        if not name:
            raise refused_aloud("Authentication failed: username not specified")
        if not password:
            raise refused_aloud("Authentication failed: password not specified")
        expected = self._users.get(name, "")
        if not hmac.compare_digest(expected.encode(), password.encode()):  # an unknown user's "" equals no password
            raise refused_aloud("Authentication failed: Invalid username or password")
        if asked_for not in ("", name):
            raise refused_aloud(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        self.result = Authenticated(name)
        return b""
