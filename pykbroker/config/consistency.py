"""Rules over several broker settings, with Kafka's messages (KafkaConfig.validateValues)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pykbroker.config.setting import ConfigError, java_int

_MEBIBYTE: Final = 1024 * 1024
#: What ``cordoned.log.dirs`` says for all log directories.
ALL_LOG_DIRS: Final = "*"


class RequirementFailed(ConfigError):
    """Settings that are valid each, but not together."""


class Unexplained(ConfigError):
    """A refusal that Kafka answers with words of Java's, which name no setting: ``answer`` has these."""

    def __init__(self, message: str, answer: str) -> None:
        super().__init__(message)
        self.answer = answer


def check_together(values: Mapping[str, Any]) -> None:
    """Check every broker setting by name. Raises ConfigError with the first rule that is broken, which is RequirementFailed where Kafka
    begins its message so.
    """
    _check_times(values)
    _check_replication(values)
    _check_connections(values)
    _check_cordoned(values)
    _check_groups(values)
    _require(values["broker.id"] in (-1, values["node.id"]), "You must set `node.id` to the same value as `broker.id`.")
    if values["log.cleaner.threads"] < 1:
        raise Unexplained("log.cleaner.threads must be at least 1", "/ by zero")
    _require(
        values["log.cleaner.dedupe.buffer.size"] // values["log.cleaner.threads"] > _MEBIBYTE,
        "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
    )


_OVERRIDES: Final = "max.connections.per.ip.overrides"
#: Java's spaces: those of a pattern, and those that ``String.trim`` takes away.
_SPACES: Final = " \t\n\v\f\r"
_TRIMMED: Final = "".join(map(chr, range(33)))
_HOST: Final = re.compile(r"[0-9a-zA-Z\-%._:]*")


def connection_limits(text: str) -> dict[str, int]:
    """``max.connections.per.ip.overrides``, as ``host:limit,host:limit``, by host. Empty entries at the end count for nothing. Raises
    ConfigError.
    """
    entries = [entry.strip(_SPACES) for entry in text.split(",")]
    while entries and not entries[-1]:
        entries.pop()
    for entry in entries:
        if ":" not in entry:
            raise _no_limit(
                entry, f"Error parsing configuration property '{_OVERRIDES}': begin 0, end -1, length {len(entry)}"
            )
    limits = {}
    for entry in entries:
        host, limit = (part.strip(_TRIMMED) for part in entry.rsplit(":", 1))
        most = java_int(limit)
        if most is None:
            raise _no_limit(entry, f'For input string: "{limit}"')
        limits[host] = most
    return limits


def _no_limit(entry: str, answer: str) -> ConfigError:
    return Unexplained(f"Error parsing configuration property '{_OVERRIDES}': {entry!r} is not HOST:NUMBER", answer)


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise RequirementFailed(rule)


def _check_times(values: Mapping[str, Any]) -> None:
    roll, jitter = values["log.roll.ms"], values["log.roll.jitter.ms"]
    _require(roll is None or roll >= 1, "log.roll.ms must be greater than or equal to 1")
    _require(jitter is None or jitter >= 0, "log.roll.jitter.ms must be greater than or equal to 0")
    retentions = (values["log.retention.ms"], values["log.retention.minutes"], values["log.retention.hours"])
    in_force = next(retention for retention in retentions if retention is not None)
    _require(in_force != 0, "log.retention.ms must be unlimited (-1) or, greater than or equal to 1")


def _check_replication(values: Mapping[str, Any]) -> None:
    wait = values["replica.fetch.wait.max.ms"]
    _require(
        wait <= values["replica.socket.timeout.ms"],
        "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms "
        "to prevent unnecessary socket timeouts",
    )
    _require(
        wait <= values["replica.lag.time.max.ms"],
        "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms "
        "to prevent frequent changes in ISR",
    )


def _check_cordoned(values: Mapping[str, Any]) -> None:
    """KIP-1066."""
    cordoned = values["cordoned.log.dirs"] or ()
    if ALL_LOG_DIRS in cordoned:
        _require(len(cordoned) == 1, "When cordoned.log.dirs is set to *, it must not contain other values")
        return
    missing = [each for each in cordoned if each not in (values["log.dirs"] or values["log.dir"])]
    _require(
        not missing,
        "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. "
        f"Missing entries : {', '.join(missing)}",
    )


def _check_connections(values: Mapping[str, Any]) -> None:
    exempt = connection_limits(values[_OVERRIDES])
    _require(
        values["max.connections.per.ip"] > 0 or bool(exempt),
        f"max.connections.per.ip can be set to zero only if {_OVERRIDES} property is set.",
    )
    strange = [host for host in exempt if not _HOST.fullmatch(host)]
    if strange:
        raise ConfigError(f"{_OVERRIDES} contains invalid addresses : {','.join(strange)}")
    queued = values["queued.max.request.bytes"]
    _require(
        queued <= 0 or queued >= values["socket.request.max.bytes"],
        "queued.max.request.bytes must be larger or equal to socket.request.max.bytes",
    )


_LEAST: Final = "greater than or equal to"
_MOST: Final = "less than or equal to"
#: Bounds of group settings beyond those that each kind has, in Kafka's order and words.
_STREAMS_BOUNDS: Final = (
    ("num.standby.replicas", _MOST, "max.standby.replicas"),
    ("task.offset.interval.ms", _LEAST, "min.task.offset.interval.ms"),
    ("num.warmup.replicas", _MOST, "max.warmup.replicas"),
)
_SHARE_BOUNDS: Final = (
    ("max.delivery.count.limit", _LEAST, "delivery.count.limit"),
    ("delivery.count.limit", _LEAST, "min.delivery.count.limit"),
    ("max.partition.max.record.locks", _LEAST, "partition.max.record.locks"),
    ("partition.max.record.locks", _LEAST, "min.partition.max.record.locks"),
    ("record.lock.duration.ms", _LEAST, "min.record.lock.duration.ms"),
    ("max.record.lock.duration.ms", _LEAST, "record.lock.duration.ms"),
    ("max.share.sessions", _LEAST, "max.size"),
)


def _check_groups(values: Mapping[str, Any]) -> None:
    """Raises ConfigError: Kafka's GroupCoordinatorConfig and ShareGroupConfig."""
    for kind in ("consumer", "share", "streams"):
        prefix = f"group.{kind}."
        _check_bounded(values, prefix, "heartbeat.interval.ms")
        _check_bounded(values, prefix, "session.timeout.ms")
        beat, session = f"{prefix}heartbeat.interval.ms", f"{prefix}session.timeout.ms"
        if values[beat] >= values[session]:
            raise ConfigError(f"{beat} must be less than {session}")
        _check_bounded(values, prefix, "assignment.interval.ms")
    for prefix, bounds in (("group.streams.", _STREAMS_BOUNDS), ("group.share.", _SHARE_BOUNDS)):
        for bound in bounds:
            _check_bound(values, prefix, *bound)


def _check_bounded(values: Mapping[str, Any], prefix: str, name: str) -> None:
    _check_bound(values, prefix, f"max.{name}", _LEAST, f"min.{name}")
    _check_bound(values, prefix, name, _LEAST, f"min.{name}")
    _check_bound(values, prefix, name, _MOST, f"max.{name}")


def _check_bound(values: Mapping[str, Any], prefix: str, name: str, word: str, bound: str) -> None:
    value, limit = values[f"{prefix}{name}"], values[f"{prefix}{bound}"]
    if value < limit if word == _LEAST else value > limit:
        raise ConfigError(f"{prefix}{name} must be {word} {prefix}{bound}")
