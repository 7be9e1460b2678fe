"""Reads the TLS settings of Kafka's clients (``ssl.*``)."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Final

from pykbroker.security.tls.client import client_context
from pykbroker.security.tls.settings import KeyStoreSettings, TlsError, TlsSettings, TrustStoreSettings

CHECKS_NAMES: Final = "ssl.endpoint.identification.algorithm"
_VERSIONS: Final = "TLSv1.2,TLSv1.3"
TLS_SETTINGS: Final = (
    *(f"ssl.keystore.{name}" for name in ("type", "location", "password", "key", "certificate.chain")),
    *(f"ssl.truststore.{name}" for name in ("type", "location", "password", "certificates")),
    "ssl.key.password",
    "ssl.enabled.protocols",
    "ssl.cipher.suites",
    CHECKS_NAMES,
)


def tls_of(settings: Mapping[str, str]) -> ssl.SSLContext:
    """The TLS context for the settings. Raises TlsError."""
    algorithm = settings.get(CHECKS_NAMES, "https").strip().lower()
    if algorithm not in ("https", ""):
        raise TlsError(
            f"{CHECKS_NAMES} is {algorithm}: it must be https, or empty to accept a trusted certificate from any host"
        )
    return client_context(tls_values(settings), check_names=bool(algorithm))


def tls_values(settings: Mapping[str, str]) -> TlsSettings:
    """The settings as values; no store is read."""
    key, trust = (
        {name.removeprefix(prefix): value for name, value in settings.items() if name.startswith(prefix)}
        for prefix in ("ssl.keystore.", "ssl.truststore.")
    )
    return TlsSettings(
        KeyStoreSettings(
            key.get("type", "JKS"),
            key.get("location"),
            key.get("password"),
            settings.get("ssl.key.password"),
            key.get("key"),
            key.get("certificate.chain"),
        ),
        TrustStoreSettings(
            trust.get("type", "JKS"), trust.get("location"), trust.get("password"), trust.get("certificates")
        ),
        protocols=_names(settings.get("ssl.enabled.protocols", _VERSIONS)),
        ciphers=_names(settings.get("ssl.cipher.suites", "")),
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in text.split(","))))
