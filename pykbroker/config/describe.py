"""Settings as DescribeConfigs shows them: value, source, synonyms, type (KIP-133, KIP-226, KIP-569).

Shapes follow Apache Kafka 4.4.0's answers, the order of settings too: a broker's internal settings are left out, secrets have
no value, and unknown settings count as secrets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.definitions.client_metrics import CLIENT_METRICS_SETTINGS
from pykbroker.config.layers import Layers, Source, Synonym, exactly, setting_of
from pykbroker.config.setting import Setting, Update, value_text
from pykbroker.metadata.java_maps import hash_of_text, in_map_order

UNKNOWN_TYPE = 0


class ConfigEntry(NamedTuple):
    """One setting of a resource. ``value`` is None where it is not set or secret."""

    name: str
    value: str | None
    source: Source
    synonyms: list[Synonym]
    type: int
    read_only: bool = False
    is_sensitive: bool = False


def describe_topic(config: BrokerConfig, overrides: Mapping[str, str]) -> list[ConfigEntry]:
    """The settings of a topic; internal ones only where they are overridden."""
    layers = layers_in_force(config)
    defaults = config.topic_defaults()

    def inherited(name: str) -> list[Synonym]:
        behind = config.definitions.topic_synonyms.get(name)
        return layers.synonyms(behind[0][0]) if behind else []

    return [
        _overridable(setting, overrides, Source.TOPIC_CONFIG, inherited, value_text(defaults[name]))
        for name, setting in _ordered(config.definitions.topics)
        if not setting.internal or name in overrides
    ]


def describe_group(config: BrokerConfig, overrides: Mapping[str, str]) -> list[ConfigEntry]:
    """The settings of a group; what it does not override, the broker's ``group.<name>`` decides."""
    layers, groups = layers_in_force(config), config.definitions.groups

    def inherited(name: str) -> list[Synonym]:
        broker_name = _behind_a_group(name)
        if broker_name in config:
            return layers.synonyms(broker_name)
        return [Synonym(name, value_text(groups[name].default), Source.DEFAULT_CONFIG)]

    public = {name: setting for name, setting in groups.items() if not setting.internal or name in overrides}
    return [
        _overridable(
            setting,
            overrides,
            Source.GROUP_CONFIG,
            inherited,
            value_text(config.get(_behind_a_group(name), setting.default)),
        )
        for name, setting in _ordered(public)
    ]


def _behind_a_group(name: str) -> str:
    """The broker setting behind a group's."""
    return "group.streams.assignors" if name == "streams.assignor.name" else f"group.{name}"


def describe_client_metrics(overrides: Mapping[str, str]) -> list[ConfigEntry]:
    """The settings of a client metrics subscription."""
    return [
        _overridable(setting, overrides, Source.CLIENT_METRICS_CONFIG, lambda _name: [], value_text(setting.default))
        for _, setting in _ordered(CLIENT_METRICS_SETTINGS)
    ]


def describe_broker(layers: Layers) -> list[ConfigEntry]:
    """All settings of one broker: unknown ones, and Kafka's; in one bucket of Kafka's map, in the order of the tables
    here.
    """
    named = [name for name, setting in _ordered(layers.definitions.broker) if not setting.internal]
    given = {name for _, layer in layers.named() for name in layer}
    others = in_map_order(sorted(given.difference(named)), hash_of_text, count=len(given))
    return [_broker_entry(layers, name) for name in [*others, *named]]


def describe_cluster_default(layers: Layers) -> list[ConfigEntry]:
    """The cluster-wide dynamic settings; values as they were written."""
    entries = []
    for name, text in layers.cluster_default.items():
        entry = _broker_entry(layers, name)
        synonyms = [synonym for synonym in entry.synonyms if synonym.source == Source.DYNAMIC_DEFAULT_BROKER_CONFIG]
        entries.append(
            entry._replace(
                value=None if entry.is_sensitive else text,
                source=Source.DYNAMIC_DEFAULT_BROKER_CONFIG,
                synonyms=synonyms,
            )
        )
    return entries


def layers_in_force(config: BrokerConfig) -> Layers:
    """The layers of ``config``."""
    return Layers(config.this_broker, config.cluster_default, config.explicit, config.definitions)


def _ordered(settings: Mapping[str, Setting]) -> list[tuple[str, Setting]]:
    return [(name, settings[name]) for name in in_map_order(settings, hash_of_text)]


def _overridable(
    setting: Setting,
    overrides: Mapping[str, str],
    source: Source,
    inherited: Callable[[str], list[Synonym]],
    inherited_value: str | None,
) -> ConfigEntry:
    name = setting.name
    synonyms = inherited(name)
    value = inherited_value
    if name in overrides:
        value = value_text(setting.parse(overrides[name]))
        synonyms = [Synonym(name, value, source), *synonyms]
    return ConfigEntry(name, value, synonyms[0].source if synonyms else Source.DEFAULT_CONFIG, synonyms, setting.type)


def _broker_entry(layers: Layers, name: str) -> ConfigEntry:
    synonyms = layers.synonyms(name)
    setting = setting_of(name, layers.definitions)
    sensitive = setting is None or setting.sensitive
    value: str | None = None
    if setting is not None and not sensitive:
        found = layers.find(name)
        value = value_text(layers.definitions.default_value(name) if found is None else setting.parse(found[1]))
    exact = exactly(name, layers.definitions)
    return ConfigEntry(
        name,
        value,
        synonyms[0].source if synonyms else Source.DEFAULT_CONFIG,
        synonyms,
        UNKNOWN_TYPE if setting is None else setting.type,
        read_only=exact is None or exact.update is Update.READ_ONLY,
        is_sensitive=sensitive,
    )
