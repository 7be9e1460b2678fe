"""Warnings about settings of earlier releases."""

from __future__ import annotations

import pytest

from pykbroker.config.broker import BrokerConfig
from pykbroker.config.unserved import warnings


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("zookeeper.connect", "ZooKeeper is not used, and Kafka 4.0 removed it"),
        ("zookeeper.session.timeout.ms", "ZooKeeper is not used"),
        ("advertised.host.name", "write advertised.listeners=PLAINTEXT://HOST:PORT"),
        ("port", "write listeners=PLAINTEXT://HOST:PORT"),
    ],
)
def test_settings_of_earlier_releases(name: str, says: str) -> None:
    (warning,) = warnings(BrokerConfig({name: "x"}))
    assert warning.startswith(f"The setting {name} is ignored: {says}")


@pytest.mark.parametrize("name", ["zookeeperish", "portable", "advertised.hosts"])
def test_other_unknown_settings_stay_unknown(name: str) -> None:
    (warning,) = warnings(BrokerConfig({name: "x"}))
    assert "is not known to Kafka" in warning
