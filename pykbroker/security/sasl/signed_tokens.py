"""Validates signed OAUTHBEARER tokens (JWT, RFC 7519) against the issuer's public keys (JWKS, RFC 7517), with PyJWT.

The claims are checked as by Kafka's BrokerJwtValidator. Keys may be RSA, elliptic curve and Edwards curve keys; HMAC is not
accepted, since its key would be a secret that also signs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import jwt

from pykbroker.security.sasl.mechanism import MOST_MS, Authenticated
from pykbroker.security.sasl.oauthbearer import TokenRefused

#: Algorithms, each with its key type and curve.
_KEYS: Final = {
    **{f"{kind}{bits}": ("RSA", None) for kind in ("RS", "PS") for bits in (256, 384, 512)},
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", None),
}
_LEAST_RSA_BITS: Final = 2048
_VERIFIER: Final = jwt.PyJWS()


class KeySetError(ValueError):
    """The text is not a JWKS."""


class ClaimRules(NamedTuple):
    """The settings ``sasl.oauthbearer.*`` for claims."""

    audiences: Sequence[str] = ()
    issuer: str | None = None
    skew_s: int = 30
    subject_claim: str = "sub"
    scope_claim: str = "scope"
    #: Whether a token may be for anybody (sasl.oauthbearer.allow.unverified.audience of 4.4).
    any_audience: bool = False


class VerificationKey(NamedTuple):
    """A key of a JWKS."""

    kid: str | None
    kind: str
    curve: str | None
    algorithm: str | None
    key: Any

    def is_for(self, kid: str | None, algorithm: str) -> bool:
        """Whether it fits the header of a token."""
        kind, curve = _KEYS[algorithm]
        return (
            self.kind == kind
            and kid in (None, self.kid)
            and self.algorithm in (None, algorithm)
            and curve in (None, self.curve)
        )


def parse_key_set(text: str | bytes) -> tuple[VerificationKey, ...]:
    """The signature keys of a JWKS; others are ignored. Raises KeySetError."""
    try:
        entries = json.loads(text)["keys"]
        return tuple(key for entry in entries if (key := _key(entry)) is not None)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise KeySetError('not a key set (JWKS): {"keys": [...]} is expected') from error


def _key(entry: Mapping[str, Any]) -> VerificationKey | None:
    if entry.get("use") not in (None, "sig"):
        return None
    try:
        key = jwt.PyJWK(dict(entry)).key
    except jwt.PyJWTError:  # keys of unknown types are to be ignored (RFC 7517, section 5)
        return None
    if getattr(key, "key_size", _LEAST_RSA_BITS) < _LEAST_RSA_BITS and entry["kty"] == "RSA":
        return None
    return VerificationKey(entry.get("kid"), entry["kty"], entry.get("crv"), entry.get("alg"), key)


#: The key for a token's ``kid`` and ``alg``; None if there is none.
FindKey = Callable[[str | None, str], VerificationKey | None]


def find_key(keys: Iterable[VerificationKey], kid: str | None, algorithm: str) -> VerificationKey | None:
    """The first key that fits."""
    return next((key for key in keys if key.is_for(kid, algorithm)), None)


class SignedTokens:
    """See the module."""

    def __init__(self, find: FindKey, rules: ClaimRules, now_ms: Callable[[], int]) -> None:
        self._find = find
        self._rules = rules
        self._now_ms = now_ms

    def validate(self, token: str) -> Authenticated:
        """Check a token's signature and claims; returns its identity. Raises TokenRefused."""
        claims = self._verified(token)
        rules = self._rules
        expires = self._check_times(claims)
        if not rules.any_audience:
            _check_audience(claims, rules.audiences)
        if rules.issuer is not None and claims.get("iss") != rules.issuer:
            raise TokenRefused(f"its issuer is {claims.get('iss')!r}, but {rules.issuer!r} is expected")
        for name in ("iss", "sub", "jti"):
            if not isinstance(claims.get(name, ""), str):
                raise TokenRefused(f"its claim {name} is not a string")
        _check_scope(claims.get(rules.scope_claim))
        subject = claims.get(rules.subject_claim)
        if not isinstance(subject, str) or not subject.strip():
            raise TokenRefused(f"it has no subject: its claim {rules.subject_claim} is {subject!r}")
        return Authenticated(subject.strip(), min(1000 * expires, MOST_MS))

    def _verified(self, token: str) -> Mapping[str, Any]:
        try:
            header = _VERIFIER.get_unverified_header(token)
            algorithm, kid = header["alg"], header.get("kid")
            if algorithm not in _KEYS or "crit" in header:
                raise TokenRefused(f"its algorithm {algorithm} or its critical header parameters are not supported")
            key = self._find(kid, algorithm)
            if key is None:
                raise TokenRefused(f"the key set has no key for it: it is signed by {algorithm} with the key {kid!r}")
            claims = json.loads(_VERIFIER.decode(token, key.key, algorithms=[algorithm]))
        except (jwt.PyJWTError, ValueError, TypeError, KeyError, RecursionError) as error:
            raise TokenRefused(f"it cannot be verified ({error})") from error
        if not isinstance(claims, dict):
            raise TokenRefused("it has no claims")
        return claims

    def _check_times(self, claims: Mapping[str, Any]) -> int:
        """Check the times; returns the expiration in seconds since the epoch."""
        now, skew = self._now_ms() // 1000, self._rules.skew_s
        expires, issued, begins = (_seconds(claims, name) for name in ("exp", "iat", "nbf"))
        if expires is None or issued is None or min(expires, issued) < 0:
            raise TokenRefused("it lacks a valid issue or expiration time")
        if now - skew >= expires:
            raise TokenRefused("it has expired")
        if begins is not None and now + skew < begins:
            raise TokenRefused("it is not valid yet")
        if expires < max(issued, begins or 0):
            raise TokenRefused("it expires before it is valid")
        return expires


def _seconds(claims: Mapping[str, Any], name: str) -> int | None:
    value = claims.get(name)
    if value is None:
        return None
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or (isinstance(value, float) and not math.isfinite(value))
    ):
        raise TokenRefused(f"its claim {name} is not a number")
    return int(value)


def _check_audience(claims: Mapping[str, Any], expected: Sequence[str]) -> None:
    """A token with an audience is refused even if none is expected, as in Kafka before 4.4."""
    audience = claims.get("aud")
    if audience is None and not expected:
        return
    given = [audience] if isinstance(audience, str) else audience
    if not isinstance(given, list) or not any(each in expected for each in given):
        raise TokenRefused(
            f"its audience is {audience!r}, but sasl.oauthbearer.expected.audience is {','.join(expected)!r}"
        )


def _check_scope(claim: Any) -> None:
    scopes = [claim] if isinstance(claim, str) else claim
    if not isinstance(scopes, list):
        return
    stripped = [scope.strip() if isinstance(scope, str) else "" for scope in scopes]
    if not all(stripped) or len(set(stripped)) < len(stripped):
        raise TokenRefused("its scopes are not words, or not distinct")
