"""A broker's settings: those of the file, dynamic ones, and values derived from both."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

from pykbroker.config.consistency import check_together
from pykbroker.config.definitions.definition_set import CURRENT, Definitions
from pykbroker.config.listeners import Listener, check_ports, parse_listeners, protocol_map
from pykbroker.config.setting import ConfigError, Setting

LISTENER_PREFIX: Final = "listener.name."
#: Prefixes of names that are not unknown: open-ended families, and settings of the authorizer (``authorizer.py``).
_FREE_PREFIXES: Final = (LISTENER_PREFIX, "config.providers.", "super.users", "allow.everyone.if.no.acl.found")
_MASTER_KEY: Final = "delegation.token.master.key"
_EVERY_ADDRESS: Final = ("0.0.0.0", "::")  # noqa: S104 - refused as an address to connect to


@cache
def _defaults_of_today() -> Mapping[str, Any]:
    """The values of the settings that nobody gives, by name."""
    return {name: CURRENT.default_value(name) for name in CURRENT.broker}


class BrokerConfig:
    """Typed settings by Kafka's names: ``config["log.segment.bytes"]``.

    ``explicit`` holds the texts of the file and the command line, ``unknown`` the names among them that Kafka does not
    have (for a warning). Dynamic settings of the metadata image override them (KIP-226): ``this_broker`` before
    ``cluster_default``.
    """

    def __init__(self, properties: Mapping[str, str] | None = None, definitions: Definitions = CURRENT) -> None:
        """``definitions`` are the known settings.

        Raises ConfigError naming the first setting whose value is bad, and what is allowed.
        """
        self.explicit = _with_synonyms(properties or {}, definitions)
        self.unknown = tuple(
            name for name in self.explicit if name not in definitions.broker and not name.startswith(_FREE_PREFIXES)
        )
        self._static = {
            name: definitions.broker[name].parse(text)
            for name, text in self.explicit.items()
            if name in definitions.broker
        }
        self.definitions = definitions
        self._defaults = _defaults_of_today()
        if definitions is not CURRENT:
            own = {name: definitions.default_value(name) for name in definitions.broker}
            self._defaults = {**self._defaults, **own, **definitions.beneath}
        self._values: dict[str, Any] = {**self._defaults, **self._static}
        self.cluster_default: Mapping[str, str] = {}
        self.this_broker: Mapping[str, str] = {}
        self._topic_defaults: dict[str, Any] | None = None
        self._check()

    def with_texts(self, texts: Mapping[str, str]) -> BrokerConfig:
        """A copy with additional settings of the file. Raises ConfigError."""
        return BrokerConfig({**self.explicit, **texts}, self.definitions)

    def __getitem__(self, name: str) -> Any:
        """The value in force; None for an unset setting without default. Raises KeyError for a name Kafka does not have."""
        return self._values[name]

    def get(self, name: str, otherwise: Any) -> Any:
        """The value in force, or ``otherwise`` for a name Kafka does not have."""
        return self._values.get(name, otherwise)

    def __contains__(self, name: str) -> bool:
        """Whether Kafka has a broker setting of this name."""
        return name in self._values

    def names(self) -> Iterable[str]:
        """Every broker setting that Kafka has."""
        return self._values.keys()

    def is_explicit(self, name: str) -> bool:
        """Whether ``name`` is set, in the file or at run time."""
        return name in self.explicit or name in self.cluster_default or name in self.this_broker

    # -- values derived from several settings

    @property
    def node_id(self) -> int:
        """``node.id``."""
        node_id: int = self["node.id"]
        return node_id

    @property
    def log_dirs(self) -> tuple[str, ...]:
        """The log directories: ``log.dirs``, else ``log.dir``."""
        directories: tuple[str, ...] = self["log.dirs"] or self["log.dir"]
        return directories

    @property
    def metadata_log_dir(self) -> str:
        """The log directory of the metadata log: ``metadata.log.dir``, else the first of the log directories."""
        return self["metadata.log.dir"] or self.log_dirs[0]

    @property
    def security_protocols(self) -> dict[str, str]:
        """Listener name to security protocol. Controller listeners are PLAINTEXT unless the map is set (KIP-1131)."""
        protocols = protocol_map(self["listener.security.protocol.map"])
        if not self.is_explicit("listener.security.protocol.map"):
            for name in self["controller.listener.names"]:
                protocols.setdefault(name.upper(), "PLAINTEXT")
        return protocols

    @property
    def listeners(self) -> list[Listener]:
        """The listeners that clients connect to: those of the controller are left out."""
        controllers = {name.upper() for name in self["controller.listener.names"]}
        every = parse_listeners("listeners", self["listeners"], self.security_protocols)
        return [listener for listener in every if listener.name not in controllers]

    @property
    def advertised_listeners(self) -> list[Listener]:
        """The advertised endpoints; without ``advertised.listeners`` the listeners themselves."""
        advertised = self["advertised.listeners"]
        if advertised is None:
            return self.listeners
        controllers = {name.upper() for name in self["controller.listener.names"]}
        every = parse_listeners("advertised.listeners", advertised, self.security_protocols)
        return [listener for listener in every if listener.name not in controllers]

    @property
    def inter_broker_listener_name(self) -> str:
        """The listener brokers use among themselves: the one named, else the first of the inter-broker protocol."""
        name = self["inter.broker.listener.name"]
        return str(name).upper() if name is not None else str(self["security.inter.broker.protocol"])

    def listener_value(self, listener: str, name: str, mechanism: str | None = None) -> Any:
        """A setting as one listener has it: ``listener.name.<listener>.<name>`` before ``name`` (KIP-103), and before
        both what it has for a SASL mechanism, ``listener.name.<listener>.<mechanism>.<name>`` (KIP-86). Raises ConfigError.
        """
        prefix = f"{LISTENER_PREFIX}{listener.lower()}."
        keys = [prefix + name] if mechanism is None else [f"{prefix}{mechanism.lower()}.{name}", prefix + name]
        for key in keys:
            layers = (self.this_broker, self.cluster_default, self.explicit)
            text = next((layer[key] for layer in layers if key in layer), None)
            if text is not None:
                return self.definitions.broker[name].parse(text)
        return self[name]

    def has_listener_value(self, listener: str, name: str) -> bool:
        """Whether a listener has a setting of its own, not only that of all listeners."""
        key = f"{LISTENER_PREFIX}{listener.lower()}.{name}"
        return key in self.this_broker or key in self.explicit

    def topic_defaults(self) -> dict[str, Any]:
        """Every setting of a topic without overrides. The mapping is shared: do not change it."""
        if self._topic_defaults is None:
            known = {**CURRENT.topics, **self.definitions.topics}
            self._topic_defaults = {name: self._topic_default(name, setting) for name, setting in known.items()}
        return self._topic_defaults

    def _topic_default(self, name: str, setting: Setting) -> Any:
        for broker_name, unit in self.definitions.topic_synonyms.get(name, ()):
            value = self[broker_name]
            if value is not None:
                scaled = value * unit if unit > 1 else value
                return max(scaled, -1) if name == "retention.ms" else scaled
        return setting.default

    def effective_topic_settings(self, overrides: Mapping[str, str]) -> dict[str, Any]:
        """Every setting of a topic with these overrides, which were validated when they were set."""
        topics = self.definitions.topics
        effective = self.topic_defaults() | {
            name: topics[name].parse(text) for name, text in overrides.items() if name in topics
        }
        if effective["internal.segment.bytes"] is not None:  # for tests: smaller than segment.bytes may be
            effective["segment.bytes"] = effective["internal.segment.bytes"]
        return effective

    # -- settings altered at run time

    def apply_dynamic(self, cluster_default: Mapping[str, str], this_broker: Mapping[str, str]) -> None:
        """Override the file's settings by the image's, this broker's own first; replaces earlier overrides."""
        if (cluster_default, this_broker) == (self.cluster_default, self.this_broker):
            return
        self.cluster_default, self.this_broker = dict(cluster_default), dict(this_broker)
        self._values, self._topic_defaults = self.values_with(cluster_default, this_broker), None

    def values_with(self, cluster_default: Mapping[str, str], this_broker: Mapping[str, str]) -> dict[str, Any]:
        """The values that would be in force with these texts altered.

        Values were validated when they were altered; one that does not parse nevertheless (another version wrote it) is
        ignored, as in Kafka.
        """
        values = {**self._defaults, **self._static}
        for name, text in {**cluster_default, **this_broker}.items():
            if name in self.definitions.broker:
                with contextlib.suppress(ConfigError):
                    values[name] = self.definitions.broker[name].parse(text)
        return values

    def if_altered(
        self, this_broker: Mapping[str, str], cluster_default: Mapping[str, str] | None = None
    ) -> BrokerConfig:
        """A copy with other dynamic settings of this broker, or of all."""
        other = self.with_texts({})
        other.apply_dynamic(self.cluster_default if cluster_default is None else cluster_default, this_broker)
        return other

    # -- rules over several settings

    def _check(self) -> None:
        check_together(self._values)
        check_ports(self.listeners)
        self._check_advertised()
        self._check_between_brokers()

    def _check_advertised(self) -> None:
        known = {listener.name for listener in self.listeners}
        if not known:
            raise ConfigError(
                "listeners must name at least one listener that is not a controller's: a controller without a broker is not served"
            )
        advertised = self.advertised_listeners
        strangers = [listener.name for listener in advertised if listener.name not in known]
        if strangers:
            raise ConfigError(f"advertised.listeners names {', '.join(strangers)}, which listeners does not")
        anywhere = [listener for listener in advertised if listener.host in _EVERY_ADDRESS]
        if anywhere and self.is_explicit("advertised.listeners"):
            raise ConfigError(
                f"advertised.listeners cannot use the address {anywhere[0].host}: name one that clients can reach"
            )

    def _check_between_brokers(self) -> None:
        if not {"inter.broker.listener.name", "security.inter.broker.protocol"} & self.explicit.keys():
            return
        from pykbroker.config import between_brokers

        between_brokers.check(
            self.inter_broker_listener_name,
            self.explicit.keys(),
            self.security_protocols,
            [listener.name for listener in self.advertised_listeners],
            self["sasl.mechanism.inter.broker.protocol"],
            lambda listener: self.listener_value(listener, "sasl.enabled.mechanisms"),
        )


def _with_synonyms(properties: Mapping[str, str], definitions: Definitions) -> dict[str, str]:
    """``broker.id`` and ``node.id`` are one setting under two names (KIP-500), and so are, before Kafka 4.0, the two of the key of
    delegation tokens (KIP-681).
    """
    explicit = dict(properties)
    if _MASTER_KEY in explicit and _MASTER_KEY in definitions.broker:
        explicit.setdefault("delegation.token.secret.key", explicit[_MASTER_KEY])
    if "node.id" in explicit:
        explicit.setdefault("broker.id", explicit["node.id"])
    elif "broker.id" in explicit:
        explicit["node.id"] = explicit["broker.id"]
    return explicit
