"""Tokens of OAUTHBEARER for tests: unsecured ones, and those of an issuer who has keys."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa


def claims(now_ms: int, **other: Any) -> dict[str, Any]:
    """Of an hour, and others over them; None takes a claim away."""
    now = now_ms // 1000
    every = {"sub": "alice", "iat": now, "exp": now + 3600, **other}
    return {name: value for name, value in every.items() if value is not None}


def unsecured(now_ms: int, **other: Any) -> str:
    return f"{_part({'alg': 'none'})}.{_part(claims(now_ms, **other))}."


def first_message(token: str, authzid: str = "") -> bytes:
    """What a client sends."""
    return f"n,{'a=' + authzid if authzid else ''},\x01auth=Bearer {token}\x01\x01".encode()


def _part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


class Issuer:
    """Who signs with one RSA key, called ``kid``."""

    def __init__(self, kid: str) -> None:
        self.kid = kid
        self._key = rsa.generate_private_key(65537, 2048)

    @property
    def public(self) -> dict[str, Any]:
        """As it stands in a set of keys."""
        return jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True) | {"kid": self.kid}

    def sign(self, now_ms: int, **other: Any) -> str:
        return jwt.encode(claims(now_ms, **other), self._key, "RS256", {"kid": self.kid})


@cache
def issuer(kid: str = "first") -> Issuer:
    return Issuer(kid)


def key_set(*issuers: Issuer) -> str:
    """In JSON."""
    return json.dumps({"keys": [each.public for each in issuers]})
