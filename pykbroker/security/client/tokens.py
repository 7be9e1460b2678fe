"""Sources of a client's OAUTHBEARER token: made by itself without a signature, read from a file, or requested from an issuer
with client credentials (RFC 6749, section 4.4). Options and settings are those of Kafka's clients.
"""

from __future__ import annotations

import base64
import json
import re
import urllib.parse
from collections.abc import Callable, Mapping
from pathlib import Path
from ssl import SSLContext
from typing import Any, Final

from pykbroker.security.client.login import LoginFailed
from pykbroker.security.http_request import answer_of

_OPTION: Final = "unsecuredLogin"
_CLAIM: Final = re.compile(rf"{_OPTION}(?P<kind>String|Number|List)Claim_(?P<name>.+)")
_LIFETIME_S: Final = "3600"


def unsigned_token(claims: Mapping[str, Any]) -> str:
    """An unsigned token with these claims."""
    return f"{_part({'alg': 'none'})}.{_part(claims)}."


def _part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


class UnsecuredToken:
    """Makes tokens from the options of the login module (``unsecuredLoginStringClaim_sub`` and others). Raises ValueError."""

    def __init__(self, options: Mapping[str, str], now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._claims = {found["name"]: _claim(found["kind"], text) for found, text in _claims(options)}
        self._lifetime_s = float(int(options.get(f"{_OPTION}LifetimeSeconds", _LIFETIME_S)))
        if reserved := {"iat", "exp"} & self._claims.keys():
            raise ValueError(f"the claim {', '.join(sorted(reserved))} cannot be set: the time determines it")
        principal = options.get(f"{_OPTION}PrincipalClaimName", "").strip() or "sub"
        if not self._claims.get(principal):
            raise ValueError(f'the token has no subject: the option {_OPTION}StringClaim_{principal}="NAME" is missing')
        self.user = str(self._claims[principal])

    def __call__(self) -> str:
        now = self._now_ms() / 1000
        return unsigned_token({"exp": now + self._lifetime_s, "iat": now, **self._claims})


def _claims(options: Mapping[str, str]) -> list[tuple[re.Match[str], str]]:
    return [(found, text) for name, text in options.items() if (found := _CLAIM.fullmatch(name))]


def _claim(kind: str, text: str) -> Any:
    """The value of a claim. A list begins with its separator: ``|one|two``."""
    if kind == "Number":
        return float(text)
    return text if kind == "String" else text[1:].split(text[0]) if len(text) > 1 else []


def extensions(options: Mapping[str, str], prefix: str = f"{_OPTION}Extension_") -> dict[str, str]:
    """The SASL extensions, sent beside the token (RFC 7628)."""
    return {name.removeprefix(prefix): text for name, text in options.items() if name.startswith(prefix)}


class TokenFile:
    """Reads the token from a file each time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.user = f"of the token in {path}"

    def __call__(self) -> str:
        try:
            return self._path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise LoginFailed(f"the token in {self._path} cannot be read: {error}") from error


class TokenEndpoint:
    """Requests a token at an http(s) URL with ``client_id`` and ``secret``, which are not sent on where it redirects."""

    def __init__(self, url: str, client_id: str, secret: str, scope: str | None, context: SSLContext | None) -> None:
        self.user = client_id
        self._url = url
        self._context = context
        shown = base64.b64encode(f"{client_id}:{secret}".encode()).decode()
        self._headers = {"Authorization": f"Basic {shown}", "Accept": "application/json"}
        asked = {"grant_type": "client_credentials", **({"scope": scope} if scope else {})}
        self._body = urllib.parse.urlencode(asked).encode()

    def __call__(self) -> str:
        try:
            given = json.loads(answer_of(self._url, self._context, body=self._body, headers=self._headers))
        except (OSError, ValueError, RecursionError) as error:
            raise LoginFailed(f"{self._url} returned no token: {error}") from error
        token = given.get("access_token") or given.get("id_token") if isinstance(given, dict) else None
        if not isinstance(token, str):
            raise LoginFailed(f"the answer of {self._url} has no access_token")
        return token
