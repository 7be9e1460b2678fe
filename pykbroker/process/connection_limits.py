"""The connection limits of a process's brokers, computed from settings and quotas, also when these are altered, and enforced by
the listeners. Imported with the first limit.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from pykbroker.config.consistency import connection_limits
from pykbroker.metadata.image import BROKER_RESOURCE, MetadataImage
from pykbroker.network.acceptor import ConnectionRefused
from pykbroker.quotas.connections import (
    ConnectionLimits,
    ConnectionQuotas,
    ConnectionThrottled,
    ListenerLimits,
    TooManyConnections,
)
from pykbroker.quotas.limits import Entity
from pykbroker.quotas.mutations import milliseconds
from pykbroker.quotas.throttling import windows
from pykbroker.runtime.hosts import addresses
from pykbroker.runtime.rates import Windows

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.network.server import Server
    from pykbroker.network.sockets import BrokerSockets
    from pykbroker.runtime.clock import Clock

log = logging.getLogger(__name__)

RATE: Final = "connection_creation_rate"
#: The most refused addresses that are remembered, to log each once.
_MOST_LOGGED: Final = 1000


class BrokerLimits:
    """The limits of one broker (``network.limited.BrokerRules``)."""

    def __init__(self, limits: ConnectionLimits, windows: Windows, clock: Clock, held: Callable[[], int]) -> None:
        self.quotas = ConnectionQuotas(limits, windows)
        self._windows = windows
        self._clock = clock
        self._logged: set[str] = set()
        #: Refused connections, by limit.
        self.refused: Counter[str] = Counter()
        #: The number of waiting connections.
        self.held = held

    def begin(self, inside: Iterable[tuple[str, str]]) -> None:
        plain = ((listener, _plain(address)) for listener, address in inside)
        self.quotas = ConnectionQuotas(self.quotas.limits, self._windows, plain)

    def arrived(self, listener: str) -> int:
        return self.quotas.arrived(listener, milliseconds(self._clock))

    def has_room(self, listener: str) -> bool:
        return self.quotas.has_room(listener)

    def take(self, listener: str, address: str) -> None:
        address = _plain(address)
        try:
            self.quotas.take(listener, address, milliseconds(self._clock))
        except TooManyConnections as error:
            self.refused["max.connections.per.ip"] += 1
            self._tell(listener, address, error)
            raise ConnectionRefused(str(error)) from error
        except ConnectionThrottled as error:
            self.refused[RATE] += 1
            raise ConnectionRefused(str(error), error.ms) from error

    def left(self, listener: str, address: str) -> None:
        address = _plain(address)
        self._logged.discard(address)
        self.quotas.left(listener, address)

    def excess(self) -> int:
        return self.quotas.excess()

    def is_protected(self, listener: str) -> bool:
        return self.quotas.is_protected(listener)

    def _tell(self, listener: str, address: str, error: TooManyConnections) -> None:
        """Log a refusal once per address, until one of its connections ends."""
        if address not in self._logged:
            if len(self._logged) >= _MOST_LOGGED:
                self._logged.clear()
            self._logged.add(address)
            log.warning("Connections from %s on listener %s are refused: %s", address, listener, error)


class ConnectionLimiting:
    """See the module. For one cluster; ``ids`` are the brokers of the process, running or not."""

    def __init__(self, cluster: Cluster, server: Server, ids: Iterable[int]) -> None:
        self._cluster = cluster
        self._server = server
        self._addresses: dict[str, str] = {}
        #: By address the names that have it.
        self._names: dict[str, dict[str, None]] = {}
        #: New connections per second by address, None for the default: of all brokers, and altered in place, as there may be thousands.
        self._rates: dict[str | None, int] = {}
        altered = self._alter_rates(cluster.metadata.image, cluster.metadata.image.client_quotas)
        clock, counted_in = cluster.runtime.clock, windows(cluster.config, "quota")
        #: By broker.
        self.brokers = {
            node_id: BrokerLimits(self._limits(node_id), counted_in, clock, partial(_held, server.sockets(node_id)))
            for node_id in ids
        }
        for node_id, rules in self.brokers.items():
            server.sockets(node_id).limit(rules)
        self._look_up(altered)

    def changed(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """A subscriber of the metadata."""
        if delta.client_quotas or any(kind == BROKER_RESOURCE for kind, _ in delta.configs):
            altered = self._alter_rates(image, delta.client_quotas)
            self._apply()
            self._look_up(altered)

    def _alter_rates(self, image: MetadataImage, entities: Iterable[Entity]) -> set[str]:
        """Read the rates of these entities again; returns those of their names that have one."""
        named = set()
        for (kind, name), *_ in filter(None, entities):
            if kind != "ip":
                continue
            address = name if name is None else self._addresses.get(name, name)
            same = dict.fromkeys((*self._at(address), name))
            found = {each: image.client_quotas.get(((kind, each),), {}).get(RATE) for each in same}
            rates = [rate for rate in found.values() if rate is not None]
            if rates:
                self._rates[address] = int(rates[-1])
            else:
                self._rates.pop(address, None)
            if name is not None and found.get(name) is not None:
                named.add(name)
        return named

    def _at(self, address: str | None) -> Iterable[str]:
        """The names that are known to have an address."""
        return () if address is None else self._names.get(address, ())

    def _apply(self) -> None:
        for node_id, rules in self.brokers.items():
            rules.quotas.limits = self._limits(node_id)
            self._server.sockets(node_id).limits_changed()

    def _limits(self, node_id: int) -> ConnectionLimits:
        image = self._cluster.metadata.image
        config = self._cluster.config.if_altered(image.config(BROKER_RESOURCE, str(node_id)))
        return _read(config, self._rates, self._addresses)

    # ---- names of hosts ----------------------------------------------------------------------------------------------

    def _look_up(self, of_quotas: set[str]) -> None:
        """Resolve new host names, of altered quotas and of settings; their limits apply once they are resolved."""
        names = of_quotas.union(*(self._exceptions(node_id) for node_id in self.brokers)) - self._addresses.keys()
        if names:
            found = self._cluster.runtime.offload(addresses, frozenset(names))
            found.map(partial(self._known, names)).or_log("looking up the hosts that connections are limited for")

    def _exceptions(self, node_id: int) -> set[str]:
        image = self._cluster.metadata.image
        config = self._cluster.config.if_altered(image.config(BROKER_RESOURCE, str(node_id)))
        return set(connection_limits(config["max.connections.per.ip.overrides"]))

    def _known(self, names: set[str], found: Mapping[str, str]) -> None:
        for name in sorted(names - found.keys()):
            log.error("Host %s cannot be resolved: the limit on its connections has no effect", name)
        for name in names:
            address = self._addresses[name] = found.get(name, name)
            self._names.setdefault(address, {})[name] = None
            if name != address and name not in self._names:
                self._rates.pop(name, None)
        self._alter_rates(self._cluster.metadata.image, [(("ip", name),) for name in names])
        self._apply()


def _read(config: BrokerConfig, rates: Mapping[str | None, int], known: Mapping[str, str]) -> ConnectionLimits:
    """Compute the limits; ``known`` has the addresses of host names, ``rates`` those of addresses."""
    per_address: dict[str | None, int] = {None: config["max.connections.per.ip"]}
    for name, most in connection_limits(config["max.connections.per.ip.overrides"]).items():
        per_address[known.get(name, name)] = most
    return ConnectionLimits(
        {
            listener.name: ListenerLimits(
                config.listener_value(listener.name, "max.connections"),
                config.listener_value(listener.name, "max.connection.creation.rate"),
            )
            for listener in config.listeners
        },
        config.inter_broker_listener_name,
        config["max.connections"],
        config["max.connection.creation.rate"],
        per_address,
        rates,
    )


def _held(sockets: BrokerSockets) -> int:
    return sockets.count - len(sockets.connections)


def _plain(address: str) -> str:
    """The address, an IPv4-mapped one as IPv4, and without a zone."""
    address = address.partition("%")[0]
    return address.removeprefix("::ffff:") if "." in address else address
