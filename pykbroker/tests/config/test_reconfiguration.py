"""What a running broker refuses. The words are Kafka's; the oracle compares them."""

from __future__ import annotations

import re

import pytest

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.reconfiguration import check_reconfiguration
from pykbroker.config.setting import ConfigError


def change(**settings: str) -> None:
    config = BrokerConfig({})
    texts = {name.replace("_", "."): text for name, text in settings.items()}
    check_reconfiguration(config.values_with({}, {}), config.values_with(texts, {}))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"num_io_threads": "4"},
        {"num_io_threads": "16"},
        {"log_cleaner_threads": "2"},
        {"metric_reporters": ""},
        {"log_local_retention_ms": "-2"},
        {"log_local_retention_ms": "604800000"},
        {"log_local_retention_bytes": "-1"},
        {"log_retention_ms": "-1", "log_local_retention_ms": "99999999999"},
        {"log_retention_bytes": "9", "log_local_retention_bytes": "9"},
        {"log_remote_copy_lag_ms": "604800000", "log_remote_copy_lag_bytes": "9"},
        {"log_retention_bytes": "9", "log_local_retention_bytes": "8", "log_remote_copy_lag_bytes": "8"},
    ],
)
def test_taken(settings):
    change(**settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"num_io_threads": "3"}, "num.io.threads=3, value should be at least half the current value 8"),
        ({"num_io_threads": "17"}, "value should not be greater than double the current value 8"),
        ({"log_cleaner_threads": "3"}, "cannot be increased to more than double the current value 1"),
        (
            {"metric_reporters": "org.apache.kafka.common.metrics.JmxReporter,x"},
            "failed with class class kafka.server.Dyn",
        ),
        ({"log_local_retention_ms": "-1"}, "Value must not be -1 as log.retention.ms value is set as 604800000."),
        ({"log_local_retention_ms": "604800001"}, "must not be more than log.retention.ms property value: 604800000"),
        ({"log_retention_bytes": "9", "log_local_retention_bytes": "10"}, "log.retention.bytes property value: 9"),
        ({"log_remote_copy_lag_ms": "604800001"}, "not exceed log.local.retention.ms (effective value: 604800000)"),
        (
            {"log_retention_bytes": "9", "log_local_retention_bytes": "8", "log_remote_copy_lag_bytes": "9"},
            "not exceed log.local.retention.bytes (effective value: 8)",
        ),
    ],
)
def test_refused(settings, said):
    with pytest.raises(ConfigError, match=re.escape(said)):
        change(**settings)
