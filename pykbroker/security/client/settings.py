"""A client's security from the settings of Kafka's clients: ``security.protocol``, ``ssl.*`` and ``sasl.*``."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from pykbroker.security.client.login import Mechanism
from pykbroker.security.client.tls import TLS_SETTINGS, tls_of

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
#: The supported settings.
KNOWN: Final = frozenset(
    {
        "security.protocol",
        "sasl.mechanism",
        "sasl.jaas.config",
        "sasl.login.callback.handler.class",
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.kerberos.service.name",
        *TLS_SETTINGS,
    }
)
#: Prefixes of settings of Kafka's clients that have no effect here: Java's login refresh and classes, and checks of tokens before
#: they are sent.
_OF_JAVA: Final = ("sasl.login.", "sasl.kerberos.", "sasl.oauthbearer.", "ssl.protocol", "ssl.provider", "ssl.secure.random",
                   "ssl.keymanager.", "ssl.trustmanager.", "ssl.engine.", "security.providers")  # fmt: skip


class ClientSettingsError(ValueError):
    """The settings are invalid. The text contains no secret."""


class ClientSecurity(NamedTuple):
    """The security protocol, with ``tls`` and ``sasl`` if it includes them."""

    protocol: str
    tls: ssl.SSLContext | None = None
    sasl: Mechanism | None = None


def client_security(
    settings: Mapping[str, str], now_ms: Callable[[], int], nonce: Callable[[], str]
) -> ClientSecurity | None:
    """The security of connections with these settings; None for PLAINTEXT. ``nonce`` makes printable text that is always different.
    Raises ClientSettingsError.
    """
    protocol = settings.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in PROTOCOLS:
        raise ClientSettingsError(f"security.protocol is {protocol}; it must be one of {', '.join(PROTOCOLS)}")
    if protocol == "PLAINTEXT":
        return None
    try:
        tls = tls_of(settings) if protocol.endswith("SSL") else None
        if not protocol.startswith("SASL"):
            return ClientSecurity(protocol, tls)
        from pykbroker.security.client.mechanisms import mechanism

        return ClientSecurity(protocol, tls, mechanism(settings, now_ms, nonce))
    except ValueError as error:
        raise ClientSettingsError(str(error)) from error


def unknown(settings: Mapping[str, str]) -> list[str]:
    """Security settings that neither this client nor Kafka's clients have."""
    about = [name for name in settings if name.startswith(("ssl.", "sasl.", "security."))]
    return [name for name in about if name not in KNOWN and not name.startswith(_OF_JAVA)]
