"""Tokens of OAUTHBEARER: unsecured ones, and an issuer with keys who signs."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

AUDIENCE, ISSUER = "kafka", "https://issuer.example"


def now() -> int:
    return int(time.time())


def claims(**other: Any) -> dict[str, Any]:
    """Good ones, and others over them; None takes a claim away."""
    every = {"sub": "alice", "iat": now() - 10, "exp": now() + 3600, "aud": AUDIENCE, "iss": ISSUER, **other}
    return {name: value for name, value in every.items() if value is not None}


def part(value: Any) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def unsecured(header: Any = None, **other: Any) -> str:
    return f"{part({'alg': 'none'} if header is None else header)}.{part(claims(**other))}."


def first_message(token: str, authzid: str = "", pairs: str = "") -> bytes:
    """What a client sends."""
    name = f"a={authzid}" if authzid else ""
    return f"n,{name},\x01auth=Bearer {token}\x01{pairs}\x01".encode()


class Issuer:
    """Who signs."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {
            "rsa": rsa.generate_private_key(65537, 2048),
            "ec": ec.generate_private_key(ec.SECP256R1()),
            "small": rsa.generate_private_key(65537, 1024),
        }
        self.stranger = rsa.generate_private_key(65537, 2048)

    def key_set(self, *extra: dict[str, Any]) -> str:
        """In JSON, the public ones."""
        keys = []
        for kid, key in self.keys.items():
            algorithm = jwt.algorithms.ECAlgorithm if kid == "ec" else jwt.algorithms.RSAAlgorithm
            keys.append(algorithm.to_jwk(key.public_key(), as_dict=True) | {"kid": kid})
        return json.dumps({"keys": [*keys, *extra]})

    def sign(self, kid: str | None = "rsa", algorithm: str = "RS256", key: Any = None, **other: Any) -> str:
        headers = {} if kid is None else {"kid": kid}
        return jwt.encode(claims(**other), key or self.keys[kid or "rsa"], algorithm, headers)


def key_set_file(folder: Path, issuer: Issuer) -> str:
    """Its address."""
    path = folder / "jwks.json"
    path.write_text(issuer.key_set())
    return path.as_uri()
