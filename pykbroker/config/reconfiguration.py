"""Rules for dynamic settings only: changes of thread counts, local retention beyond retention, connection limits of listeners.

Rules and messages are those of Kafka's DynamicBrokerConfig (KIP-226, KIP-405). Thread counts are validated although those threads
do not exist here, so that both brokers accept the same settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pykbroker.config.setting import ConfigError

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig

_THREADS: Final = (
    "num.io.threads",
    "num.network.threads",
    "num.replica.fetchers",
    "num.recovery.threads.per.data.dir",
    "background.threads",
)
#: Settings that a listener may have of its own.
_LISTENER_LIMITS: Final = ("max.connections", "max.connection.creation.rate")
_MINUTE_MS: Final = 60_000
_REPORTERS: Final = "metric.reporters"
#: The one class of reporters that every broker has.
_JMX: Final = "org.apache.kafka.common.metrics.JmxReporter"
_UNLIMITED: Final = -1
_AS_RETENTION: Final = -2  # the local limit follows log.retention


def check_reconfiguration(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Check a change of the broker's values from ``now`` to ``wanted``. Raises ConfigError with Kafka's message."""
    refusal = (
        _leap(now, wanted)
        or _cleaners(now, wanted)
        or _reporters(now, wanted)
        or _local_retention(wanted)
        or _copy_lag(wanted)
    )
    if refusal is not None:
        raise _refused(refusal)


def check_listeners(now: BrokerConfig, wanted: BrokerConfig) -> None:
    """Check a change of the limits of listeners from ``now`` to ``wanted``. Raises ConfigError with Kafka's message."""
    for listener in now.listeners:
        for name in _LISTENER_LIMITS:
            value = wanted.listener_value(listener.name, name)
            if value <= 0 and value != now.listener_value(listener.name, name):
                raise _refused(f"Invalid {name} {value}")


def _refused(refusal: str) -> ConfigError:
    reason = f"org.apache.kafka.common.config.ConfigException: {refusal}"
    return ConfigError(f"Invalid value {reason} for configuration Invalid dynamic configuration")


def _leap(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    for name in _THREADS:
        count, current = wanted[name], now[name]
        refused = f"Dynamic thread count update validation failed for {name}={count}, value should"
        if count != current and count < current // 2:
            return f"{refused} be at least half the current value {current}"
        if count > current * 2:
            return f"{refused} not be greater than double the current value {current}"
    return None


def _cleaners(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    count, current = wanted["log.cleaner.threads"], now["log.cleaner.threads"]
    if count < current // 2:
        return f"Log cleaner threads cannot be reduced to less than half the current value {current}"
    if count > current * 2:
        return f"Log cleaner threads cannot be increased to more than double the current value {current}"
    return None


def _reporters(now: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    if wanted[_REPORTERS] == now[_REPORTERS] or all(name == _JMX for name in wanted[_REPORTERS]):
        return None
    return (
        f"Validation of dynamic config update of Set({_REPORTERS}) failed with class "
        "class kafka.server.DynamicMetricsReporters"
    )


def _local_retention(wanted: Mapping[str, Any]) -> str | None:
    limits = (
        ("log.local.retention.ms", "log.retention.ms", _retention_ms(wanted)),
        ("log.local.retention.bytes", "log.retention.bytes", wanted["log.retention.bytes"]),
    )
    for name, whole, limit in limits:
        local = wanted[name]
        if limit == _UNLIMITED or local == _AS_RETENTION:
            continue
        if local == _UNLIMITED:
            return (
                f"Invalid value -1 for configuration {name}: Value must not be -1 as {whole} value is set as {limit}."
            )
        if local > limit:
            return (
                f"Invalid value {local} for configuration {name}: "
                f"Value must not be more than {whole} property value: {limit}"
            )
    return None


def _copy_lag(wanted: Mapping[str, Any]) -> str | None:
    """No segment may leave the local disk before it has been copied to the tier."""
    for name, local, whole in (
        ("log.remote.copy.lag.ms", "log.local.retention.ms", _retention_ms(wanted)),
        ("log.remote.copy.lag.bytes", "log.local.retention.bytes", wanted["log.retention.bytes"]),
    ):
        limit = whole if wanted[local] == _AS_RETENTION else wanted[local]
        if wanted[name] > limit >= 0 and wanted[name] > 0:
            return (
                f"Invalid value {wanted[name]} for configuration {name}: "
                f"Value must not exceed {local} (effective value: {limit})"
            )
    return None


def _retention_ms(values: Mapping[str, Any]) -> int:
    """The retention in force in milliseconds; -1 for no limit."""
    scales = {"log.retention.ms": 1, "log.retention.minutes": _MINUTE_MS, "log.retention.hours": 60 * _MINUTE_MS}
    ms = next(values[name] * scale for name, scale in scales.items() if values[name] is not None)
    return int(max(ms, _UNLIMITED))
