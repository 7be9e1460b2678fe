"""The settings of a release of Kafka, as one value: names, definitions and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from pykbroker.config.definitions.broker import BROKER_SETTINGS
from pykbroker.config.definitions.groups import GROUP_SETTINGS
from pykbroker.config.definitions.topics import TOPIC_SETTINGS
from pykbroker.config.differences import OUR_DEFAULTS
from pykbroker.config.setting import REQUIRED, Setting
from pykbroker.config.topic_synonyms import TOPIC_SYNONYMS


class Definitions(NamedTuple):
    """See the module. A setting that this broker goes by and the release did not know has its value of ``beneath``, or
    its default of today.
    """

    release: str
    broker: Mapping[str, Setting]
    topics: Mapping[str, Setting]
    #: Which broker settings stand behind a topic's.
    topic_synonyms: Mapping[str, tuple[tuple[str, int], ...]]
    beneath: Mapping[str, Any] = MappingProxyType({})
    groups: Mapping[str, Setting] = GROUP_SETTINGS
    #: Whether a refusal of a group's setting names the broker's setting that bounds it; since 4.4 it has the bounds' values.
    names_bounds: bool = False

    def default_value(self, name: str) -> Any:
        """The default of a broker setting: this broker's where it differs from Kafka's, None for "not set"."""
        ours = OUR_DEFAULTS.get(name)
        if ours is not None and name in self.broker:
            return ours.value
        setting = self.broker.get(name)
        return None if setting is None or setting.default is REQUIRED else setting.default


CURRENT: Final = Definitions("4.4", BROKER_SETTINGS, TOPIC_SETTINGS, TOPIC_SYNONYMS)
