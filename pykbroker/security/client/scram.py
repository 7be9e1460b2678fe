"""SCRAM-SHA-256 and -512 (RFC 5802), the client's side: both sides prove that they know the password."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from typing import Final

from pykbroker.security.client.login import LoginFailed
from pykbroker.security.sasl.scram import HASHES, MECHANISMS, MIN_ITERATIONS

#: The hash function of each mechanism.
ALGORITHMS: Final = {name: HASHES[number] for number, name in MECHANISMS.items()}
_CHALLENGE: Final = re.compile(
    r"r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+),s=(?P<salt>[^,]+),i=(?P<iterations>[1-9]\d{0,8})(?:,.*)?"
)
#: As in librdkafka: half a second of work, in which nothing interrupts it. Brokers store at most 16384 (KIP-554).
_MOST_ITERATIONS: Final = 1_000_000
_BINDING: Final = "c=biws"  # "n,," in Base64: no channel binding


class ScramLogin:
    """See the module. ``nonce`` is printable, without commas, and always different. With ``by_token``, name and password are the
    id and the HMAC of a delegation token (KIP-48).
    """

    def __init__(self, mechanism: str, name: str, password: str, nonce: str, *, by_token: bool = False) -> None:
        self._algorithm = ALGORITHMS[mechanism]
        self._password = password.encode()
        self._nonce = nonce
        escaped = name.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={escaped},r={nonce}" + (",tokenauth=true" if by_token else "")
        self._signature: bytes | None = None

    def first(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def answer(self, challenge: bytes) -> bytes | None:
        text = challenge.decode("utf-8", "replace")
        if self._signature is None:
            return self._prove(text)
        if text.startswith("e="):
            raise LoginFailed(f"the broker refuses: {text.removeprefix('e=')}")
        if not hmac.compare_digest(_decoded(text.removeprefix("v=")), self._signature):
            raise LoginFailed("the broker's signature is wrong: it does not know the password")
        return None

    def _prove(self, challenge: str) -> bytes:
        said = _CHALLENGE.fullmatch(challenge)
        if said is None or not said["nonce"].startswith(self._nonce) or said["nonce"] == self._nonce:
            raise LoginFailed("the broker's challenge does not belong to this exchange, or is not valid SCRAM")
        iterations = int(said["iterations"])
        if iterations < MIN_ITERATIONS:
            raise LoginFailed(
                f"the broker asks for {iterations} iterations, but fewer than {MIN_ITERATIONS} are not secure"
            )
        if iterations > _MOST_ITERATIONS:
            raise LoginFailed(
                f"the broker asks for {iterations} iterations, but at most {_MOST_ITERATIONS} are computed"
            )
        salted = hashlib.pbkdf2_hmac(self._algorithm, self._password, _decoded(said["salt"]), iterations)
        unproved = f"{_BINDING},r={said['nonce']}"
        signed = f"{self._bare},{challenge},{unproved}".encode()
        client_key, server_key = (hmac.digest(salted, what, self._algorithm) for what in (b"Client Key", b"Server Key"))
        self._signature = hmac.digest(server_key, signed, self._algorithm)
        proved = hmac.digest(hashlib.new(self._algorithm, client_key).digest(), signed, self._algorithm)
        proof = bytes(a ^ b for a, b in zip(client_key, proved, strict=True))
        return f"{unproved},p={base64.b64encode(proof).decode()}".encode()


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise LoginFailed("the broker's answer is not valid SCRAM") from error
