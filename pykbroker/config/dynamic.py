"""Dynamic broker settings: which may be altered, and how they reach the configuration (KIP-226)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.consistency import RequirementFailed, Unexplained, check_together
from pykbroker.config.definitions.broker import DYNAMIC_SETTINGS
from pykbroker.config.layers import without_listener
from pykbroker.config.reconfiguration import check_listeners, check_reconfiguration
from pykbroker.config.setting import ConfigError, Setting, Update
from pykbroker.wire.errors import ErrorCode, KafkaError

_ONLY_WITH_LISTENER = frozenset(
    {
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)

_CHECKED_AT_START = ("config.providers",)
_AT_START = ("listeners", "listener.security.protocol.map")


def check_broker_configs(
    config: BrokerConfig, settings: Mapping[str, str], *, per_broker: bool, others: Mapping[str, str]
) -> None:
    """Check that one broker (or, with ``per_broker`` false, all of them) may have these dynamic settings.

    ``settings`` is all that the resource would hold, ``others`` what the other of the two resources holds. An unknown name
    is stored, as in Kafka (for plug-ins). Raises KafkaError INVALID_REQUEST.
    """
    try:
        _refuse(
            (name for name in settings if name in DYNAMIC_SETTINGS and _is_fixed(name)),
            "Cannot update these configs dynamically",
        )
        _refuse(
            (name for name in settings if name in _ONLY_WITH_LISTENER),
            "These security configs can be dynamically updated only per-listener using the listener prefix",
        )
        for name, text in settings.items():
            setting = DYNAMIC_SETTINGS.get(without_listener(name))
            if setting is not None and setting.name not in _CHECKED_AT_START:
                _refuse_twice(setting, text)
                setting.parse(text)
        if not per_broker:
            _refuse(
                (name for name in settings if _is_per_broker(name)),
                "Cannot update these configs at default cluster level, broker id must be specified",
            )
        _refuse(
            (name for name in settings if name in _AT_START),
            "This broker takes these configs from its file when it starts and cannot update them dynamically",
        )
        cluster_default, this_broker = (others, settings) if per_broker else (settings, others)
        values = config.values_with(cluster_default, this_broker)
        check_together(values)
        check_reconfiguration(config.values_with(config.cluster_default, config.this_broker), values)
        check_listeners(config, config.if_altered(this_broker, cluster_default))
    except RequirementFailed as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"requirement failed: {error}") from error
    except Unexplained as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, error.answer) from error
    except ConfigError as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from error


def _refuse_twice(setting: Setting, text: str) -> None:
    """In a file an entry that is there twice counts once."""
    entries = [each.strip() for each in text.split(",")]
    if setting.of_distinct and len(set(entries)) < len(entries):
        raise ConfigError(f"Configuration '{setting.name}' values must not be duplicated.")


def _refuse(names: Iterable[str], why: str) -> None:
    refused = sorted(names)
    if refused:
        raise ConfigError(f"{why}: [{', '.join(refused)}]")


def _is_fixed(name: str) -> bool:
    return DYNAMIC_SETTINGS[name].update is Update.READ_ONLY


def _is_per_broker(name: str) -> bool:
    base = without_listener(name)
    setting = DYNAMIC_SETTINGS.get(base)
    if setting is not None and setting.update is Update.CLUSTER_WIDE:
        return False
    return base != name or (setting is not None and setting.update is Update.PER_BROKER)
