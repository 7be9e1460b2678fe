"""The security settings of a listener (KIP-103), which ``security/`` carries out.

The same settings serve every kind of listener: for clients, between brokers, of a controller.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.setting import ConfigError
from pykbroker.security.jaas import JaasError, LoginModule, parse_jaas
from pykbroker.security.tls.settings import KeyStoreSettings, TlsSettings, TrustStoreSettings

TLS_PROTOCOLS: Final = ("SSL", "SASL_SSL")
SASL_PROTOCOLS: Final = ("SASL_PLAINTEXT", "SASL_SSL")
CALLBACK_HANDLER: Final = "sasl.server.callback.handler.class"
_JAAS: Final = "sasl.jaas.config"


class MechanismSettings(NamedTuple):
    """One SASL mechanism of a listener."""

    name: str
    module: LoginModule
    max_reauth_ms: int
    #: A class that replaces Kafka's own.
    callback_handler: str | None
    #: Any other setting, as this mechanism of this listener has it.
    value: Callable[[str], Any]


class SaslSettings(NamedTuple):
    """All of them."""

    mechanisms: tuple[MechanismSettings, ...]
    failed_delay_ms: int
    max_receive_size: int


def tls_settings(config: BrokerConfig, listener: str, protocol: str) -> TlsSettings:
    """The TLS of a listener. Under SASL_SSL client certificates are requested only if the listener's own setting says so."""

    def of(name: str) -> str | None:
        value: str | None = config.listener_value(listener, f"ssl.{name}")
        return value

    asks = protocol == "SSL" or config.has_listener_value(listener, "ssl.client.auth")
    return TlsSettings(
        key_store=KeyStoreSettings(
            of("keystore.type") or "JKS",
            of("keystore.location"),
            of("keystore.password"),
            of("key.password"),
            of("keystore.key"),
            of("keystore.certificate.chain"),
        ),
        trust_store=TrustStoreSettings(
            of("truststore.type") or "JKS",
            of("truststore.location"),
            of("truststore.password"),
            of("truststore.certificates"),
        ),
        client_auth=(of("client.auth") or "none") if asks else "none",
        protocols=config.listener_value(listener, "ssl.enabled.protocols"),
        ciphers=config.listener_value(listener, "ssl.cipher.suites"),
        mapping_rules=of("principal.mapping.rules") or "DEFAULT",
    )


def sasl_settings(config: BrokerConfig, listener: str) -> SaslSettings:
    """The SASL of a listener. Raises ConfigError."""
    names = tuple(dict.fromkeys(config.listener_value(listener, "sasl.enabled.mechanisms")))
    if not names:
        raise ConfigError(f"listener {listener} is for SASL, and sasl.enabled.mechanisms names no mechanism")
    return SaslSettings(
        tuple(_mechanism(config, listener, name) for name in names),
        config["connection.failed.authentication.delay.ms"],
        config.listener_value(listener, "sasl.server.max.receive.size"),
    )


def _mechanism(config: BrokerConfig, listener: str, name: str) -> MechanismSettings:
    prefix = f"listener.name.{listener.lower()}.{name.lower()}."

    def own(setting: str) -> str | None:
        return next(
            (layer[prefix + setting] for layer in (config.this_broker, config.explicit) if prefix + setting in layer),
            None,
        )

    text = own(_JAAS)
    if text is None:
        raise ConfigError(
            f"listener {listener} has the SASL mechanism {name}, and {prefix}{_JAAS} is not set: it names the login module, and "
            "the users of PLAIN"
        )
    try:
        module = parse_jaas(text)
    except JaasError as error:
        raise ConfigError(f"Invalid value of {prefix}{_JAAS}: {error}") from error
    value = partial(config.listener_value, listener, mechanism=name)
    return MechanismSettings(name, module, value("connections.max.reauth.ms"), own(CALLBACK_HANDLER), value)
