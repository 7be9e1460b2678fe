"""The security of connections that this broker makes, to controllers and other brokers: the settings of the listener that it connects to, as Kafka's
brokers take them (``listener.name.NAME.ssl.*``, ``listener.name.NAME.MECHANISM.sasl.jaas.config``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from pykbroker.process.log_directories import StartFailed
from pykbroker.security.client.settings import KNOWN, ClientSecurity, ClientSettingsError, client_security

if TYPE_CHECKING:
    import random

    from pykbroker.config.broker import BrokerConfig
    from pykbroker.runtime.clock import Clock

_NONCE_BYTES: Final = 18


def security_to(
    config: BrokerConfig, listener: str, mechanism_setting: str, clock: Clock, rng: random.Random
) -> ClientSecurity | None:
    """That of connections to a listener, None for PLAINTEXT; ``mechanism_setting`` names its SASL mechanism. Raises StartFailed."""
    protocol = config.security_protocols[listener]
    if protocol == "PLAINTEXT":
        return None
    mechanism = str(config[mechanism_setting])
    prefixes = (f"listener.name.{listener.lower()}.{mechanism.lower()}.", f"listener.name.{listener.lower()}.", "")
    settings = {name: text for name in KNOWN if (text := _first(config.explicit, prefixes, name)) is not None}
    settings |= {"security.protocol": protocol, "sasl.mechanism": mechanism}
    try:
        return client_security(settings, clock.now_ms, lambda: rng.randbytes(_NONCE_BYTES).hex())
    except ClientSettingsError as error:
        hint = f" ({prefixes[0]}sasl.jaas.config)" if protocol.startswith("SASL") else ""
        raise StartFailed(f"the way to the listener {listener}, by {protocol}, is not set{hint}: {error}") from error


def _first(texts: Mapping[str, str], prefixes: tuple[str, ...], name: str) -> str | None:
    return next((texts[prefix + name] for prefix in prefixes if prefix + name in texts), None)
