"""A pykbroker process as a broker of a cluster of Apache Kafka: stock clients use what it leads, over stops and kills."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.request import urlopen

import pytest
from kafka import KafkaConsumer, KafkaProducer

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.kafka_tools import KafkaTools
from compat_tests.harness.process import ServerProcess
from compat_tests.oracle.connection import Connection
from compat_tests.quorum.member import Member, consume, create, log_of, produce, state
from pykbroker.tests.kit.ports import free_ports
from pykbroker.tests.kit.running import until_in_thread
from pykbroker.wire.messages.describe_cluster import DescribeClusterRequest
from pykbroker.wire.messages.metadata import MetadataRequest
from pykbroker.wire.messages.unregister_broker import UnregisterBrokerRequest


def test_both_see_both(java: ApacheKafka, ours: Member) -> None:
    for bootstrap in (java.bootstrap, ours.bootstrap):
        with closing(Connection(bootstrap, patience_s=60)) as connection:
            for request, version in ((MetadataRequest([]), 12), (DescribeClusterRequest(), 1)):
                brokers = connection.ask(request, version).brokers  # type: ignore[attr-defined]
                known = {(each.node_id if version > 1 else each.broker_id, each.port) for each in brokers}
                assert known == {(1, java.port), (4, ours.port)}


@pytest.mark.parametrize("contact", ["java", "ours"])
def test_clients_use_what_it_leads(contact: str, java: ApacheKafka, ours: Member, kafka_tools: KafkaTools) -> None:
    """kafka-python, librdkafka and Kafka's console tools, each by either broker."""
    topic = create(java.bootstrap, [4])
    bootstrap = {"java": java, "ours": ours}[contact].bootstrap
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    assert [producer.send(topic, b"python %d" % n).get(60).offset for n in range(3)] == [0, 1, 2]
    producer.close()
    produce(bootstrap, topic, [b"librdkafka"])
    said = kafka_tools("console-producer", "--bootstrap-server", bootstrap, "--topic", topic, stdin="console\n")
    assert said.status == 0, said.text
    expected = [b"python 0", b"python 1", b"python 2", b"librdkafka", b"console"]
    assert consume(bootstrap, topic, 5) == expected
    consumer = KafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", enable_auto_commit=False)
    assert [next(consumer).value for _ in expected] == expected
    consumer.close()
    said = kafka_tools(
        *("console-consumer", "--bootstrap-server", bootstrap, "--topic", topic, "--from-beginning"),
        *("--max-messages", "5"),
    )
    assert [line.encode() for line in said.lines] == expected


@pytest.mark.parametrize("ending", ["stop", "kill"])
def test_it_comes_back_with_its_records(ending: str, java: ApacheKafka, ours: Member) -> None:
    topic = create(java.bootstrap, [4])
    produce(java.bootstrap, topic, [b"before"])
    assert getattr(ours, ending)() == (0 if ending == "stop" else -9)
    if ending == "stop":  # it has told the controller
        assert state(java.bootstrap, topic)[0] == -1
    ours.start()
    produce(java.bootstrap, topic, [b"after"])
    assert consume(java.bootstrap, topic, 2) == [b"before", b"after"]


def test_it_registers_again_when_it_is_unregistered(java: ApacheKafka, ours: Member) -> None:
    """While it runs, which Apache Kafka permits: it gets another broker epoch, and leads and follows from then on."""
    topics = [create(java.bootstrap, replicas, min_insync_replicas="1") for replicas in ([4, 1], [1, 4])]
    for topic in topics:
        until_in_thread(lambda topic=topic: state(java.bootstrap, topic)[1] == {1, 4})
        produce(java.bootstrap, topic, [b"before"])
    registered = "Registered with the controllers"
    before = ours.log_file.read_text().count(registered)
    with closing(Connection(java.bootstrap, patience_s=60)) as connection:
        assert not connection.ask(UnregisterBrokerRequest(4), 0).error_code  # type: ignore[attr-defined]
    until_in_thread(lambda: ours.log_file.read_text().count(registered) == before + 1)
    for topic in topics:
        until_in_thread(lambda topic=topic: state(java.bootstrap, topic)[1] == {1, 4})
        produce(ours.bootstrap, topic, [b"after"])
        assert consume(ours.bootstrap, topic, 2) == [b"before", b"after"]
        until_in_thread(lambda topic=topic: log_of(java, topic) == log_of(ours, topic))
    moved = create(ours.bootstrap, [4])
    produce(java.bootstrap, moved, [b"led again"])
    assert consume(java.bootstrap, moved, 1) == [b"led again"]


def test_the_console_shows_the_metadata(
    java: ApacheKafka, start: Callable[[ServerProcess], None], tmp_path: Path
) -> None:
    """As this broker has copied them."""
    (port,) = free_ports(1)
    member = Member(tmp_path, java, 6, arguments=["--http", str(port)])
    start(member)
    topic = create(java.bootstrap, [6])

    def names() -> list[str]:
        with urlopen(f"http://127.0.0.1:{port}/console/api/metadata?limit=200", timeout=60) as answer:
            records = json.load(answer)["records"]
        return [each["value"]["name"] for each in records if each["type"] == "TopicRecord"]

    until_in_thread(lambda: topic in names())
    assert member.stop() == 0
