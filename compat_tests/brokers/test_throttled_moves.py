"""A reassignment that Kafka's tool throttles, on two of our brokers and on two of Apache Kafka: what it says, what it sets, when it ends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from compat_tests.harness.apache import ApacheBroker, ApacheKafka
from compat_tests.harness.awaiting import eventually
from compat_tests.harness.kafka_tools import KafkaTools
from compat_tests.harness.ours import Pykbroker

TOPIC = "moved"
#: More than is copied before the limit is noticed, a megabyte, and than in some windows of the quota after that.
_RECORDS, _SIZE = 60, 100_000


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    brokers = Pykbroker(tmp_path_factory.mktemp("brokers"), brokers=2)
    brokers.start()
    yield brokers.addresses[1]
    brokers.stop()


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    first = ApacheKafka(tmp_path_factory.mktemp("first"))
    first.start()
    second = ApacheBroker(tmp_path_factory.mktemp("second"), first, 2)
    second.start()
    yield first.bootstrap
    second.stop()
    first.stop()


def story(tools: KafkaTools, bootstrap: str, folder: Path) -> list[str]:
    """What is seen from the start of the move to its end."""

    def run(tool: str, *arguments: str) -> str:
        result = tools(tool, "--bootstrap-server", bootstrap, *arguments)
        assert result.status == 0, result.text
        return result.text

    def throttled() -> list[str]:
        described = [run("configs", "--describe", "--topic", TOPIC)]
        described += [run("configs", "--describe", "--broker", broker) for broker in ("1", "2")]
        words = " ".join(described).split()
        return sorted(word for word in words if ".replication.throttled." in word and word.partition("=")[1])

    run("topics", "--create", "--topic", TOPIC, "--replica-assignment", "1")
    producer = Producer({"bootstrap.servers": bootstrap})
    for _ in range(_RECORDS):
        producer.produce(TOPIC, bytes(_SIZE), partition=0)
        producer.flush()
    plan = folder / "moves.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": TOPIC, "partition": 0, "replicas": [2]}]}))
    moves = ("reassign-partitions", "--reassignment-json-file", str(plan))
    seen = [run(*moves, "--execute", "--throttle", "1"), *throttled()]
    seen += [run(*moves, "--verify"), *throttled(), run("reassign-partitions", "--list")]
    seen += [run(*moves, "--execute", "--additional", "--throttle", "1000000000"), *throttled()]
    seen += [eventually(lambda: run(*moves, "--verify"), lambda said: "is completed" in said), *throttled()]
    return [re.sub(r'"log_dirs":\[[^]]*\]', "", each) for each in seen]


def test_as_apache_kafka(kafka_tools: KafkaTools, ours: str, java: str, tmp_path: Path) -> None:
    seen, expected = story(kafka_tools, ours, tmp_path), story(kafka_tools, java, tmp_path)
    assert "is still in progress" in "".join(expected)
    assert seen == expected
