"""Secured listeners: TLS and SASL are set up from settings at the start, and again when these are altered.

Imported only where a listener has another protocol than PLAINTEXT.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

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
from pykbroker.network.admission import Admission, HandshakeQueue, ListenerSecurity
from pykbroker.process.mechanisms import Mechanisms
from pykbroker.requests.authentication import Authenticating
from pykbroker.security.file_permissions import warn_if_exposed
from pykbroker.security.principals import MappingRules, RuleError
from pykbroker.security.tls.settings import TlsError
from pykbroker.storage.directories.contents import METADATA_LOG
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.process.life import Life
    from pykbroker.security.tls.context import ServerTls

log = logging.getLogger(__name__)

#: How often certificates are looked at.
_RENEWALS_MS: Final = 60 * 60 * 1000

#: Settings with new certificates for listeners; none while those in use are new enough.
Renewal = Callable[[], Mapping[str, str]]


class SecuredListeners:
    """The secured listeners of one process, of the brokers ``ids``. ``cluster`` returns the cluster; it is called when a client
    connects.

    All brokers begin with the same settings; alterations are per broker.
    """

    def __init__(self, config: BrokerConfig, cluster: Callable[[], Cluster], ids: Iterable[int]) -> None:
        """Raises ConfigError, naming the listener."""
        self._mechanisms = Mechanisms(cluster)
        self._listeners = {each.name: each for each in config.listeners if each.security_protocol != "PLAINTEXT"}
        self._logged: set[str] = set()
        self._renewal: Renewal | None = None
        self._renewed: dict[str, str] = {}
        self._life: Life | None = None
        turns = HandshakeQueue()
        made = self._unaltered = {name: self._made(config, listener) for name, listener in self._listeners.items()}
        self._brokers = {
            node_id: _OfBroker(
                {
                    name: Admission(each.security, config["socket.request.max.bytes"], turns)
                    for name, each in made.items()
                },
                {name: each.tls for name, each in made.items()},
            )
            for node_id in ids
        }
        for name, each in made.items():
            self._tell_of_store(config, name, each)

    def admission(self, node_id: int, listener: str) -> Admission | None:
        """How a broker's listener admits connections; None for a listener without security."""
        return self._brokers[node_id].admissions.get(listener)

    def not_after(self, node_id: int) -> dict[str, int]:
        """When the certificates of a broker's listeners expire, in seconds since the epoch."""
        return {name: tls.not_after for name, tls in self._brokers[node_id].tls.items() if tls is not None}

    # ---- while it runs -----------------------------------------------------------------------------------------------

    def follow(self, life: Life) -> None:
        """Apply alterations from now on, and those before the start; they end with this life of the cluster."""
        cluster = life.cluster
        for node_id in self._brokers:
            cluster.brokers[node_id].check_listeners_by(partial(self._check, cluster.config, node_id))
            self._take_over(cluster.config, cluster.metadata.image, node_id)
        self._mechanisms.follow(cluster)
        self._tell_of_metadata(cluster)
        self._life = life
        self._renew_later(life)
        life.at_end(self._as_at_the_start)
        life.at_end(cluster.metadata.subscribe(partial(self._changed, cluster.config)))

    def _as_at_the_start(self) -> None:
        """The settings of the start again, with renewed certificates."""
        for broker in self._brokers.values():
            broker.altered = frozenset()
            for name, made in self._unaltered.items():
                broker.admissions[name].settings, broker.tls[name] = made.security, made.tls

    def renew_by(self, renewal: Renewal) -> None:
        """Ask for new certificates every hour, from now on, and use them for new connections."""
        self._renewal = renewal
        if self._life is not None:
            self._renew_later(self._life)

    def _renew_later(self, life: Life) -> None:
        if self._renewal is not None:
            life.cluster.runtime.timers.after(_RENEWALS_MS, partial(self._renew, life, self._renewal))

    def _renew(self, life: Life, renewal: Renewal) -> None:
        if life.over or renewal is not self._renewal:
            return
        self._renew_later(life)
        if new := renewal():
            self._renewed |= new
            config, image = life.cluster.config, life.cluster.metadata.image
            renewed = config.with_texts(self._renewed)
            for name in sorted(self._touched(new)):
                self._unaltered[name] = self._made(renewed, self._listeners[name], self._unaltered[name].tls)
            for node_id in self._brokers:
                self._take_over(config, image, node_id, self._touched(new))

    def _changed(self, config: BrokerConfig, image: MetadataImage, delta: MetadataDelta) -> None:
        for node_id in self._brokers:
            if (BROKER_RESOURCE, str(node_id)) in delta.configs:
                self._take_over(config, image, node_id)

    def _take_over(
        self, config: BrokerConfig, image: MetadataImage, node_id: int, renewed: frozenset[str] = frozenset()
    ) -> None:
        """Apply altered settings, and certificates of the listeners ``renewed``, to new connections; invalid ones leave the present
        setup.
        """
        broker, settings = self._brokers[node_id], image.config(BROKER_RESOURCE, str(node_id))
        touched = self._touched(settings)
        concerned = touched | broker.altered | renewed
        altered = self._if_altered(config, settings) if concerned else config
        for name in sorted(concerned):
            try:
                made = self._made(altered, self._listeners[name], broker.tls[name])
            except ConfigError as error:
                log.error("Security settings of broker %d cannot be applied, and stay as they are: %s", node_id, error)
                continue
            broker.admissions[name].settings, broker.tls[name] = made.security, made.tls
            self._tell_of_store(altered, name, made)
            log.info(
                "Listener %s of broker %d: its security settings and stores were read again, and hold for new connections",
                *(name, node_id),
            )
        broker.altered = touched

    def _check(self, config: BrokerConfig, node_id: int, settings: Mapping[str, str]) -> None:
        """Raises KafkaError INVALID_REQUEST if the listeners of a broker cannot have these settings."""
        wanted, broker = self._if_altered(config, settings), self._brokers[node_id]
        for name in sorted(self._touched(settings) | broker.altered):
            try:
                self._made(wanted, self._listeners[name], broker.tls[name])
            except ConfigError as error:
                raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from error

    def _if_altered(self, config: BrokerConfig, settings: Mapping[str, str]) -> BrokerConfig:
        """The settings with renewed certificates and with these alterations, which win."""
        return config.with_texts(self._renewed).if_altered(settings, config.cluster_default)

    def _touched(self, settings: Mapping[str, str]) -> frozenset[str]:
        """The listeners whose prefix any of these settings has."""
        prefixed = (name.removeprefix(LISTENER_PREFIX) for name in settings if name.startswith(LISTENER_PREFIX))
        return frozenset(rest.partition(".")[0].upper() for rest in prefixed) & self._listeners.keys()

    def _tell_of_metadata(self, cluster: Cluster) -> None:
        """Log a warning about a metadata log that others can read, as Apache Kafka makes it, once."""
        path = f"{cluster.logs.metadata_directory.path}/{METADATA_LOG}-0"
        if path not in self._logged:
            self._logged.add(path)
            warn_if_exposed(path, "credentials of SCRAM, and passwords in altered settings")

    def _tell_of_store(self, config: BrokerConfig, listener: str, made: _Made) -> None:
        """Log warnings about cipher suites and a store, once for all listeners and brokers."""
        if made.tls is not None and made.tls.also_offered and listener not in self._logged:
            self._logged.add(listener)
            log.warning(
                "Listener %s offers %s, too: before Python 3.15 the suites of TLS 1.3 cannot be chosen one by one. A connection whose "
                "suite has fewer bits than those of ssl.cipher.suites is refused",
                *(listener, ", ".join(made.tls.also_offered)),
            )
        location = config.listener_value(listener, "ssl.keystore.location")
        if made.tls is not None and location is not None and location not in self._logged:
            self._logged.add(location)
            warn_if_exposed(location, "a private key")
            if made.tls.is_weak:
                log.warning(
                    "%s holds a weak certificate (a short key, or signed with SHA-1 or MD5): clients on OpenSSL refuse it as a "
                    "rule, and listener %s takes as weak ones of clients; make a new one",
                    *(location, listener),
                )

    # ---- what settings make --------------------------------------------------------------------------------------------

    def _made(self, config: BrokerConfig, listener: Listener, former: ServerTls | None = None) -> _Made:
        """The new setup of a listener, in place of ``former``. Raises ConfigError, naming the listener."""
        try:
            tls, mapping = self._with_tls(config, listener, former)
            with_sasl = listener.security_protocol in SASL_PROTOCOLS
            sasl = self._authenticating(sasl_settings(config, listener.name)) if with_sasl else None
        except (ConfigError, TlsError, RuleError) as error:
            raise ConfigError(f"listener {listener.name} ({listener.security_protocol}): {error}") from error
        return _Made(tls, ListenerSecurity(None if tls is None else tls.context, mapping, sasl))

    def _with_tls(
        self, config: BrokerConfig, listener: Listener, former: ServerTls | None
    ) -> tuple[ServerTls, MappingRules] | tuple[None, None]:
        if listener.security_protocol not in TLS_PROTOCOLS:
            return None, None
        from pykbroker.security.tls.context import ServerTls

        settings = tls_settings(config, listener.name, listener.security_protocol)
        tls = ServerTls(settings)
        if former is not None:
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


class _Made(NamedTuple):
    tls: ServerTls | None
    security: ListenerSecurity


@dataclass(slots=True)
class _OfBroker:
    """The listeners of one broker. ``altered`` are those with dynamic settings."""

    admissions: dict[str, Admission]
    tls: dict[str, ServerTls | None]
    altered: frozenset[str] = frozenset()
