"""OAUTHBEARER (RFC 7628), the client's side: sends a token."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pykbroker.security.client.login import LoginFailed

_ACKNOWLEDGED = b"\x01"


class OAuthBearerLogin:
    """See the module. ``token`` returns one; it is called for each exchange, since tokens expire."""

    def __init__(self, token: Callable[[], str], extensions: Mapping[str, str]) -> None:
        self._token = token
        self._extensions = extensions
        self._refused: str | None = None

    def first(self) -> bytes:
        pairs = {"auth": f"Bearer {self._token()}", **self._extensions}
        return ("n,,\x01" + "".join(f"{name}={value}\x01" for name, value in pairs.items()) + "\x01").encode()

    def answer(self, challenge: bytes) -> bytes | None:
        """A broker that refuses the token sends the reason and awaits an acknowledgement before it fails the exchange."""
        if not challenge:
            return None
        if self._refused is not None:
            raise LoginFailed(f"the broker rejects the token: {self._refused}")
        self._refused = challenge.decode("utf-8", "replace")
        return _ACKNOWLEDGED
