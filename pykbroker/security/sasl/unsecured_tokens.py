"""Validates unsigned OAUTHBEARER tokens, whose claims are accepted as they are: Kafka's default, for tests only.

The rules and the options of the login module are those of OAuthBearerUnsecuredValidatorCallbackHandler.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from pykbroker.security.sasl.mechanism import MOST_MS, Authenticated
from pykbroker.security.sasl.oauthbearer import TokenRefused

_OPTION: Final = "unsecuredValidator"


class UnsecuredTokens:
    """See the module. Raises ValueError for an invalid option."""

    def __init__(self, options: Mapping[str, str], now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._principal = options.get(f"{_OPTION}PrincipalClaimName", "").strip() or "sub"
        self._scope = options.get(f"{_OPTION}ScopeClaimName", "").strip() or "scope"
        self._required = options.get(f"{_OPTION}RequiredScope", "").split()
        skew = options.get(f"{_OPTION}AllowableClockSkewMs", "").strip() or "0"
        if not skew.isdecimal():
            raise ValueError(
                f"{_OPTION}AllowableClockSkewMs is {skew!r}; it must be a number of milliseconds, 0 or more"
            )
        self._skew_ms = int(skew)

    def validate(self, token: str) -> Authenticated:
        """Check a token's claims; returns its identity. Raises TokenRefused."""
        header, claims = _parts(token)
        if _as_java(header.get("alg")) != "none":
            raise TokenRefused("Unsecured JWS must have 'none' for an algorithm")
        name = _as_java(claims.get(self._principal)) if self._principal in claims else None
        if not isinstance(name, str) or not name.strip():
            raise TokenRefused(f"No principal name in JWT claim: {self._principal}")
        expires_ms = self._check_times(_number(claims, "iat"), _number(claims, "exp"))
        self._check_scope(_as_java(claims.get(self._scope)) if self._scope in claims else [])
        return Authenticated(name, expires_ms)

    def _check_times(self, issued: float | None, expires: float | None) -> int:
        """Check the times; returns the expiration in milliseconds since the epoch."""
        now_ms = self._now_ms()
        if issued is not None and 1000 * issued > now_ms + self._skew_ms:
            raise TokenRefused("The token was issued in the future")
        if expires is None:
            raise TokenRefused("No expiration time in JWT")
        if now_ms - self._skew_ms >= 1000 * expires:
            raise TokenRefused("The token has expired")
        if issued is not None and expires <= issued:
            raise TokenRefused("The token expires before it is issued")
        return round(min(1000 * expires, MOST_MS))

    def _check_scope(self, claim: Any) -> None:
        if not isinstance(claim, str | list):
            raise TokenRefused(f"The '{self._scope}' claim is neither a string nor a list")
        given = {scope.strip() for scope in ([claim] if isinstance(claim, str) else claim)}
        missing = [scope for scope in self._required if scope not in given]
        if missing:
            required = f"[{', '.join(self._required)}]"
            raise TokenRefused(f"The token lacks the scope {missing[0]}", "insufficient_scope", required)


def _parts(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the claims."""
    parts = token.split(".")
    if len(parts) != 3:
        raise TokenRefused("Unsecured JWS compact serializations must have 3 dot-separated Base64URL-encoded values")
    if parts[2]:
        raise TokenRefused("Unsecured JWS must not contain a digital signature")
    return _object(parts[0]), _object(parts[1])


def _object(part: str) -> dict[str, Any]:
    try:
        if "+" in part or "/" in part:
            raise ValueError("the standard alphabet of Base64")
        data = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
        value = json.loads(data, parse_constant=_no_number)
    except (binascii.Error, ValueError, RecursionError) as error:
        raise TokenRefused("malformed Base64 URL encoded value, or malformed JSON") from error
    return value if isinstance(value, dict) else {}


def _no_number(text: str) -> None:
    """Refuse NaN and the infinities, which Python's parser accepts."""
    raise ValueError(f"{text} is not a JSON number")


def _as_java(value: Any) -> Any:
    """A claim as Kafka's JSON parser returns it: numbers and lists unchanged, everything else as text."""
    if isinstance(value, list):
        return [str(_as_java(each)) for each in value]
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return "" if isinstance(value, dict) else value


def _number(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if name in claims and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise TokenRefused(f"The '{name}' claim is not a number")
    return value
