"""The SASL mechanisms that are served, made of their settings, with what each needs of the cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from pykbroker.config.listener_security import MechanismSettings
from pykbroker.config.setting import ConfigError
from pykbroker.security.sasl.mechanism import Authenticated, Mechanism
from pykbroker.security.sasl.plain import PlainExchange, users_of
from pykbroker.security.sasl.scram import HASHES, MECHANISMS, Found, ScramExchange

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster

_SCRAM: Final = {name: number for number, name in MECHANISMS.items()}
#: Random bits of the server's half of a nonce.
_NONCE_BITS: Final = 130


def mechanism(settings: MechanismSettings, cluster: Callable[[], Cluster]) -> Mechanism:
    """What begins an exchange. Raises ConfigError for a mechanism that is not served."""
    if settings.name == "PLAIN":
        _check_module(settings, "org.apache.kafka.common.security.plain.PlainLoginModule")
        return partial(PlainExchange, users_of(settings.module.options))
    if settings.name in _SCRAM:
        _check_module(settings, "org.apache.kafka.common.security.scram.ScramLoginModule")
        return partial(_scram, _SCRAM[settings.name], cluster)
    raise ConfigError(f"the SASL mechanism {settings.name} is not served: PLAIN and {', '.join(_SCRAM)} are")


def _scram(number: int, cluster: Callable[[], Cluster]) -> ScramExchange:
    image = cluster().metadata.image

    def find(name: str, is_token: bool) -> Found | None:
        credential = None if is_token else image.scram.get((name, number))
        return None if credential is None else Found(credential, Authenticated(name))

    return ScramExchange(HASHES[number], find, lambda: f"{cluster().runtime.random.getrandbits(_NONCE_BITS):x}")


def _check_module(settings: MechanismSettings, name: str) -> None:
    """A login module of another mechanism, or of somebody's own, would not do what is done here."""
    if settings.module.name != name:
        raise ConfigError(
            f"the login module of {settings.name} is {settings.module.name}, and classes of Java are not run: write {name}"
        )
