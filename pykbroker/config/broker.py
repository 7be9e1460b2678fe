"""A broker's settings: what the file says, what was altered while it runs, and what follows from both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pykbroker.config.definitions.broker import BROKER_SETTINGS
from pykbroker.config.definitions.topics import TOPIC_SETTINGS
from pykbroker.config.differences import OUR_DEFAULTS
from pykbroker.config.listeners import Listener, check_ports, parse_listeners, protocol_map
from pykbroker.config.setting import REQUIRED, ConfigError, invalid
from pykbroker.config.topic_synonyms import TOPIC_SYNONYMS

LISTENER_PREFIX: Final = "listener.name."
_FREE_PREFIXES: Final = (LISTENER_PREFIX, "config.providers.")  # open-ended families, not unknown names
_EVERY_ADDRESS: Final = ("0.0.0.0", "::")  # noqa: S104 - refused as an address to connect to


def default_value(name: str) -> Any:
    """The value of a broker setting that nobody set: ours where it differs from Kafka's, None for "not set"."""
    ours = OUR_DEFAULTS.get(name)
    return BROKER_SETTINGS[name].default if ours is None else ours.value


class BrokerConfig:
    """Typed settings by Kafka's names: ``config["log.segment.bytes"]``.

    ``explicit`` holds the texts of the file and the command line, ``unknown`` the names among them that Kafka does not
    have (for a warning). Values altered at run time (KIP-226) lie over them; they come from the metadata image.
    """

    def __init__(self, properties: Mapping[str, str] | None = None) -> None:
        """Raises ConfigError naming the first setting whose value is bad, and what is allowed."""
        self.explicit = _with_synonyms(properties or {})
        self.unknown = tuple(
            name for name in self.explicit if name not in BROKER_SETTINGS and not name.startswith(_FREE_PREFIXES)
        )
        self._static = {
            name: BROKER_SETTINGS[name].parse(text) for name, text in self.explicit.items() if name in BROKER_SETTINGS
        }
        self._values: dict[str, Any] = {name: default_value(name) for name in BROKER_SETTINGS} | self._static
        self._dynamic: dict[str, str] = {}
        self._topic_defaults: dict[str, Any] | None = None
        self._listening: list[Callable[[], None]] = []
        self._check()

    def __getitem__(self, name: str) -> Any:
        """The value in force. None where a setting without default is not set. KeyError for a name Kafka does not have."""
        return self._values[name]

    def is_explicit(self, name: str) -> bool:
        """Whether somebody set ``name``, in the file or at run time."""
        return name in self._static or name in self._dynamic

    # -- what several settings say together

    @property
    def node_id(self) -> int:
        node_id: int = self["node.id"]
        return node_id

    @property
    def log_dirs(self) -> tuple[str, ...]:
        """Where logs lie: ``log.dirs``, else ``log.dir``."""
        directories: tuple[str, ...] = self["log.dirs"] or self["log.dir"]
        return directories

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
        """What clients are told to connect to; without ``advertised.listeners`` the listeners themselves."""
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

    def listener_value(self, listener: str, name: str) -> Any:
        """A security setting as one listener has it: ``listener.name.<listener>.<name>`` before ``name`` (KIP-103)."""
        key = f"{LISTENER_PREFIX}{listener.lower()}.{name}"
        text = self._dynamic.get(key, self.explicit.get(key))
        return self[name] if text is None else BROKER_SETTINGS[name].parse(text)

    def topic_defaults(self) -> dict[str, Any]:
        """Every topic setting as a topic has it that overrides none. The mapping is shared: do not change it."""
        if self._topic_defaults is None:
            self._topic_defaults = {name: self._topic_default(name) for name in TOPIC_SETTINGS}
        return self._topic_defaults

    def _topic_default(self, name: str) -> Any:
        for broker_name, unit in TOPIC_SYNONYMS.get(name, ()):
            value = self[broker_name]
            if value is not None:
                scaled = value * unit if unit > 1 else value
                return max(scaled, -1) if name == "retention.ms" else scaled
        return TOPIC_SETTINGS[name].default

    def effective_topic_settings(self, overrides: Mapping[str, str]) -> dict[str, Any]:
        """Every setting of a topic that overrides some. Overrides were checked when they were made."""
        return self.topic_defaults() | {
            name: TOPIC_SETTINGS[name].parse(text) for name, text in overrides.items() if name in TOPIC_SETTINGS
        }

    # -- settings altered at run time

    def apply_dynamic(self, cluster_default: Mapping[str, str], this_broker: Mapping[str, str]) -> None:
        """Lay the image's broker settings over the file's, this broker's own first. Replaces what was laid before.

        Values were checked when they were altered; one that does not parse all the same (another version wrote it) is
        passed over, as Kafka does. Callbacks of :meth:`on_change` run when a value in force has changed.
        """
        dynamic: dict[str, str] = {}
        values = {name: default_value(name) for name in BROKER_SETTINGS} | self._static
        for name, text in {**cluster_default, **this_broker}.items():
            setting = BROKER_SETTINGS.get(name)
            try:
                if setting is not None:
                    values[name] = setting.parse(text)
            except ConfigError:
                continue
            dynamic[name] = text
        if dynamic == self._dynamic:
            return
        self._dynamic, self._values, self._topic_defaults = dynamic, values, None
        for callback in list(self._listening):
            callback()

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` after every change at run time."""
        self._listening.append(callback)

    # -- rules over several settings

    def _check(self) -> None:
        missing = [name for name, value in self._values.items() if value is REQUIRED]
        assert not missing, missing  # OUR_DEFAULTS has a value for each
        check_ports(self.listeners)
        self._check_advertised()
        for name in ("log.retention.ms", "log.retention.minutes", "log.retention.hours"):
            if self[name] == 0:
                raise invalid(name, 0, "Value must be at least 1, or -1 for no limit")
        for name in ("log.roll.ms", "log.roll.jitter.ms"):
            least = 0 if "jitter" in name else 1
            if self[name] is not None and self[name] < least:
                raise invalid(name, self[name], f"Value must be at least {least}")

    def _check_advertised(self) -> None:
        known = {listener.name for listener in self.listeners}
        if not known:
            raise ConfigError("listeners must name at least one listener that is not a controller's")
        advertised = self.advertised_listeners
        strangers = [listener.name for listener in advertised if listener.name not in known]
        if strangers:
            raise ConfigError(f"advertised.listeners names {', '.join(strangers)}, which listeners does not")
        anywhere = [listener for listener in advertised if listener.host in _EVERY_ADDRESS]
        if anywhere and self.is_explicit("advertised.listeners"):
            raise ConfigError(
                f"advertised.listeners cannot use the address {anywhere[0].host}: name one that clients can reach"
            )
        if self["inter.broker.listener.name"] is not None and self.inter_broker_listener_name not in known:
            raise ConfigError(
                f"inter.broker.listener.name is {self.inter_broker_listener_name}, which listeners does not name"
            )


def _with_synonyms(properties: Mapping[str, str]) -> dict[str, str]:
    """``broker.id`` and ``node.id`` are one setting under two names (KIP-500)."""
    explicit = dict(properties)
    if "node.id" in explicit:
        explicit.setdefault("broker.id", explicit["node.id"])
    elif "broker.id" in explicit:
        explicit["node.id"] = explicit["broker.id"]
    return explicit
