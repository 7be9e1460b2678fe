"""SCRAM-SHA-256 and -512 (RFC 5802), the server's side: proof that a client knows a password, which is not sent.

What Kafka takes of it is the layout here: no channel binding, messages in ASCII, extensions of which ``tokenauth=true`` says that
the name is a delegation token's id and the password its HMAC (KIP-48).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from pykbroker.security.sasl.mechanism import Authenticated, Refused, refused_aloud

#: Mechanisms by the numbers of the protocol, and their hash functions.
MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
HASHES: Final = {1: "sha256", 2: "sha512"}
MIN_ITERATIONS: Final = 4096

#: None of these gives back what it has taken: who has not signed in may send half a megabyte, and every way back is memory and time.
_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]++|=2C|=3D)++"
_VALUE: Final = r"[\x01-\x2b\x2d-\x7f]++"
_NONCE: Final = r"[\x21-\x2b\x2d-\x7e]++"
_BASE64: Final = r"(?:[a-zA-Z0-9/+]{4})*+(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSION: Final = rf",[A-Za-z]++={_VALUE}"
_FIRST: Final = re.compile(
    rf"n,(?:a=(?P<authzid>{_NAME}))?,(?P<bare>n=(?P<name>{_NAME}),r=(?P<nonce>{_NONCE})(?P<extensions>(?:{_EXTENSION})*+))"
)
_FINAL: Final = re.compile(
    rf"(?P<unproved>c=(?:{_BASE64}),r=(?P<nonce>{_NONCE})(?:(?!,p=[^,]*\Z){_EXTENSION})*+),p=(?P<proof>{_BASE64})",
    re.ASCII,
)


class ScramCredential(Protocol):
    """What is kept of a password."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class Found(NamedTuple):
    """A credential, and who has proved himself by it."""

    credential: ScramCredential
    identity: Authenticated


#: The credential of a name: a user's, or with ``True`` a delegation token's. None where there is none.
FindCredential = Callable[[str, bool], Found | None]


def stored_and_server_key(salted_password: bytes, algorithm: str) -> tuple[bytes, bytes]:
    """What is kept in place of a salted password."""
    client_key = hmac.digest(salted_password, b"Client Key", algorithm)
    return hashlib.new(algorithm, client_key).digest(), hmac.digest(salted_password, b"Server Key", algorithm)


class ScramExchange:
    """See the module. ``nonce`` makes the server's half of the nonce: printable, without commas, never the same."""

    def __init__(self, algorithm: str, find: FindCredential, nonce: Callable[[], str]) -> None:
        self._algorithm = algorithm
        self._find = find
        self._nonce = nonce
        self._first: _First | None = None
        self.result: Authenticated | None = None

    def evaluate(self, token: bytes) -> bytes:
        text = token.decode("utf-8", "replace")
        return self._begin(text) if self._first is None else self._end(self._first, text)

    def _begin(self, text: str) -> bytes:
        said = _FIRST.fullmatch(text)
        if said is None:
            raise Refused("the first message of the client is not in the form that SCRAM has here")
        name = said["name"].replace("=2C", ",").replace("=3D", "=")
        found = self._find(name, _is_token(said["extensions"]))
        if found is None:
            raise Refused(f"there is no credential of {name!r} for this mechanism")
        if said["authzid"] not in (None, said["name"]):
            raise refused_aloud(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        credential = found.credential
        nonce = said["nonce"] + self._nonce()
        salt = base64.b64encode(credential.salt).decode()
        challenge = f"r={nonce},s={salt},i={credential.iterations}"
        self._first = _First(said["bare"], nonce, challenge, found)
        return challenge.encode()

    def _end(self, first: _First, text: str) -> bytes:
        said = _FINAL.fullmatch(text)
        if said is None:
            raise Refused("the final message of the client is not in the form that SCRAM has")
        credential, identity = first.found
        signed = f"{first.bare},{first.challenge},{said['unproved']}".encode()
        signature = hmac.digest(credential.stored_key, signed, self._algorithm)
        proof = base64.b64decode(said["proof"])
        client_key = bytes(a ^ b for a, b in zip(signature, proof, strict=False))
        proved = hashlib.new(self._algorithm, client_key).digest()
        if not hmac.compare_digest(said["nonce"], first.nonce) or len(proof) != len(signature):
            raise Refused("the client's final message is not about this exchange")
        if not hmac.compare_digest(proved, credential.stored_key):
            raise Refused(f"the client's proof for {identity.name!r} is wrong: it has another password")
        self.result = identity
        return b"v=" + base64.b64encode(hmac.digest(credential.server_key, signed, self._algorithm))


class _First(NamedTuple):
    """What the first round has left."""

    bare: str
    nonce: str
    challenge: str
    found: Found


def _is_token(extensions: str) -> bool:
    pairs = dict(pair.split("=", 1) for pair in extensions.split(",") if pair)
    return pairs.get("tokenauth", "").lower() == "true"
