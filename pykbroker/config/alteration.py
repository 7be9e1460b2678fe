"""One resource of an alter request: from operations to validated settings (KIP-133, KIP-226, KIP-339).

Codes and messages are Kafka's: those of the broker (ConfigAdminManager) and of the controller (ConfigurationControlManager),
Apache Kafka 4.4.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pykbroker.config.definitions.broker import DYNAMIC_SETTINGS
from pykbroker.config.definitions.topics import TOPIC_SETTINGS
from pykbroker.config.setting import Setting, Type, value_text
from pykbroker.controller.config_alterations import Change, Operation
from pykbroker.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE
from pykbroker.wire.errors import ErrorCode, KafkaError


def check_form(changes: Iterable[Change]) -> None:
    """Raises KafkaError INVALID_REQUEST for names given twice, missing values and unknown operations."""
    changes = list(changes)
    if len({change.name for change in changes}) < len(changes):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    nulls = [change.name for change in changes if change.value is None and change.operation != Operation.DELETE]
    if nulls:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")
    for change in changes:
        if change.operation not in Operation.__members__.values():
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown operations type {change.operation}")


def altered(resource_type: int, changes: Iterable[Change], now: Mapping[str, str]) -> dict[str, str | None]:
    """The new values as text, None for a removed setting. Raises KafkaError INVALID_CONFIG for a list operation on a
    setting that is no list. Lists start from the override ``now``, or else from Kafka's default (not from another layer).
    """
    result: dict[str, str | None] = {}
    for name, operation, value in changes:
        if operation == Operation.DELETE or value is None:
            result[name] = None
        elif operation == Operation.SET:
            result[name] = value
        else:
            setting = _list_setting(resource_type, name, Operation(operation))
            entries = _entries(now[name] if name in now else value_text(setting.default))
            if operation == Operation.APPEND:
                added = _operand(value) if resource_type == BROKER_RESOURCE else dict.fromkeys(_operand(value))
                entries += [entry for entry in added if entry not in entries]
            else:
                removed = set(_operand(value))
                entries = [entry for entry in entries if entry not in removed]
            result[name] = ",".join(entries)
    return result


def replaced(changes: Iterable[Change], now: Mapping[str, str]) -> dict[str, str | None]:
    """The changes of AlterConfigs: these settings are set, all others removed."""
    return {**dict.fromkeys(now), **{change.name: change.value for change in changes}}


def settings_after(now: Mapping[str, str], changed: Mapping[str, str | None]) -> dict[str, str]:
    """The overrides that result."""
    after = {**now, **changed}
    return {name: value for name, value in after.items() if value is not None}


def _entries(text: str | None) -> list[str]:
    return text.split(",") if text else []


def _operand(text: str) -> list[str]:
    """As Java splits it: nothing for commas alone, one empty entry for an empty text."""
    return text.rstrip(",").split(",") if text.rstrip(",") or not text else []


def _list_setting(resource_type: int, name: str, operation: Operation) -> Setting:
    tables = {TOPIC_RESOURCE: TOPIC_SETTINGS, BROKER_RESOURCE: DYNAMIC_SETTINGS}
    setting = tables.get(resource_type, {}).get(name)
    if setting is not None and setting.type is Type.LIST:
        return setting
    if resource_type != BROKER_RESOURCE:
        message = f"Can't {operation.name} to key {name} because its type is not LIST."
    elif setting is None:
        message = f"Unknown config name: {name}"
    else:
        message = f"Config value {operation.name.lower()} is not allowed for config key: {name}"
    raise KafkaError(ErrorCode.INVALID_CONFIG, message)
