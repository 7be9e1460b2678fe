"""A listener with security, ready made, for tests and for one machine: an authority, certificates, users, tokens, and the settings
that clients of every kind need for them (extra ``security``). All of it is in line, in no file.
"""

from __future__ import annotations

import base64
import json
import secrets
import ssl
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from pykbroker.security.authority import Authority, Certificate

PROTOCOLS: Final = ("ssl", "sasl_plaintext", "sasl_ssl")
HOSTS: Final = ("localhost", "127.0.0.1", "::1")
_MODULES: Final = "org.apache.kafka.common.security"
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_DAYS: Final = 365.0


class ReadyMade:
    """See the module. ``protocol`` is one of PROTOCOLS; ``users`` are those of PLAIN, by name, with their passwords."""

    def __init__(
        self,
        protocol: str,
        users: Mapping[str, str],
        now_ms: Callable[[], int],
        *,
        hosts: Iterable[str] = (),
        authority: Authority | None = None,
    ) -> None:
        """Raises ValueError for a protocol that is none."""
        if protocol.lower() not in PROTOCOLS:
            raise ValueError(f"security is {protocol!r}; write one of {', '.join(PROTOCOLS)}")
        self.protocol = protocol.upper()
        self.users = dict(users)
        self._now_ms = now_ms
        self._hosts = tuple(dict.fromkeys((*HOSTS, *hosts)))
        self._authority = authority or Authority("pykbroker's own authority", now_ms())
        self._token_key = secrets.token_urlsafe()

    @property
    def authority(self) -> str:
        """The certificate that clients are to believe, in PEM."""
        return self._authority.certificate

    @property
    def has_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def has_sasl(self) -> bool:
        return self.protocol.startswith("SASL")

    # ---- the broker's side

    def broker_settings(self) -> dict[str, str]:
        """What a listener that is called by its protocol needs."""
        settings = {"security.inter.broker.protocol": self.protocol, "delegation.token.secret.key": self._token_key}
        prefix = f"listener.name.{self.protocol.lower()}."
        if self.has_tls:
            settings |= self.key_store() | {
                f"{prefix}ssl.truststore.type": "PEM",
                f"{prefix}ssl.truststore.certificates": self.authority,
            }
        if self.protocol == "SSL":
            settings[f"{prefix}ssl.client.auth"] = "requested"
        if self.has_sasl:
            settings[f"{prefix}sasl.enabled.mechanisms"] = ",".join(_MECHANISMS)
            for mechanism in _MECHANISMS:
                settings[f"{prefix}{mechanism.lower()}.sasl.jaas.config"] = self._server_module(mechanism)
        return settings

    def key_store(self, days: float = _DAYS) -> dict[str, str]:
        """A new certificate for the broker; fewer days than none make one that has run out."""
        made = self._authority.issue("localhost", self._now_ms(), hosts=self._hosts, days=days)
        prefix = f"listener.name.{self.protocol.lower()}.ssl.keystore."
        return {f"{prefix}type": "PEM", f"{prefix}key": made.key, f"{prefix}certificate.chain": made.chain}

    def _server_module(self, mechanism: str) -> str:
        if mechanism == "PLAIN":
            users = " ".join(f"user_{name}={_quoted(password)}" for name, password in self.users.items())
            return f"{_MODULES}.plain.PlainLoginModule required {users};"
        if mechanism == "OAUTHBEARER":
            return f"{_MODULES}.oauthbearer.OAuthBearerLoginModule required;"
        return f"{_MODULES}.scram.ScramLoginModule required;"

    # ---- what clients show

    def certificate(self, name: str, days: float = _DAYS) -> Certificate:
        """For a client; fewer days than none make one that has run out."""
        return self._authority.issue(name, self._now_ms(), days=days)

    def token(self, name: str, seconds: float = 3600.0) -> str:
        """For OAUTHBEARER, unsigned; it runs out after so many seconds, and has run out with fewer than none."""
        now = self._now_ms() / 1000
        claims = {"sub": name, "iat": min(now, now + seconds) - 1, "exp": now + seconds}
        return f"{_part({'alg': 'none'})}.{_part(claims)}."

    def librdkafka(self, user: str | None = None) -> dict[str, str]:
        """Settings of librdkafka, and so of confluent-kafka: for a user, or the first."""
        name = self._name(user)
        settings = {"security.protocol": self.protocol}
        if self.has_tls:
            settings["ssl.ca.pem"] = self.authority
        if self.has_sasl:
            settings |= {"sasl.mechanism": "PLAIN", "sasl.username": name, "sasl.password": self.users[name]}
        else:
            made = self.certificate(name)
            settings |= {"ssl.certificate.pem": made.chain, "ssl.key.pem": made.key}
        return settings

    def java(self, user: str | None = None) -> dict[str, str]:
        """Settings of Kafka's own clients and tools."""
        name = self._name(user)
        settings = {"security.protocol": self.protocol}
        if self.has_tls:
            settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": self.authority}
        if self.has_sasl:
            login = f"username={_quoted(name)} password={_quoted(self.users[name])}"
            settings |= {
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f"{_MODULES}.plain.PlainLoginModule required {login};",
            }
        else:
            made = self.certificate(name)
            settings |= {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.key": made.key,
                "ssl.keystore.certificate.chain": made.chain,
            }
        return settings

    def spark(self, user: str | None = None) -> dict[str, str]:
        """Options of Spark's source and sink."""
        return {f"kafka.{name}": value for name, value in self.java(user).items()}

    def python(self, user: str | None = None) -> dict[str, Any]:
        """Arguments of kafka-python and of aiokafka; under SSL they show no certificate, for those have to lie in files."""
        name = self._name(user)
        settings: dict[str, Any] = {"security_protocol": self.protocol}
        if self.has_tls:
            settings["ssl_context"] = ssl.create_default_context(cadata=self.authority)
        if self.has_sasl:
            settings |= {
                "sasl_mechanism": "PLAIN",
                "sasl_plain_username": name,
                "sasl_plain_password": self.users[name],
            }
        return settings

    def _name(self, user: str | None) -> str:
        name = next(iter(self.users)) if user is None else user
        if self.has_sasl and name not in self.users:
            raise ValueError(f"there is no user {name!r}; there are: {', '.join(self.users)}")
        return name


def _quoted(text: str) -> str:
    """As JAAS has it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
