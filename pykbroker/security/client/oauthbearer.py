"""OAUTHBEARER (RFC 7628), the client's side: it shows a token."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pykbroker.security.client.login import LoginFailed

_ACKNOWLEDGED = b"\x01"


class OAuthBearerLogin:
    """See the module. ``token`` gets one; it is asked for each exchange, since tokens run out."""

    def __init__(self, token: Callable[[], str], extensions: Mapping[str, str]) -> None:
        self._token = token
        self._extensions = extensions
        self._refused: str | None = None

    def first(self) -> bytes:
        pairs = {"auth": f"Bearer {self._token()}", **self._extensions}
        return ("n,,\x01" + "".join(f"{name}={value}\x01" for name, value in pairs.items()) + "\x01").encode()

    def answer(self, challenge: bytes) -> bytes | None:
        """A broker that refuses says why, and goes on when that is acknowledged: to its refusal."""
        if not challenge:
            return None
        if self._refused is not None:
            raise LoginFailed(f"the broker refuses the token: {self._refused}")
        self._refused = challenge.decode("utf-8", "replace")
        return _ACKNOWLEDGED
