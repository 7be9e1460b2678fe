"""Validation of the inter-broker listener and its SASL mechanism, by Kafka's rules (KafkaConfig.validateValues).

Brokers of one process share its logs and need no such listener. So if neither of the two settings is set, their default
(PLAINTEXT) need not exist; explicit values are validated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from pykbroker.config.setting import ConfigError

LISTENER: Final = "inter.broker.listener.name"
PROTOCOL: Final = "security.inter.broker.protocol"
MECHANISM: Final = "sasl.mechanism.inter.broker.protocol"


def check(
    listener: str,
    explicit: Collection[str],
    protocols: Mapping[str, str],
    advertised: Collection[str],
    mechanism: str,
    mechanisms: Callable[[str], Collection[str]],
) -> None:
    """``listener`` is the one between brokers, ``explicit`` names what was set, ``protocols`` has those of listeners and
    ``mechanisms`` gives those of SASL. Raises ConfigError.
    """
    if {LISTENER, PROTOCOL} <= set(explicit):
        raise ConfigError(
            f"{LISTENER} and {PROTOCOL} are both set, and only one may be: either says which listener it is"
        )
    setting = LISTENER if LISTENER in explicit else PROTOCOL
    if listener not in protocols:
        raise ConfigError(f"{setting} is {listener}, which listener.security.protocol.map does not name")
    if listener not in advertised:
        raise ConfigError(
            f"{setting} is {listener}, and there is no advertised listener of that name that is not a controller's; there are "
            f"{', '.join(advertised)}"
        )
    if protocols[listener].startswith("SASL") and mechanism not in (there := mechanisms(listener)):
        raise ConfigError(
            f"{MECHANISM} is {mechanism}, and sasl.enabled.mechanisms of listener {listener}, by which brokers sign in to each "
            f"other, has {', '.join(there)}: add it, or set {MECHANISM} to one of them"
        )
