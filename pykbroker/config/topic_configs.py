"""A topic's settings and their sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.layers import Layers, Source
from pykbroker.config.setting import value_text


class EffectiveConfig(NamedTuple):
    """One setting as CreateTopics answers it (KIP-525)."""

    name: str
    value: str | None
    source: Source
    is_sensitive: bool = False
    read_only: bool = False


def effective_topic_configs(config: BrokerConfig, overrides: Mapping[str, str | None]) -> list[EffectiveConfig]:
    """All settings of a topic with these overrides, by name. Overrides are shown as they were written."""
    layers = Layers(config.this_broker, config.cluster_default, config.explicit, config.definitions)
    effective = []
    for name, setting in sorted(config.definitions.topics.items()):
        override = overrides.get(name)
        if override is not None:
            effective.append(EffectiveConfig(name, override, Source.TOPIC_CONFIG))
        elif not setting.internal:
            value = value_text(config.topic_defaults()[name])
            effective.append(EffectiveConfig(name, value, _inherited_from(layers, name)))
    return effective


def _inherited_from(layers: Layers, name: str) -> Source:
    """The layer of the first broker setting behind the topic's that is set at all."""
    found = (layers.find(broker_name) for broker_name, _ in layers.definitions.topic_synonyms.get(name, ()))
    return next((source for source, _ in filter(None, found)), Source.DEFAULT_CONFIG)
