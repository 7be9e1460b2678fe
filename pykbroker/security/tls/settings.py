"""What the settings of a listener say about TLS, as values."""

from __future__ import annotations

from typing import NamedTuple


class TlsError(ValueError):
    """Settings or stores that TLS cannot be had with. The text names no secret."""


class KeyStoreSettings(NamedTuple):
    """``ssl.keystore.*`` and ``ssl.key.password``: whose private key and certificates."""

    type: str = "JKS"
    location: str | None = None
    password: str | None = None
    key_password: str | None = None
    #: In line, for type PEM.
    key: str | None = None
    certificate_chain: str | None = None


class TrustStoreSettings(NamedTuple):
    """``ssl.truststore.*``: whose certificates are believed."""

    type: str = "JKS"
    location: str | None = None
    password: str | None = None
    #: In line, for type PEM.
    certificates: str | None = None


class TlsSettings(NamedTuple):
    """All of them."""

    key_store: KeyStoreSettings = KeyStoreSettings()
    trust_store: TrustStoreSettings = TrustStoreSettings()
    client_auth: str = "none"
    protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    ciphers: tuple[str, ...] = ()
    mapping_rules: str = "DEFAULT"
