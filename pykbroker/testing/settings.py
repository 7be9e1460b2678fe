"""The settings of a test's broker, by Kafka's names in either spelling; unknown names are refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from pykbroker.config import unserved
from pykbroker.config.broker import BrokerConfig
from pykbroker.config.definitions.definition_set import CURRENT, Definitions
from pykbroker.steered.clock import MANUAL_CLOCK_SETTINGS

if TYPE_CHECKING:
    from pykbroker.security.ready_made import ReadyMade

#: Defaults that suit tests better than Kafka's. Explicit settings override them.
TEST_SETTINGS: Final = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.consumer.heartbeat.interval.ms": "200",  # a member learns of a rebalance with its heartbeat
    "group.consumer.min.heartbeat.interval.ms": "200",
    "log.retention.ms": "-1",  # a test's timestamps may be in any year
}


def texts(
    settings: Mapping[str, object] | None,
    keywords: Mapping[str, object],
    *,
    host: str,
    port: int,
    manual: bool = False,
    security: ReadyMade | None = None,
    definitions: Definitions = CURRENT,
) -> dict[str, str]:
    """All settings with values as text. Raises ConfigError for an unknown setting, with a similar name, or an invalid value."""
    given = {
        "listeners": f"{'PLAINTEXT' if security is None else security.protocol}://{host}:{port}",
        **({} if security is None else security.broker_settings()),
        **{name: value for name, value in TEST_SETTINGS.items() if name in definitions.broker},
        **(MANUAL_CLOCK_SETTINGS if manual else {}),
        **{name: as_text(value) for name, value in (settings or {}).items()},
        **{name.replace("_", "."): as_text(value) for name, value in keywords.items()},
    }
    unserved.check_known(BrokerConfig(given, definitions), _options)
    return given


def _options() -> Iterable[str]:
    """The keywords of ``Kafka`` that are no settings."""
    from pykbroker.testing.keywords import Keywords
    from pykbroker.testing.setting_keywords import SettingKeywords

    return Keywords.__annotations__.keys() - SettingKeywords.__annotations__.keys()


def as_text(value: object) -> str:
    """A setting's value as text, as in Kafka's property files."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(map(as_text, value))
    return str(value)
