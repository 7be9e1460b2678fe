"""Validation of the settings of topics, groups and client metrics subscriptions, each and together.

Each check takes all settings that the resource would have, under Kafka's names, and raises KafkaError with Kafka's code
and words: mostly INVALID_CONFIG. (ControllerConfigurationValidator and what it calls, Apache Kafka 4.4.0.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.definitions.client_metrics import CLIENT_METRICS_SETTINGS
from pykbroker.config.setting import ConfigError, Setting
from pykbroker.wire.errors import ErrorCode, KafkaError


def check_topic_configs(config: BrokerConfig, settings: Mapping[str, str]) -> None:
    """The overrides of a topic, new or altered."""
    _refuse_unknown("topic", settings, config.definitions.topics)
    effective = config.topic_defaults() | _parsed(settings, config.definitions.topics)
    shortest, longest = effective["min.compaction.lag.ms"], effective["max.compaction.lag.ms"]
    if shortest > longest:
        raise _invalid(
            f"conflict topic config setting min.compaction.lag.ms ({shortest}) > max.compaction.lag.ms ({longest})"
        )
    if effective["remote.storage.enable"]:
        raise _invalid(
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )


def check_group_configs(config: BrokerConfig, settings: Mapping[str, str]) -> None:
    """The overrides of a group, within the broker's bounds."""
    _refuse_unknown("group", settings, config.definitions.groups)
    _check_tags(settings)
    parsed = _parsed(settings, config.definitions.groups)
    for kind, subject in _BOUNDED:
        name, bound = f"{kind}.{subject}", _BOUND_NAMES.get(subject, subject)
        if name in parsed:
            _check_bounds(config, name, parsed[name], (f"group.{kind}.min.{bound}", f"group.{kind}.max.{bound}"))
    _check_assignor(parsed)
    for kind in ("consumer", "share", "streams"):
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if parsed.get(session, config[f"group.{session}"]) <= parsed.get(heartbeat, config[f"group.{heartbeat}"]):
            raise _invalid(f"{session} must be greater than {heartbeat}")
    if parsed.get(_DEAD_LETTERS, "").startswith("__"):
        raise _invalid(f"{_DEAD_LETTERS}: DLQ topic name must not start with '__'")


def _check_bounds(config: BrokerConfig, name: str, value: int, bounds: tuple[str, str]) -> None:
    """Within the broker's bounds, of which there is at least one."""
    low, high = (config.get(bound, None) for bound in bounds)
    too_low, too_high = low is not None and value < low, high is not None and value > high
    if not too_low and not too_high:
        return
    least, most = bounds if config.definitions.names_bounds else (low, high)
    if high is None or (too_low and config.definitions.names_bounds):
        raise _invalid(f"{name} must be greater than or equal to {least}")
    if low is None or config.definitions.names_bounds:
        raise _invalid(f"{name} must be less than or equal to {most}")
    raise _invalid(f"{name} must be in the range {low} to {high} inclusive.")


def _check_tags(settings: Mapping[str, str]) -> None:
    """Lists drop what stands in them twice: Kafka looks at the text."""
    tags = [each.strip() for each in settings.get(_TAGS, "").split(",")]
    if len(set(tags)) < len(tags):
        raise _invalid(f"{_TAGS} must not contain duplicate tag keys.")


def _check_assignor(parsed: Mapping[str, Any]) -> None:
    if parsed.get(_ASSIGNOR, _STICKY) != _STICKY:
        raise _invalid(
            f"{_ASSIGNOR} '{parsed[_ASSIGNOR]}' is not a registered task assignor. Registered assignors are: [{_STICKY}]."
        )


def check_client_metrics_configs(subscription: str, settings: Mapping[str, str]) -> None:
    """The settings of a client metrics subscription (KIP-714)."""
    if not subscription:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
    for name in settings:
        if name not in CLIENT_METRICS_SETTINGS:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown client metrics configuration: {name}")
    parsed = _parsed(settings, CLIENT_METRICS_SETTINGS)
    interval = parsed.get("interval.ms", _SHORTEST_PUSH_MS)
    if not _SHORTEST_PUSH_MS <= interval <= _LONGEST_PUSH_MS:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Invalid value {interval} for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        )
    for pattern in parsed.get("match", ()):
        _check_match(pattern)


_SHORTEST_PUSH_MS: Final = 100
_LONGEST_PUSH_MS: Final = 3_600_000

_MATCHABLE: Final = {
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
}

_BOUNDED: Final = (
    ("consumer", "heartbeat.interval.ms"),
    ("consumer", "session.timeout.ms"),
    ("consumer", "assignment.interval.ms"),
    ("share", "heartbeat.interval.ms"),
    ("share", "session.timeout.ms"),
    ("share", "record.lock.duration.ms"),
    ("share", "delivery.count.limit"),
    ("share", "partition.max.record.locks"),
    ("share", "assignment.interval.ms"),
    ("streams", "heartbeat.interval.ms"),
    ("streams", "session.timeout.ms"),
    ("streams", "num.standby.replicas"),
    ("streams", "assignment.interval.ms"),
    ("streams", "task.offset.interval.ms"),
    ("streams", "num.warmup.replicas"),
)
_BOUND_NAMES: Final = {"num.standby.replicas": "standby.replicas", "num.warmup.replicas": "warmup.replicas"}
_TAGS: Final = "streams.rack.aware.assignment.tags"
_ASSIGNOR: Final = "streams.assignor.name"
#: The one of ``group.streams.assignors``, by whichever of its names.
_STICKY: Final = "sticky"
_DEAD_LETTERS: Final = "errors.deadletterqueue.topic.name"


def _check_match(pattern: str) -> None:
    """A match is ``<client property>=<regular expression>``, which is not empty."""
    parts = [part.strip() for part in pattern.split("=")]
    if len(parts) == 2 and parts[0] in _MATCHABLE and parts[1]:
        try:
            re.compile(parts[1])
            return
        except re.error:
            pass
    raise _invalid(f"Illegal client matching pattern: {pattern}")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, message)


def _refuse_unknown(kind: str, settings: Mapping[str, str], known: Mapping[str, Setting]) -> None:
    for name in settings:
        if name not in known:
            raise _invalid(f"Unknown {kind} config name: {name}")


def _parsed(settings: Mapping[str, str], known: Mapping[str, Setting]) -> dict[str, Any]:
    """The values, parsed in the order of the definitions, so that the first error is Kafka's."""
    try:
        return {name: setting.parse(settings[name]) for name, setting in known.items() if name in settings}
    except ConfigError as error:
        raise _invalid(str(error)) from error
