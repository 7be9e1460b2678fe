"""The settings of topics' logs, by those of the topic and of the broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pykbroker.storage.log.config import LogConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pykbroker.config.broker import BrokerConfig
    from pykbroker.metadata.source import MetadataSource


class LogConfigs:
    """Of the topics of a store, as the metadata have them."""

    def __init__(self, config: BrokerConfig, metadata: MetadataSource) -> None:
        self._config = config
        self._metadata = metadata
        #: The defaults of topics, the settings of a topic, and what its logs have by both.
        self._last: tuple[Mapping[str, Any], dict[str, str], LogConfig] | None = None

    def of(self, topic: str) -> LogConfig:
        """That of the topic before where the settings are the same: logs are opened by the thousand."""
        overrides, defaults = self._metadata.image.topic_config(topic), self._config.topic_defaults()
        last = self._last
        if last is None or last[0] is not defaults or last[1] != overrides:
            config = LogConfig.from_settings(self._config.effective_topic_settings(overrides))
            last = self._last = defaults, dict(overrides), config
        return last[2]
