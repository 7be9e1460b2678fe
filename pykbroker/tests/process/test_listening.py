"""What the brokers of a process tell clients to connect to."""

from __future__ import annotations

import pytest

from pykbroker.config.broker import BrokerConfig
from pykbroker.process.listening import advertised


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [9092, 9093, 9094]),
        ({"advertised.listeners": "PLAINTEXT://broker.example:9092"}, [9092, 9093, 9094]),
        ({"advertised.listeners": "PLAINTEXT://proxy.example:29092"}, [29092, 29093, 29094]),
    ],
)
def test_every_broker_of_a_process_is_told_apart(settings: dict[str, str], expected: list[int]) -> None:
    config = BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:9092", **settings})
    endpoints = [advertised(config, position, {"PLAINTEXT": 9092 + position}) for position in range(3)]
    assert [endpoint.port for (endpoint,) in endpoints] == expected
