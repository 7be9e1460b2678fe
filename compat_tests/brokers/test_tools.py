"""Kafka's tools, and ours, while brokers of three are away: what they show, what they can change, and what waits."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat_tests.harness.awaiting import eventually
from compat_tests.harness.kafka_tools import KafkaTools
from compat_tests.harness.ours import Pykbroker


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pykbroker]:
    """Three brokers; each test leaves all of them running."""
    brokers = Pykbroker(tmp_path_factory.mktemp("brokers"), brokers=3)
    brokers.start()
    yield brokers
    brokers.stop()


@pytest.fixture
def tool(kafka_tools: KafkaTools, cluster: Pykbroker) -> Callable[..., str]:
    """Runs a tool with broker 1 as its server and gives what it prints."""

    def run(name: str, *arguments: str, status: int = 0) -> str:
        first, rest = ([arguments[0]], arguments[1:]) if name == "cluster" else ([], arguments)
        result = kafka_tools(name, *first, "--bootstrap-server", cluster.addresses[1], *rest)
        assert result.status == status, result.text
        return result.text

    return run


@pytest.fixture
def topic(tool: Callable[..., str], name: Callable[..., str]) -> str:
    """A topic of three partitions, each on all brokers, led by 1, 2 and 3."""
    made = name()
    tool("topics", "--create", "--topic", made, "--replica-assignment", "1:2:3,2:3:1,3:1:2")
    return made


def leaders(text: str) -> list[tuple[str, str]]:
    """Leader and ISR of each partition, as the topics tool shows them."""
    return re.findall(r"Leader: (\S+)\tReplicas: \S+\tIsr: (\S*)", text)


def test_partitions_without_a_broker(cluster, tool, topic):
    cluster.change_broker("stop", 3)
    assert leaders(tool("topics", "--describe", "--topic", topic)) == [("1", "1,2"), ("2", "2,1"), ("1", "1,2")]
    under = tool("topics", "--describe", "--under-replicated-partitions", "--topic", topic)
    assert len(leaders(under)) == 3
    alone = tool("topics", "--create", "--topic", topic + "-alone", "--replica-assignment", "3", status=1)
    assert "fenced or in controlled shutdown" in alone
    cluster.change_broker("start", 3)
    assert leaders(tool("topics", "--describe", "--under-replicated-partitions", "--topic", topic)) == []


def test_leaders_come_back_when_told(cluster, tool, topic):
    cluster.change_broker("stop", 2, "--abrupt")
    kept = tool("leader-election", "--election-type", "preferred", "--topic", topic, "--partition", "1", status=1)
    assert "preferred leader was not available" in kept
    cluster.change_broker("start", 2)
    assert [leader for leader, _ in leaders(tool("topics", "--describe", "--topic", topic))] == ["1", "3", "3"]
    elected = tool("leader-election", "--election-type", "preferred", "--topic", topic, "--partition", "1")
    assert f"Successfully completed leader election (PREFERRED) for partitions {topic}-1" in elected
    assert [leader for leader, _ in leaders(tool("topics", "--describe", "--topic", topic))] == ["1", "2", "3"]


def test_partitions_move_to_brokers_that_are_there(cluster, tool, topic, tmp_path: Path):
    plan = tmp_path / "moves.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [3, 2]}]}))
    cluster.change_broker("stop", 3)
    refused = tool("reassign-partitions", "--reassignment-json-file", str(plan), "--execute", status=1)
    assert "Unknown broker id 3" in refused
    cluster.change_broker("start", 3)
    tool("reassign-partitions", "--reassignment-json-file", str(plan), "--execute")
    verify = ("reassign-partitions", "--reassignment-json-file", str(plan), "--verify")
    eventually(lambda: tool(*verify), lambda said: "is completed" in said)
    leader, in_sync = leaders(tool("topics", "--describe", "--topic", topic))[0]
    assert (leader, sorted(in_sync.split(","))) == ("3", ["2", "3"])


def test_a_stopped_broker_is_listed_when_asked_for_and_can_be_forgotten(cluster, tool):
    cluster.change_broker("stop", 3)
    port = cluster.addresses[3].split(":")[1]
    assert port not in tool("cluster", "list-endpoints")
    with_fenced = tool("cluster", "list-endpoints", "--include-fenced-brokers")
    assert re.search(rf"^3\s+\S+\s+{port}\s.*fenced", with_fenced, re.MULTILINE)
    assert "Broker 3 is no longer registered" in tool("cluster", "unregister", "--id", "3")
    assert port not in tool("cluster", "list-endpoints", "--include-fenced-brokers")
    cluster.change_broker("start", 3)
    assert port in tool("cluster", "list-endpoints")
