"""The TLS settings of a listener or a client, as values."""

from __future__ import annotations

from typing import NamedTuple


class TlsError(ValueError):
    """The settings or stores are unusable for TLS. The text contains no secret."""


class KeyStoreSettings(NamedTuple):
    """``ssl.keystore.*`` and ``ssl.key.password``."""

    type: str = "JKS"
    location: str | None = None
    password: str | None = None
    key_password: str | None = None
    #: Inline, for type PEM.
    key: str | None = None
    certificate_chain: str | None = None


class TrustStoreSettings(NamedTuple):
    """``ssl.truststore.*``."""

    type: str = "JKS"
    location: str | None = None
    password: str | None = None
    #: Inline, for type PEM.
    certificates: str | None = None


class TlsSettings(NamedTuple):
    """All settings of TLS."""

    key_store: KeyStoreSettings = KeyStoreSettings()
    trust_store: TrustStoreSettings = TrustStoreSettings()
    client_auth: str = "none"
    protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    ciphers: tuple[str, ...] = ()
    mapping_rules: str = "DEFAULT"
