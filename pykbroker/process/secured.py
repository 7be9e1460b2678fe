"""Listeners with security: what their settings ask for is made at the start, and again when the settings are altered.

Imported only where a listener has another protocol than PLAINTEXT.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pykbroker.config.broker import LISTENER_PREFIX, BrokerConfig
from pykbroker.config.listener_security import (
    SASL_PROTOCOLS,
    TLS_PROTOCOLS,
    SaslSettings,
    sasl_settings,
    tls_settings,
)
from pykbroker.config.listeners import Listener
from pykbroker.config.setting import ConfigError
from pykbroker.metadata.image import BROKER_RESOURCE, MetadataImage
from pykbroker.network.admission import Admission, ListenerSecurity
from pykbroker.process.mechanisms import Mechanisms
from pykbroker.requests.authentication import Authenticating
from pykbroker.security.exposed import tell_if_exposed
from pykbroker.security.principals import MappingRules, RuleError
from pykbroker.security.tls.settings import TlsError
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.security.tls.context import ServerTls

log = logging.getLogger(__name__)


class SecuredListeners:
    """Those of one process. ``cluster`` gives the cluster, once somebody connects."""

    def __init__(self, config: BrokerConfig, cluster: Callable[[], Cluster]) -> None:
        """Raises ConfigError, naming the listener."""
        self._mechanisms = Mechanisms(cluster)
        self._listeners = {each.name: each for each in config.listeners if each.security_protocol != "PLAINTEXT"}
        self._tls: dict[str, ServerTls] = {}
        self._admissions: dict[str, Admission] = {}
        self._altered_before: frozenset[str] = frozenset()
        for name, listener in self._listeners.items():
            made = self._made(config, listener)
            self._admissions[name] = Admission(self._in_force(config, name, made), config["socket.request.max.bytes"])

    def admission(self, listener: str) -> Admission | None:
        """How a listener takes connections; None where it just takes them."""
        return self._admissions.get(listener)

    # ---- while it runs -----------------------------------------------------------------------------------------------

    def follow(self, cluster: Cluster) -> None:
        """Take over what is altered from now on, and what was before the start."""
        self._altered_before = frozenset()
        cluster.check_listeners = partial(self._check, cluster.config)
        self._take_over(cluster.config)
        self._mechanisms.follow(cluster)
        cluster.metadata.subscribe(partial(self._changed, cluster.config))

    def _changed(self, config: BrokerConfig, image: MetadataImage, delta: MetadataDelta) -> None:
        del image
        if (BROKER_RESOURCE, str(config.node_id)) in delta.configs:
            self._take_over(config)

    def _take_over(self, config: BrokerConfig) -> None:
        """New connections come in by what the settings say now; where that cannot be had, by what they said before."""
        touched = _touched(config.this_broker)
        for name in sorted(touched | self._altered_before):
            if name in self._listeners:
                try:
                    made = self._made(config, self._listeners[name])
                    self._admissions[name].settings = self._in_force(config, name, made)
                    log.info("Listener %s: its security settings and stores are read anew, for new connections", name)
                except ConfigError as error:
                    log.error("Its security settings are not taken over, and stay as they are: %s", error)
        self._altered_before = touched

    def _check(self, config: BrokerConfig, this_broker: Mapping[str, str]) -> None:
        """Raises KafkaError INVALID_REQUEST where the listeners could not have these settings."""
        wanted = config.if_altered(this_broker)
        for name in sorted(_touched(this_broker) | _touched(config.this_broker)):
            if name in self._listeners:
                try:
                    self._made(wanted, self._listeners[name])
                except ConfigError as error:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from error

    # ---- what settings make --------------------------------------------------------------------------------------------

    def _made(self, config: BrokerConfig, listener: Listener) -> _Made:
        """Raises ConfigError, naming the listener."""
        try:
            tls = self._with_tls(config, listener) if listener.security_protocol in TLS_PROTOCOLS else None
            with_sasl = listener.security_protocol in SASL_PROTOCOLS
            return _Made(tls, self._authenticating(sasl_settings(config, listener.name)) if with_sasl else None)
        except (ConfigError, TlsError, RuleError) as error:
            raise ConfigError(f"listener {listener.name} ({listener.security_protocol}): {error}") from error

    def _with_tls(self, config: BrokerConfig, listener: Listener) -> tuple[ServerTls, MappingRules]:
        from pykbroker.security.tls.context import ServerTls  # noqa: PLC0415 - SASL_PLAINTEXT does without

        settings = tls_settings(config, listener.name, listener.security_protocol)
        tls = ServerTls(settings)
        if (former := self._tls.get(listener.name)) is not None:
            tls.check_replaces(
                former, new_name=config["ssl.allow.dn.changes"], fewer_hosts=config["ssl.allow.san.changes"]
            )
        return tls, MappingRules(settings.mapping_rules)

    def _authenticating(self, settings: SaslSettings) -> Authenticating:
        return Authenticating(
            {each.name: self._mechanisms.made(each) for each in settings.mechanisms},
            settings.failed_delay_ms,
            settings.max_receive_size,
            {each.name: each.max_reauth_ms for each in settings.mechanisms},
        )

    def _in_force(self, config: BrokerConfig, name: str, made: _Made) -> ListenerSecurity:
        if made.tls is None:
            return ListenerSecurity(None, None, made.sasl)
        if (location := config.listener_value(name, "ssl.keystore.location")) is not None:
            tell_if_exposed(location, "a private key")
        self._tls[name], mapping = made.tls
        return ListenerSecurity(made.tls[0].context, mapping, made.sasl)


class _Made(NamedTuple):
    tls: tuple[ServerTls, MappingRules] | None
    sasl: Authenticating | None


def _touched(settings: Mapping[str, str]) -> frozenset[str]:
    """The listeners that have settings of their own among these."""
    prefixed = (name.removeprefix(LISTENER_PREFIX) for name in settings if name.startswith(LISTENER_PREFIX))
    return frozenset(rest.partition(".")[0].upper() for rest in prefixed)
