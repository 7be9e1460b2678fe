"""What a key store holds, whatever its type."""

from __future__ import annotations

from typing import NamedTuple

from pykbroker.security.tls.settings import TlsError


class KeyMaterial(NamedTuple):
    """A private key and the certificates that belong to it, the own one first, in PEM."""

    key: str
    chain: tuple[str, ...]
    #: Where the key is encrypted.
    password: str | None = None


def missing_extra(error: ImportError) -> TlsError:
    """What to do where a store is to be read, and the library is not there."""
    return TlsError(
        f"{error.name} is not installed: install the extra pykbroker[security] to read stores of type PKCS12 and JKS, or use "
        "stores of type PEM"
    )
