"""Kafka's own ``kafka-acls`` against pykbroker, and what it made as ``pykbroker acls`` shows it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.authorization.brokers import Addresses, AuthorizingPykbroker
from compat_tests.harness.kafka_tools import KafkaTools
from pykbroker.cli.app import main


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where super users are: the plain listener."""
    broker = AuthorizingPykbroker(tmp_path / "ours", Addresses())
    broker.start()
    try:
        yield broker.bootstrap
    finally:
        broker.stop()


def test_kafkas_tool_adds_lists_and_removes(
    kafka_tools: KafkaTools, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def acls(*words: str) -> str:
        done = kafka_tools("acls", "--bootstrap-server", address, *words)
        assert done.status == 0, done.text
        return done.text

    acls("--add", "--allow-principal", "User:alice", "--producer", "--topic", "orders")
    acls(
        "--add",
        "--deny-principal",
        "User:bob",
        "--operation",
        "All",
        "--topic",
        "or",
        "--resource-pattern-type",
        "prefixed",
    )
    listed = acls("--list", "--topic", "orders", "--resource-pattern-type", "match")
    assert "principal=User:alice, host=*, operation=CREATE, permissionType=ALLOW" in listed
    assert "principal=User:bob, host=*, operation=ALL, permissionType=DENY" in listed
    capsys.readouterr()
    assert main(["acls", "list", "-b", address, "--json"]) == 0
    assert [(row["resource"], row["operation"]) for row in json.loads(capsys.readouterr().out)] == [
        ("topic or", "all"),
        ("topic orders", "write"),
        ("topic orders", "create"),
        ("topic orders", "describe"),
    ]
    acls("--remove", "--force", "--topic", "orders")
    assert "User:alice" not in acls("--list")
