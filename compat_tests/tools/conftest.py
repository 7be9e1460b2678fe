"""Kafka's tools pointed at the broker under test."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from confluent_kafka import Producer

from compat_tests.harness.kafka_tools import KafkaTools, ToolResult


@pytest.fixture
def tool(kafka_tools: KafkaTools, bootstrap: str) -> Callable[..., ToolResult]:
    """Runs a tool with ``--bootstrap-server``; fails the test unless it ends with the expected status (0)."""

    def run(name: str, *arguments: str, stdin: str = "", status: int = 0) -> ToolResult:
        result = kafka_tools(name, "--bootstrap-server", bootstrap, *arguments, stdin=stdin)
        assert result.status == status, result.text
        return result

    return run


@pytest.fixture
def make_topic(tool: Callable[..., ToolResult], name: Callable[..., str]) -> Callable[..., str]:
    """Creates a topic with the topics tool."""

    def make(partitions: int = 1, **configs: str) -> str:
        topic = name()
        settings = [word for setting, value in configs.items() for word in ("--config", f"{setting}={value}")]
        tool("topics", "--create", "--topic", topic, "--partitions", str(partitions), *settings)
        return topic

    return make


@pytest.fixture
def fill(bootstrap: str) -> Callable[..., None]:
    """Fills partitions with ten records each, one second apart from 2023-11-14T22:13:20 UTC: ``fill(topic, 0, 1)``."""

    def fill(topic: str, *partitions: int, start_ms: int = 1_700_000_000_000) -> None:
        producer = Producer({"bootstrap.servers": bootstrap})
        for partition in partitions or (0,):
            for i in range(10):
                producer.produce(
                    topic, b"value %d" % i, b"key %d" % i, partition=partition, timestamp=start_ms + 1000 * i
                )
        assert producer.flush(30) == 0

    return fill


def table(result: ToolResult) -> list[dict[str, str]]:
    """The rows of a tool's table, cells by heading; headings are the first line whose first word is in capitals."""
    lines = [line.split() for line in result.lines if line.strip()]
    start = next(i for i, words in enumerate(lines) if words[0].isupper())
    headings = lines[start]
    return [dict(zip(headings, words, strict=False)) for words in lines[start + 1 :]]


columns = partial(lambda rows, *names: sorted(tuple(row[name] for name in names) for row in rows))
