"""Where the value of a setting comes from: ``config_source`` of DescribeConfigs, by Kafka's name and for people."""

from __future__ import annotations

from typing import NamedTuple


class ConfigSource(NamedTuple):
    """A source: Kafka's name of it, and a description."""

    name: str
    words: str


TOPIC = 1
_UNKNOWN = ConfigSource("UNKNOWN", "unknown")
_SOURCES = {
    TOPIC: ConfigSource("DYNAMIC_TOPIC_CONFIG", "the topic"),
    2: ConfigSource("DYNAMIC_BROKER_CONFIG", "this broker, while running"),
    3: ConfigSource("DYNAMIC_DEFAULT_BROKER_CONFIG", "all brokers, while running"),
    4: ConfigSource("STATIC_BROKER_CONFIG", "the broker's file or command line"),
    5: ConfigSource("DEFAULT_CONFIG", "default"),
    6: ConfigSource("DYNAMIC_BROKER_LOGGER_CONFIG", "the logger"),
    7: ConfigSource("DYNAMIC_CLIENT_METRICS_CONFIG", "the subscription"),
    8: ConfigSource("DYNAMIC_GROUP_CONFIG", "the group"),
}
_WORDS = {source.name: source.words for source in _SOURCES.values()}


def config_source(number: int) -> ConfigSource:
    """Return the source with this number."""
    return _SOURCES.get(number, _UNKNOWN)


def origin(name: str) -> str:
    """Return the description of a source, by Kafka's name of it."""
    return _WORDS.get(name, _UNKNOWN.words)
