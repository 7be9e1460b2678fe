"""Kafka's tools for administration: configs for users, clients and addresses, features, metadata-quorum, leader-election,
reassign-partitions, cluster.

What needs two brokers runs against pykbroker alone: the harness starts Apache Kafka as one node.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from compat_tests.conftest import TARGET
from compat_tests.harness.awaiting import eventually
from compat_tests.harness.kafka_tools import KafkaTools, ToolResult
from compat_tests.harness.ours import Pykbroker

# ---- configs: quotas and credentials


def entity_words(*entity: tuple[str, str | None]) -> list[str]:
    """The options that name an entity; None is the default one."""
    words = []
    for kind, name in entity:
        words += ["--entity-type", kind] + (["--entity-default"] if name is None else ["--entity-name", name])
    return words


@pytest.mark.parametrize("kinds", [["users"], ["clients"], ["users", "clients"]])
def test_quotas_of_users_and_clients(tool, name, kinds):
    entity = entity_words(*((kind, name(kind)) for kind in kinds))
    tool("configs", "--alter", *entity, "--add-config", "producer_byte_rate=1024,request_percentage=12.5")
    described = tool("configs", "--describe", *entity).out
    assert "producer_byte_rate=1024.0" in described
    assert "request_percentage=12.5" in described
    tool("configs", "--alter", *entity, "--delete-config", "producer_byte_rate")
    assert "producer_byte_rate" not in tool("configs", "--describe", *entity).out
    tool("configs", "--alter", *entity, "--delete-config", "request_percentage")
    assert "request_percentage" not in tool("configs", "--describe", *entity).out


def test_default_quotas_and_quotas_of_addresses(tool, name):
    user = name("user")
    for entity, setting, described in (
        ([("users", user), ("clients", None)], "consumer_byte_rate", f"user-principal '{user}', the default client-id"),
        ([("ips", "10.9.8.7")], "connection_creation_rate", "ip '10.9.8.7'"),
    ):
        words = entity_words(*entity)
        tool("configs", "--alter", *words, "--add-config", f"{setting}=100000")
        shown = partial(tool, "configs", "--describe", *words)  # Apache Kafka answers before it applies
        eventually(shown, lambda seen, said=f"Quota configs for {described} are {setting}=100000.0": said in seen.out)
        tool("configs", "--alter", *words, "--delete-config", setting)
        eventually(shown, lambda seen, name=setting: name not in seen.out)


def test_quotas_that_are_refused(tool, name):
    user = entity_words(("users", name("user")))
    refused = tool("configs", "--alter", *user, "--add-config", "producer_byte_rate=-1", status=1)
    assert "Quota producer_byte_rate must be greater than 0" in refused.text
    nowhere = entity_words(("ips", "no.such.host.invalid"))
    refused = tool("configs", "--alter", *nowhere, "--add-config", "connection_creation_rate=5", status=1)
    assert "no.such.host.invalid" in refused.text


def test_scram_credentials(tool, name):
    user = entity_words(("users", name("user")))
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        tool("configs", "--alter", *user, "--add-config", f"{mechanism}=[iterations=8192,password=a secret]")
    described = tool("configs", "--describe", *user).out
    assert "SCRAM-SHA-256=iterations=8192" in described
    assert "SCRAM-SHA-512=iterations=8192" in described
    tool("configs", "--alter", *user, "--delete-config", "SCRAM-SHA-256")
    assert "SCRAM-SHA-256" not in tool("configs", "--describe", *user).out
    tool("configs", "--alter", *user, "--delete-config", "SCRAM-SHA-512")
    both = "SCRAM-SHA-256=[password=secret],SCRAM-SHA-512=[password=secret]"
    assert "altered twice" in tool("configs", "--alter", *user, "--add-config", both, status=1).text
    gone = tool("configs", "--alter", *user, "--delete-config", "SCRAM-SHA-256", status=1)
    assert "does not exist" in gone.text


# ---- features, the quorum, the cluster


def test_features(tool):
    assert "was upgraded" in tool("features", "upgrade", "--feature", "group.version=1").out
    assert "can be downgraded" in tool("features", "downgrade", "--feature", "group.version=0", "--dry-run").out
    refused = tool("features", "upgrade", "--feature", "group.version=9", status=1)
    assert "only supports versions 0-1" in refused.text
    refused = tool("features", "downgrade", "--feature", "metadata.version=21", status=1)
    assert "Refusing to perform the requested downgrade" in refused.text
    finalized = re.search(r"group\.version .*FinalizedVersionLevel: (\d)", tool("features", "describe").out)
    assert finalized is not None
    assert finalized[1] == "1"


def test_the_quorum(tool):
    status = tool("metadata-quorum", "describe", "--status").out
    assert re.search(r"LeaderId: +1\n", status)
    assert re.search(r"MaxFollowerLag: +0\n", status)
    assert '"id": 1' in status
    (voter,) = tool("metadata-quorum", "describe", "--replication").lines[1:]
    assert voter.split()[0] == "1"
    assert voter.split()[-1] == "Leader"


def test_a_broker_nobody_knows(kafka_tools, bootstrap):
    refused = kafka_tools("cluster", "unregister", "--bootstrap-server", bootstrap, "--id", "77")
    assert refused.status == 1
    assert "Broker ID 77 is not currently registered" in refused.text


# ---- leaders and replicas of one broker


def test_leader_election_where_none_is_needed(tool, make_topic):
    topic = make_topic(partitions=2)
    elected = tool("leader-election", "--election-type", "preferred", "--topic", topic, "--partition", "1")
    assert f"Valid replica already elected for partitions {topic}-1" in elected.out
    tool("leader-election", "--election-type", "preferred", "--all-topic-partitions")
    tool("leader-election", "--election-type", "unclean", "--all-topic-partitions")
    unknown = ["--topic", topic + "-none", "--partition", "0"]
    refused = tool("leader-election", "--election-type", "preferred", *unknown, status=1)
    assert f"No such topic as {topic}-none" in refused.text


@pytest.fixture
def plan(tmp_path: Path) -> Callable[..., str]:
    """A reassignment file that moves partitions of a topic: ``plan(topic, [1, 2], [2])``."""

    def write(topic: str, *replicas: list[int], log_dir: str = "any") -> str:
        partitions = [
            {"topic": topic, "partition": index, "replicas": brokers, "log_dirs": [log_dir] * len(brokers)}
            for index, brokers in enumerate(replicas)
        ]
        path = tmp_path / "reassignment.json"
        path.write_text(json.dumps({"version": 1, "partitions": partitions}))
        return str(path)

    return write


def test_reassignment_to_where_it_is(tool, make_topic, plan, target):
    topic = make_topic()
    for log_dir in ("any", str(target.data_dir)):
        file = plan(topic, [1], log_dir=log_dir)
        moved = tool("reassign-partitions", "--reassignment-json-file", file, "--execute")
        assert f"Successfully started partition reassignment for {topic}-0" in moved.out
        seen = tool("reassign-partitions", "--reassignment-json-file", file, "--verify").out
        assert f"Reassignment of partition {topic}-0 is completed." in seen
    assert "No partition reassignments found." in tool("reassign-partitions", "--list").out
    cancelled = tool("reassign-partitions", "--reassignment-json-file", file, "--cancel").out
    assert "None of the specified partition reassignments are active." in cancelled


def test_reassignments_that_are_refused(tool, make_topic, plan):
    topic = make_topic()
    file = plan(topic, [9])
    refused = tool("reassign-partitions", "--reassignment-json-file", file, "--execute", status=1)
    assert "Unknown broker id 9" in refused.text


# ---- two brokers


@pytest.fixture
def two_brokers(tmp_path: Path) -> Iterator[Pykbroker]:
    if Pykbroker.name != TARGET:
        pytest.skip("the harness starts Apache Kafka as one node")
    process = Pykbroker(tmp_path / "two", brokers=2)
    process.start()
    yield process
    process.stop()


@pytest.fixture
def tool_of_two(kafka_tools: KafkaTools, two_brokers: Pykbroker) -> Callable[..., ToolResult]:
    def run(name: str, *arguments: str) -> ToolResult:
        result = kafka_tools(name, "--bootstrap-server", two_brokers.bootstrap, *arguments)
        assert result.status == 0, result.text
        return result

    return run


def leaders(tool: Callable[..., ToolResult], topic: str) -> list[tuple[str, str, str]]:
    """Leader, replicas and ISR of each partition, as the topics tool shows them."""
    described = tool("topics", "--describe", "--topic", topic).out
    return re.findall(r"Partition: \d+\tLeader: (\S+)\tReplicas: (\S+)\tIsr: (\S+)", described)


def test_partitions_move_between_brokers_with_their_records(tool_of_two, two_brokers, plan):
    tool, topic = tool_of_two, "moving"
    tool("topics", "--create", "--topic", topic, "--replica-assignment", "1,2")
    producer = Producer({"bootstrap.servers": two_brokers.bootstrap})
    for n in range(100):
        producer.produce(topic, b"%d" % n, partition=0)
    assert producer.flush(30) == 0
    file = plan(topic, [2], [2, 1])
    tool("reassign-partitions", "--reassignment-json-file", file, "--execute")
    verify = ("reassign-partitions", "--reassignment-json-file", file, "--verify")
    eventually(lambda: tool(*verify).out, lambda seen: seen.count("is completed.") == 2)
    assert [(leader, replicas) for leader, replicas, _ in leaders(tool, topic)] == [("2", "2"), ("2", "2,1")]
    producer.produce(topic, b"100", partition=0)  # the same producer finds the new leader
    assert producer.flush(30) == 0
    consumer = Consumer({"bootstrap.servers": two_brokers.bootstrap, "group.id": "g", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    values = [message.value() for message in consumer.consume(101, timeout=30)]
    consumer.close()
    assert values == [b"%d" % n for n in range(101)]


def test_the_preferred_leader_is_elected(tool_of_two, plan):
    tool, topic = tool_of_two, "electing"
    tool("topics", "--create", "--topic", topic, "--replica-assignment", "1:2")
    tool("reassign-partitions", "--reassignment-json-file", plan(topic, [2, 1]), "--execute")
    assert [leader for leader, _, _ in leaders(tool, topic)] == ["1"]
    elected = tool("leader-election", "--election-type", "preferred", "--all-topic-partitions").out
    assert f"Successfully completed leader election (PREFERRED) for partitions {topic}-0" in elected
    assert [leader for leader, _, _ in leaders(tool, topic)] == ["2"]


def test_the_other_broker_observes_the_quorum_and_can_be_forgotten(tool_of_two, kafka_tools, two_brokers):
    rows = [line.split() for line in tool_of_two("metadata-quorum", "describe", "--replication").lines[1:]]
    assert [(row[0], row[-1]) for row in rows] == [("1", "Leader"), ("2", "Observer")]
    bootstrap = ["--bootstrap-server", two_brokers.bootstrap]
    assert kafka_tools("cluster", "unregister", *bootstrap, "--id", "2").status == 0
    listed = kafka_tools("cluster", "list-endpoints", *bootstrap).lines
    assert [line.split()[0] for line in listed[1:]] == ["1"]
    two_brokers.restart()
    listed = kafka_tools("cluster", "list-endpoints", *bootstrap).lines
    assert [line.split()[0] for line in listed[1:]] == ["1", "2"]
