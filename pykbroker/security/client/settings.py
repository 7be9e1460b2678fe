"""How a client connects, by the settings of Kafka's clients: ``security.protocol``, ``ssl.*`` and ``sasl.*``."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from pykbroker.security.client.login import Mechanism
from pykbroker.security.client.tls import TLS_SETTINGS, tls_of

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
#: Settings that are looked at.
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
#: Settings of Kafka's clients with the same beginnings that change nothing here: when Java logs in anew, which of its classes it
#: takes, and how a token is checked before it is sent.
_OF_JAVA: Final = ("sasl.login.", "sasl.kerberos.", "sasl.oauthbearer.", "ssl.protocol", "ssl.provider", "ssl.secure.random",
                   "ssl.keymanager.", "ssl.trustmanager.", "ssl.engine.", "security.providers")  # fmt: skip


class ClientSettingsError(ValueError):
    """Settings that nobody can connect with. The text names no secret."""


class ClientSecurity(NamedTuple):
    """``tls`` and ``sasl`` are there where the protocol has them."""

    protocol: str
    tls: ssl.SSLContext | None = None
    sasl: Mechanism | None = None


def client_security(
    settings: Mapping[str, str], now_ms: Callable[[], int], nonce: Callable[[], str]
) -> ClientSecurity | None:
    """None for a plain connection. ``nonce`` makes printable text that is never the same. Raises ClientSettingsError."""
    protocol = settings.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in PROTOCOLS:
        raise ClientSettingsError(f"security.protocol is {protocol}, and must be one of {', '.join(PROTOCOLS)}")
    if protocol == "PLAINTEXT":
        return None
    try:
        tls = tls_of(settings) if protocol.endswith("SSL") else None
        if not protocol.startswith("SASL"):
            return ClientSecurity(protocol, tls)
        from pykbroker.security.client.mechanisms import mechanism  # noqa: PLC0415 - SSL does without

        return ClientSecurity(protocol, tls, mechanism(settings, now_ms, nonce))
    except ValueError as error:
        raise ClientSettingsError(str(error)) from error


def unknown(settings: Mapping[str, str]) -> list[str]:
    """Settings of security, by their names, that neither this client nor Kafka's has."""
    about = [name for name in settings if name.startswith(("ssl.", "sasl.", "security."))]
    return [name for name in about if name not in KNOWN and not name.startswith(_OF_JAVA)]
