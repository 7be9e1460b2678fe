"""What a ready container says: the lines that Testcontainers' modules wait for, by their expressions, and the summary."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from pykbroker.container import health
from pykbroker.container.announced import lines, tell_ready
from pykbroker.tests.kit.running import running_broker


def test_every_broker_says_all_that_is_waited_for() -> None:
    said = list(lines([1, 2], "2026-01-31 14:00:00,123"))
    for awaited in (
        r".*Transitioning from RECOVERY to RUNNING.*",
        r".*Kafka Server started.*",
        r".*\[KafkaServer id=\d+\] started.*",
    ):
        assert len([line for line in said if re.fullmatch(awaited, line)]) == 2
    assert said[0].startswith("[2026-01-31 14:00:00,123] INFO [BrokerLifecycleManager id=1] ")


def test_the_summary_is_there_for_the_check_of_health(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(health, "READY", tmp_path / "ready.json")

    async def start() -> None:
        async with running_broker(tmp_path / "data") as broker:
            tell_ready(broker.node)
            said = health.summary(tmp_path / "ready.json")
            assert said == broker.node.summary()
            assert said["bootstrap"] == said["brokers"][0]["listeners"]["PLAINTEXT"]
            assert said["protocols"] == {"PLAINTEXT": "PLAINTEXT"}

    asyncio.run(start())
    assert "Kafka Server started" in capsys.readouterr().out
