"""The client's side of SCRAM, by RFC 5802, with every part open to be wrong."""

from __future__ import annotations

import base64
import hashlib
import hmac

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


class ScramClient:
    """``header`` is the gs2 header, ``extensions`` follow the nonce."""

    def __init__(
        self,
        mechanism: str,
        name: str,
        password: str,
        *,
        header: str = "n,,",
        extensions: str = "",
        nonce: str = "c0ffee",
    ) -> None:
        self._hash = HASHES[mechanism]
        self._password = password.encode()
        self._header = header
        self._bare = f"n={name},r={nonce}{extensions}"

    def first(self) -> bytes:
        return (self._header + self._bare).encode()

    def final(self, challenge: bytes, *, nonce: str | None = None, spoil: bool = False, more: str = "") -> bytes:
        """The proof for the server's challenge."""
        values = dict(part.split("=", 1) for part in challenge.decode().split(","))
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, base64.b64decode(values["s"]), int(values["i"]))
        client_key = hmac.digest(salted, b"Client Key", self._hash)
        stored_key = hashlib.new(self._hash, client_key).digest()
        binding = base64.b64encode(self._header.encode()).decode()
        unproved = f"c={binding},r={nonce or values['r']}{more}"
        signed = f"{self._bare},{challenge.decode()},{unproved}".encode()
        signature = hmac.digest(stored_key, signed, self._hash)
        proof = bytearray(a ^ b for a, b in zip(client_key, signature, strict=True))
        if spoil:
            proof[0] ^= 1
        self._signature = hmac.digest(hmac.digest(salted, b"Server Key", self._hash), signed, self._hash)
        return f"{unproved},p={base64.b64encode(bytes(proof)).decode()}".encode()

    def trusts(self, last: bytes) -> bool:
        """Whether the server has proved that it knows the credential."""
        return last == b"v=" + base64.b64encode(self._signature)
