"""SCRAM-SHA-256 and -512 (RFC 5802), the server's side: a client proves that it knows a password without sending it.

The accepted messages are Kafka's: no channel binding, ASCII only, and extensions, of which ``tokenauth=true`` means that the
name is the id of a delegation token and the password its HMAC (KIP-48).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from pykbroker.security.sasl.mechanism import Authenticated, CredentialsRefused, refused_aloud

#: The mechanisms by their codes in the protocol (KIP-554), and their hash functions.
MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
HASHES: Final = {1: "sha256", 2: "sha512"}
MIN_ITERATIONS: Final = 4096

#: Possessive quantifiers prevent backtracking: an unauthenticated client may send half a megabyte.
_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]++|=2C|=3D)++"
_VALUE: Final = r"[\x01-\x2b\x2d-\x7f]++"
_NONCE: Final = r"[\x21-\x2b\x2d-\x7e]++"
_BASE64: Final = r"(?:[a-zA-Z0-9/+]{4})*+(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_EXTENSION: Final = rf",[A-Za-z]++={_VALUE}"
_FIRST: Final = re.compile(
    rf"n,(?:a=(?P<authzid>{_NAME}))?,(?P<bare>n=(?P<name>{_NAME}),r=(?P<nonce>{_NONCE})(?P<extensions>(?:{_EXTENSION})*+))"
)
#: The final message before its proof. Nothing here may backtrack within what is possessive: Python up to 3.11.4 matches that wrongly.
_UNPROVED: Final = re.compile(rf"c=(?:{_BASE64}),r=(?P<nonce>{_NONCE})(?:{_EXTENSION})*+", re.ASCII)
_PROOF: Final = re.compile(_BASE64, re.ASCII)


class ScramCredential(Protocol):
    """What is stored of a password (RFC 5802)."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class FoundCredential(NamedTuple):
    """A credential, and the identity that it proves."""

    credential: ScramCredential
    identity: Authenticated


#: The credential of a user or, with ``True``, of a delegation token id; None if there is none.
FindCredential = Callable[[str, bool], FoundCredential | None]


def stored_and_server_key(salted_password: bytes, algorithm: str) -> tuple[bytes, bytes]:
    """(StoredKey, ServerKey) of RFC 5802."""
    client_key = hmac.digest(salted_password, b"Client Key", algorithm)
    return hashlib.new(algorithm, client_key).digest(), hmac.digest(salted_password, b"Server Key", algorithm)


class ScramExchange:
    """See the module. ``nonce`` makes the server's part of the nonce: printable, without commas, always different."""

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
            raise CredentialsRefused("the client's first message is not valid SCRAM")
        name = said["name"].replace("=2C", ",").replace("=3D", "=")
        found = self._find(name, _is_token(said["extensions"]))
        if found is None:
            raise CredentialsRefused(f"{name!r} has no credential for this mechanism")
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
        unproved, _, encoded_proof = text.rpartition(",p=")
        said = _UNPROVED.fullmatch(unproved)
        if said is None or _PROOF.fullmatch(encoded_proof) is None:
            raise CredentialsRefused("the client's final message is not valid SCRAM")
        credential, identity = first.found
        signed = f"{first.bare},{first.challenge},{unproved}".encode()
        signature = hmac.digest(credential.stored_key, signed, self._algorithm)
        proof = base64.b64decode(encoded_proof)
        client_key = bytes(a ^ b for a, b in zip(signature, proof, strict=False))
        proved = hashlib.new(self._algorithm, client_key).digest()
        if not hmac.compare_digest(said["nonce"], first.nonce) or len(proof) != len(signature):
            raise CredentialsRefused("the client's final message does not belong to this exchange")
        if not hmac.compare_digest(proved, credential.stored_key):
            raise CredentialsRefused(f"the client's proof for {identity.name!r} is wrong: its password differs")
        self.result = identity
        return b"v=" + base64.b64encode(hmac.digest(credential.server_key, signed, self._algorithm))


class _First(NamedTuple):
    """The results of the first round."""

    bare: str
    nonce: str
    challenge: str
    found: FoundCredential


def _is_token(extensions: str) -> bool:
    """Raises CredentialsRefused for an extension that is given twice: who reads the first and who reads the last one would differ."""
    given = [pair.split("=", 1) for pair in extensions.split(",") if pair]
    pairs = dict(given)
    if len(pairs) < len(given):
        raise CredentialsRefused("the client's first message has an extension twice")
    return pairs.get("tokenauth", "").lower() == "true"
