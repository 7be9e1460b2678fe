"""The source of a broker setting's value: four layers, of which the first that has it wins (KIP-226)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntEnum
from itertools import dropwhile
from typing import Final, NamedTuple

from pykbroker.config.definitions.broker import DYNAMIC_ONLY
from pykbroker.config.definitions.definition_set import CURRENT, Definitions
from pykbroker.config.setting import Setting, value_text


class Source(IntEnum):
    """Sources of values, numbered as in DescribeConfigs."""

    TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


class Synonym(NamedTuple):
    """A setting that decides a value if those before it are not set. ``value`` is None for a secret."""

    name: str
    value: str | None
    source: Source


class Layers(NamedTuple):
    """Texts by setting name: altered for one broker, altered for all brokers, and the file's."""

    this_broker: Mapping[str, str]
    cluster_default: Mapping[str, str]
    static: Mapping[str, str]
    definitions: Definitions = CURRENT

    def named(self) -> tuple[tuple[Source, Mapping[str, str]], ...]:
        """The layers with their sources, the strongest first."""
        return (
            (Source.DYNAMIC_BROKER_CONFIG, self.this_broker),
            (Source.DYNAMIC_DEFAULT_BROKER_CONFIG, self.cluster_default),
            (Source.STATIC_BROKER_CONFIG, self.static),
        )

    def find(self, name: str) -> tuple[Source, str] | None:
        """The text in force for exactly this name, and its source; None if only the default applies."""
        return next(((source, layer[name]) for source, layer in self.named() if name in layer), None)

    def synonyms(self, name: str) -> list[Synonym]:
        """All settings that ``name`` falls back to, layer by layer, from its own first occurrence on."""
        names = synonym_names(name)
        setting = setting_of(name, self.definitions)
        secret = setting is None or setting.sensitive
        found = [
            Synonym(synonym, None if secret else layer[synonym], source)
            for source, layer in self.named()
            for synonym in names
            if synonym in layer
        ]
        found += (
            Synonym(synonym, None if secret else value_text(default), Source.DEFAULT_CONFIG)
            for synonym in names
            if (default := self.definitions.default_value(synonym)) is not None
        )
        return list(dropwhile(lambda synonym: synonym.name != name, found))


def exactly(name: str, definitions: Definitions = CURRENT) -> Setting | None:
    """The definition of a setting, including those that exist at run time only."""
    return definitions.broker.get(name) or DYNAMIC_ONLY.get(name)


def setting_of(name: str, definitions: Definitions = CURRENT) -> Setting | None:
    """The definition of a broker setting, also of one with a listener's prefix; None for a name Kafka does not have."""
    return exactly(name, definitions) or exactly(synonym_names(name)[-1], definitions)


_FAMILIES: Final = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_LISTENER_PREFIXED: Final = re.compile(r"listener\.name\.[^.]*\.(.*)")
_MECHANISM_PREFIXED: Final = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)


def synonym_names(name: str) -> tuple[str, ...]:
    """Names whose values ``name`` may take, the most specific first, itself included."""
    for family in _FAMILIES:
        if name in family:
            return family
    if name == "log.flush.interval.ms":
        return (name, "log.flush.scheduler.interval.ms")
    base = without_listener(name)
    if base == name:
        return (name,)
    return (name, next((end for end in _MECHANISM_PREFIXED if base.endswith(end)), base))


def without_listener(name: str) -> str:
    """``name`` without ``listener.name.<listener>.`` before it."""
    found = _LISTENER_PREFIXED.fullmatch(name)
    return name if found is None else found[1]
