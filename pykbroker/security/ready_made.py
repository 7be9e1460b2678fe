"""A complete secured listener for tests and development machines (extra ``security``): an authority, certificates, users, tokens,
and the settings of broker and clients. By default everything is inline in the settings, without files.
"""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from pykbroker.security.authority import Authority, Certificate
from pykbroker.security.client.tokens import unsigned_token
from pykbroker.security.client_settings import ClientSettings, StoreForms, quoted

PROTOCOLS: Final = ("ssl", "sasl_plaintext", "sasl_ssl")
HOSTS: Final = ("localhost", "127.0.0.1", "::1")
_MODULES: Final = "org.apache.kafka.common.security"
#: Mechanisms that authenticate by password.
WITH_PASSWORDS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_DAYS: Final = 365.0
#: How long a broker's certificate is used before a new one takes its place.
RENEWED_AFTER_MS: Final = int(_DAYS * 2 / 3 * 24 * 60 * 60 * 1000)


class ReadyMade(ClientSettings):
    """See the module. ``protocol`` is one of PROTOCOLS; ``users`` are the users of PLAIN with their passwords."""

    def __init__(
        self,
        protocol: str,
        users: Mapping[str, str],
        now_ms: Callable[[], int],
        *,
        hosts: Iterable[str] = (),
        authority: Authority | None = None,
        store_forms: StoreForms | None = None,
        mechanisms: Iterable[str] = (*WITH_PASSWORDS, "OAUTHBEARER"),
        token_key: str | None = None,
    ) -> None:
        """``store_forms`` has the stores of clients, if they are not inline. OAUTHBEARER accepts unsigned tokens; ``token_key`` is
        delegation.token.secret.key, by default a random one. Raises ValueError for another protocol.
        """
        if protocol.lower() not in PROTOCOLS:
            raise ValueError(f"security is {protocol!r}; it must be one of {', '.join(PROTOCOLS)}")
        super().__init__(protocol.upper(), users, store_forms or self)
        self._now_ms = now_ms
        self._hosts = tuple(dict.fromkeys((*HOSTS, *hosts)))
        self._mechanisms = tuple(mechanisms)
        self._token_key = token_key or secrets.token_urlsafe()
        self._authority = authority or Authority("pykbroker's own authority", now_ms())

    @property
    def authority(self) -> str:
        """The authority's certificate in PEM, for clients' trust stores."""
        return self._authority.certificate

    # ---- the broker's side

    def broker_settings(self, listeners: Iterable[str] | None = None) -> dict[str, str]:
        """The broker's settings for ``listeners``, by default one named like its protocol. The first is the inter-broker
        listener.
        """
        names = tuple(listeners or (self.protocol,))
        settings = {"inter.broker.listener.name": names[0]}
        if self.has_sasl:
            settings["sasl.mechanism.inter.broker.protocol"] = "PLAIN"
            settings["delegation.token.secret.key"] = self._token_key
        if self.protocol == "SSL":
            settings["ssl.client.auth"] = "requested"  # without a prefix, so that who sets it does not do so in vain
        key_store = self.key_store() if self.has_tls else {}
        for name in names:
            prefix = f"listener.name.{name.lower()}."
            settings |= {f"{prefix}{setting}": value for setting, value in self._listener(key_store).items()}
        return settings

    def _listener(self, key_store: Mapping[str, str]) -> dict[str, str]:
        settings: dict[str, str] = {}
        if self.has_tls:
            settings |= key_store
            settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": self.authority}
        if self.has_sasl:
            settings["sasl.enabled.mechanisms"] = ",".join(self._mechanisms)
            for mechanism in self._mechanisms:
                settings[f"{mechanism.lower()}.sasl.jaas.config"] = self._server_module(mechanism)
        return settings

    def key_store(self, days: float = _DAYS) -> dict[str, str]:
        """Settings with a new certificate for the broker; negative days make an expired one."""
        made = self._authority.issue("localhost", self._now_ms(), hosts=self._hosts, days=days)
        return {"ssl.keystore.type": "PEM", "ssl.keystore.key": made.key, "ssl.keystore.certificate.chain": made.chain}

    def _server_module(self, mechanism: str) -> str:
        if mechanism == "PLAIN":
            users = " ".join(f"user_{name}={quoted(password)}" for name, password in self.users.items())
            return f"{_MODULES}.plain.PlainLoginModule required {users};"
        if mechanism == "OAUTHBEARER":
            return f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required;"
        return f"{_MODULES}.scram.ScramLoginModule required;"

    # ---- credentials of clients

    def certificate(self, name: str, days: float = _DAYS) -> Certificate:
        """A new certificate for a client; negative days make an expired one."""
        return self._authority.issue(name, self._now_ms(), days=days)

    def token(self, name: str, seconds: float = 3600.0) -> str:
        """An unsigned token of OAUTHBEARER that expires after ``seconds``; negative ones make an expired token."""
        now = self._now_ms() / 1000
        claims = {"sub": name, "iat": min(now, now + seconds) - 1, "exp": now + seconds}
        return unsigned_token(claims)

    # ---- stores inline in the settings

    def to_java(self, name: str | None) -> dict[str, str]:
        settings = {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": self.authority}
        if name is not None:
            made = self.certificate(name)
            settings |= {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.key": made.key,
                "ssl.keystore.certificate.chain": made.chain,
            }
        return settings

    def to_librdkafka(self, name: str | None) -> dict[str, str]:
        settings = {"ssl.ca.pem": self.authority}
        if name is not None:
            made = self.certificate(name)
            settings |= {"ssl.certificate.pem": made.chain, "ssl.key.pem": made.key}
        return settings

    def to_python(self, name: str | None) -> dict[str, Any]:
        """Without a client certificate, which Python reads from files only."""
        return {"ssl_context": ssl.create_default_context(cadata=self.authority)}
