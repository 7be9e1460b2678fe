"""Creates the SASL mechanisms from their settings, with what each needs of the cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from pykbroker.config.listener_security import CALLBACK_HANDLER, MechanismSettings
from pykbroker.config.setting import ConfigError
from pykbroker.security.sasl.mechanism import Authenticated, Mechanism
from pykbroker.security.sasl.plain import PlainExchange, users_of
from pykbroker.security.sasl.scram import HASHES, MECHANISMS, FoundCredential, ScramExchange

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.process.bearer_tokens import BearerTokens
    from pykbroker.runtime.runtime import Runtime

_SCRAM: Final = {name: number for number, name in MECHANISMS.items()}
_MODULES: Final = "org.apache.kafka.common.security"
#: Random bits in the server's part of a nonce.
_NONCE_BITS: Final = 130


class Mechanisms:
    """The mechanisms of one process. ``cluster`` returns the cluster; it is called when a client connects."""

    def __init__(self, cluster: Callable[[], Cluster]) -> None:
        self._cluster = cluster
        self._bearer: BearerTokens | None = None
        self._runtime: Runtime | None = None

    def made(self, settings: MechanismSettings) -> Mechanism:
        """The factory of exchanges for these settings. Raises ConfigError for a mechanism that is not served."""
        if settings.name == "PLAIN":
            _check_module(settings, f"{_MODULES}.plain.PlainLoginModule")
            _check_no_handler(settings)
            return partial(PlainExchange, users_of(settings.module.options))
        if settings.name in _SCRAM:
            _check_module(settings, f"{_MODULES}.scram.ScramLoginModule")
            _check_no_handler(settings)
            return partial(_scram, _SCRAM[settings.name], self._cluster)
        if settings.name == "OAUTHBEARER":
            _check_module(settings, f"{_MODULES}.oauthbearer.OAuthBearerLoginModule")
            return self._with_tokens(settings)
        if settings.name == "GSSAPI":
            from pykbroker.process.kerberos import with_tickets
            from pykbroker.security.kerberos.login_module import LOGIN_MODULE

            _check_module(settings, LOGIN_MODULE)
            _check_no_handler(settings)
            return with_tickets(settings)
        raise ConfigError(
            f"the SASL mechanism {settings.name} is not served: PLAIN, {', '.join(_SCRAM)}, OAUTHBEARER and GSSAPI are"
        )

    def follow(self, cluster: Cluster) -> None:
        """Start periodic work of the mechanisms."""
        self._runtime = cluster.runtime
        if self._bearer is not None:
            self._bearer.follow(self._runtime)

    def _with_tokens(self, settings: MechanismSettings) -> Mechanism:
        if self._bearer is None:
            from pykbroker.process.bearer_tokens import BearerTokens

            self._bearer = BearerTokens(self._now_ms)
            if self._runtime is not None:
                self._bearer.follow(self._runtime)
        return self._bearer.mechanism(settings)

    def _now_ms(self) -> int:
        return self._cluster().runtime.clock.now_ms()


def _scram(number: int, cluster: Callable[[], Cluster]) -> ScramExchange:
    image = cluster().metadata.image

    def find(name: str, is_token: bool) -> FoundCredential | None:
        if is_token:
            secrets = cluster().security.token_secrets
            return None if secrets is None else secrets.find(name, number)
        credential = image.scram.get((name, number))
        return None if credential is None else FoundCredential(credential, Authenticated(name))

    return ScramExchange(HASHES[number], find, lambda: f"{cluster().runtime.random.getrandbits(_NONCE_BITS):x}")


def _check_module(settings: MechanismSettings, name: str) -> None:
    """Raises ConfigError for the login module of another mechanism, or a custom one, which would not be run."""
    if settings.module.name != name:
        raise ConfigError(
            f"the login module of {settings.name} is {settings.module.name}, and classes of Java are not run: write {name}"
        )


def _check_no_handler(settings: MechanismSettings) -> None:
    if settings.callback_handler is not None:
        raise ConfigError(
            f"{CALLBACK_HANDLER} of {settings.name} is {settings.callback_handler}, and classes of Java are not run: take it out"
        )
