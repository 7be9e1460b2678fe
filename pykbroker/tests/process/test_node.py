"""What the brokers of a process tell clients to connect to, and the order in which a process ends."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pykbroker.brokers.broker import WrongBroker
from pykbroker.config.broker import BrokerConfig
from pykbroker.process.listening import advertised
from pykbroker.tests.kit.running import running_broker


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


def test_a_broker_that_is_being_stopped_comes_before_the_end_of_the_process(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_broker(tmp_path, brokers=2) as running:
            node = running.node
            first, end, second, start = (
                asyncio.ensure_future(work)
                for work in (node.stop_broker(2), node.stop(), node.stop_broker(1), node.start_broker(2))
            )
            await asyncio.wait([first, end, second, start])
        assert first.exception() is None
        assert end.exception() is None
        for late in (second, start):
            with pytest.raises(WrongBroker, match="is stopping"):
                late.result()
        with pytest.raises(WrongBroker, match="is stopping"):
            node.describe()

    asyncio.run(asyncio.wait_for(scenario(), 30))
