"""Kafka's command-line tools on groups of the new protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer

from compat_tests.harness.awaiting import eventually
from compat_tests.harness.kafka_tools import KafkaTools, ToolResult
from compat_tests.tools.conftest import columns, table


@pytest.fixture
def tool(kafka_tools: KafkaTools, quick: str) -> Callable[..., ToolResult]:
    def run(name: str, *arguments: str, status: int = 0) -> ToolResult:
        result = kafka_tools(name, "--bootstrap-server", quick, *arguments)
        assert result.status == status, result.text
        return result

    return run


@pytest.fixture
def member(tool: Callable[..., ToolResult], quick: str, name: Callable[..., str]) -> Iterator[tuple[str, str]]:
    """A group with one static member that holds both partitions of a topic, as (group, topic)."""
    group, topic = name("group"), name("topic")
    tool("topics", "--create", "--topic", topic, "--partitions", "2")
    settings = {
        "bootstrap.servers": quick,
        "group.id": group,
        "group.protocol": "consumer",
        "group.remote.assignor": "range",
        "group.instance.id": "machine-1",
        "client.id": "reader",
        "enable.auto.commit": False,
    }
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    eventually(lambda: (consumer.poll(0.05), len(consumer.assignment()))[1], lambda assigned: assigned == 2, pause_s=0)
    yield group, topic
    consumer.close()


def test_listed_with_type_and_state(tool, member):
    group, _ = member
    rows = table(tool("consumer-groups", "--list", "--type", "consumer"))
    assert (group, "Consumer") in columns(rows, "GROUP", "TYPE")
    assert group not in tool("consumer-groups", "--list", "--type", "classic").out
    rows = table(tool("consumer-groups", "--list", "--state", "Stable"))
    assert (group, "Stable") in columns(rows, "GROUP", "STATE")
    rows = table(tool("groups", "--list", "--group-type", "consumer"))
    assert (group, "Consumer", "consumer") in columns(rows, "GROUP", "TYPE", "PROTOCOL")


def test_described_with_its_state(tool, member):
    group, _ = member
    rows = table(tool("consumer-groups", "--describe", "--group", group, "--state", "--verbose"))
    assert columns(rows, "GROUP", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS") == [(group, "range", "Stable", "1")]
    (row,) = rows
    assert row["GROUP-EPOCH"] == row["TARGET-ASSIGNMENT-EPOCH"]


def test_described_with_its_members(tool, member):
    group, topic = member
    (row,) = table(tool("consumer-groups", "--describe", "--group", group, "--members", "--verbose"))
    assert (row["GROUP"], row["GROUP-INSTANCE-ID"], row["CLIENT-ID"], row["#PARTITIONS"]) == (
        group,
        "machine-1",
        "reader",
        "2",
    )
    assert row["CURRENT-EPOCH"] == row["TARGET-EPOCH"]
    assert row["CURRENT-ASSIGNMENT"] == row["TARGET-ASSIGNMENT"] == f"{topic}:0,1"


def test_settings_of_a_group(tool, member):
    group, _ = member
    where = ("--entity-type", "groups", "--entity-name", group)
    tool("configs", "--alter", *where, "--add-config", "consumer.session.timeout.ms=50000")
    assert "consumer.session.timeout.ms=50000" in tool("configs", "--describe", *where).out
    refused = tool("configs", "--alter", *where, "--add-config", "consumer.session.timeout.ms=1", status=1)
    assert "consumer.session.timeout.ms" in refused.text
    tool("configs", "--alter", *where, "--delete-config", "consumer.session.timeout.ms")
    assert "consumer.session.timeout.ms" not in tool("configs", "--describe", *where).out


def test_a_group_in_use_is_not_deleted_or_reset(tool, member):
    group, topic = member
    assert "GroupNotEmptyException" in tool("consumer-groups", "--delete", "--group", group).text
    reset = ("--reset-offsets", "--to-earliest", "--topic", topic, "--execute")
    assert "Stable" in tool("consumer-groups", "--group", group, *reset).text
