"""One broker with a listener for each way to be secure: the settings that Apache Kafka and pykbroker take alike."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.java import QUICK
from compat_tests.harness.ours import Pykbroker
from compat_tests.security.tokens import AUDIENCE, ISSUER, Issuer, key_set_file
from pykbroker.security.authority import Authority
from pykbroker.tests.kit.ports import free_ports

_BEARER = "org.apache.kafka.common.security.oauthbearer"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
#: How long a failed authentication is not answered: long enough to be told from a slow machine.
FAILED_DELAY_MS = 1000
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
USERS = {"alice": "alice-secret", "mallory": 'quoted "and" \\ escaped', "bröt": "brot"}
#: Listener to protocol. PLAINTEXT is the harness's own and that of brokers among themselves.
PROTOCOLS = {
    "SSL": "SSL",
    "MUTUAL": "SSL",
    "ASKING": "SSL",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SASL_SSL": "SASL_SSL",
    "SHORT": "SASL_PLAINTEXT",
    "TOKENS": "SASL_PLAINTEXT",
    "SCOPED": "SASL_PLAINTEXT",
    "SIGNED": "SASL_PLAINTEXT",
    "SIGNED_FOR_ALL": "SASL_PLAINTEXT",
}
#: How long a session of the listener SHORT lasts.
SESSION_MS = 3000
#: What delegation tokens are made with.
TOKEN_KEY = "the key of tokens"


@dataclass
class Files:
    """In PEM, and an address."""

    authority: Path
    broker: Path
    alice: Path
    stranger: Path
    expired: Path
    #: The address of the keys of an issuer of tokens.
    keys: str
    issuer: Issuer


def certificates(folder: Path, issuer: Issuer) -> Files:
    """An authority, a broker's key store, and clients that are known, of another authority, and too late."""
    now = time.time_ns() // 1_000_000
    authority, other = Authority("Test CA", now), Authority("Other CA", now)
    texts = {
        "authority": authority.certificate,
        "broker": authority.issue("localhost", now, hosts=["localhost", "127.0.0.1"]).pem,
        "alice": authority.issue("alice", now, organization="Test").pem,
        "stranger": other.issue("alice", now).pem,
        "expired": authority.issue("alice", now, days=-1).pem,
    }
    for name, text in texts.items():
        (folder / f"{name}.pem").write_text(text)
    keys = key_set_file(folder, issuer)
    return Files(**{name: folder / f"{name}.pem" for name in texts}, keys=keys, issuer=issuer)


class Listeners:
    """Ports and settings. ``settings`` are good for either broker."""

    def __init__(self, files: Files) -> None:
        self.files = files
        plaintext, *others = free_ports(1 + len(PROTOCOLS))
        self.ports = {"PLAINTEXT": plaintext, **dict(zip(PROTOCOLS, others, strict=True))}

    @property
    def issuer(self) -> Issuer:
        """Whose tokens are taken."""
        return self.files.issuer

    def address(self, listener: str) -> str:
        return f"127.0.0.1:{self.ports[listener]}"

    @property
    def listeners(self) -> str:
        return ",".join(f"{name}://{self.address(name)}" for name in self.ports)

    @property
    def settings(self) -> dict[str, str]:
        settings = {
            "listener.security.protocol.map": ",".join(
                f"{name}:{protocol}"
                for name, protocol in {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", **PROTOCOLS}.items()
            ),
            "connection.failed.authentication.delay.ms": str(FAILED_DELAY_MS),
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "sasl.server.max.receive.size": "10000",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.files.broker),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.files.authority),
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.asking.ssl.client.auth": "requested",
            "listener.name.short.connections.max.reauth.ms": str(SESSION_MS),
            "delegation.token.secret.key": TOKEN_KEY,
        }
        users = " ".join(f'user_{name}="{_quoted(password)}"' for name, password in USERS.items())
        for listener in ("sasl_plaintext", "sasl_ssl", "short"):
            prefix = f"listener.name.{listener}"
            settings[f"{prefix}.plain.sasl.jaas.config"] = f"{_PLAIN} required {users};"
            settings[f"{prefix}.scram-sha-256.sasl.jaas.config"] = f"{_SCRAM} required;"
            settings[f"{prefix}.scram-sha-512.sasl.jaas.config"] = f"{_SCRAM} required;"
        return settings | self._with_tokens()

    def _with_tokens(self) -> dict[str, str]:
        """Listeners for tokens: unsecured ones; ones with a scope; signed ones for Kafka, and for anybody."""
        options = {
            "tokens": "",
            "scoped": 'unsecuredValidatorRequiredScope="a b" unsecuredValidatorPrincipalClaimName="who" '
            'unsecuredValidatorScopeClaimName="roles" unsecuredValidatorAllowableClockSkewMs="500000"',
            "signed": "",
            "signed_for_all": "",
        }
        settings = {}
        for listener, validating in options.items():
            prefix = f"listener.name.{listener}"
            settings[f"{prefix}.sasl.enabled.mechanisms"] = "OAUTHBEARER"
            settings[f"{prefix}.oauthbearer.sasl.jaas.config"] = (
                f'{_BEARER}.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker" {validating};'
            )
            if listener.startswith("signed"):
                settings[f"{prefix}.oauthbearer.sasl.server.callback.handler.class"] = (
                    f"{_BEARER}.OAuthBearerValidatorCallbackHandler"
                )
                settings[f"{prefix}.oauthbearer.sasl.oauthbearer.clock.skew.seconds"] = "600"
                settings[f"{prefix}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url"] = self.files.keys
        everybody = "listener.name.signed_for_all.oauthbearer.sasl.oauthbearer.allow.unverified"
        return settings | {
            f"{everybody}.audience": "true",
            f"{everybody}.issuer": "true",
            "listener.name.signed.oauthbearer.sasl.oauthbearer.expected.audience": f"{AUDIENCE},other",
            "listener.name.signed.oauthbearer.sasl.oauthbearer.expected.issuer": ISSUER,
        }


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def properties_value(text: str) -> str:
    """As a properties file holds it, whatever charset its reader takes it for."""
    escaped = text.replace("\\", "\\\\")
    return "".join(c if c.isascii() else f"\\u{ord(c):04x}" for c in escaped)


class SecuredKafka(ApacheKafka):
    """Apache Kafka with all of them."""

    def __init__(self, folder: Path, listeners: Listeners, settings: dict[str, str] | None = None) -> None:
        values = {**listeners.settings, "advertised.listeners": listeners.listeners, **(settings or {})}
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={listeners.files.keys}"
        flags = [*QUICK, "-Xmx700m", allowed]
        super().__init__(folder, {name: properties_value(value) for name, value in values.items()}, flags=flags)
        self._listeners = listeners
        self.port = listeners.ports["PLAINTEXT"]

    def _roles(self, controller: str) -> dict[str, str]:
        roles = super()._roles(controller)
        return {**roles, "listeners": f"{self._listeners.listeners},CONTROLLER://{controller}"}


class SecuredPykbroker(Pykbroker):
    """pykbroker with all of them."""

    def __init__(self, folder: Path, listeners: Listeners, settings: dict[str, str] | None = None) -> None:
        super().__init__(folder, {**listeners.settings, "listeners": listeners.listeners, **(settings or {})})
        self.port = listeners.ports["PLAINTEXT"]
