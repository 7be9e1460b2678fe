"""The content of a key store of any type."""

from __future__ import annotations

from typing import NamedTuple

from pykbroker.extras import install_hint
from pykbroker.security.tls.settings import TlsError


class KeyMaterial(NamedTuple):
    """A private key and its certificate chain in PEM, the key's certificate first."""

    key: str
    chain: tuple[str, ...]
    #: The password of an encrypted key.
    password: str | None = None


def missing_extra(error: ImportError) -> TlsError:
    """The error for a store whose library is not installed."""
    return TlsError(
        f"{error.name}, which reads stores of type PKCS12 and JKS, is not installed: use stores of type PEM, or "
        f"{install_hint('security')}"
    )
