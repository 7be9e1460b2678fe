"""Brokers in the test's own process, through a stock client."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from pykbroker.config.setting import ConfigError
from pykbroker.testing import Kafka, KafkaCluster
from pykbroker.tests.kit.running import until_in_thread


def produce(kafka: Kafka, topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(20) == 0


def consume(kafka: Kafka, topic: str, count: int) -> list[bytes | None]:
    consumer = Consumer(
        {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    try:
        return [message.value() for message in consumer.consume(count, timeout=20)]
    finally:
        consumer.close()


def topics(kafka: Kafka) -> set[str]:
    return set(AdminClient({"bootstrap.servers": kafka.bootstrap_servers}).list_topics(timeout=20).topics)


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_what_is_produced_is_consumed() -> None:
    with Kafka() as kafka:
        produce(kafka, "t", b"1", b"2")
        assert consume(kafka, "t", 2) == [b"1", b"2"]


@pytest.mark.parametrize("own", [False, True])
def test_nothing_is_left_behind(tmp_path: Path, own: bool) -> None:
    Kafka().start().stop()  # uvloop opens a pipe with the first loop of a process, and keeps it
    before, files = set(threading.enumerate()), descriptors()
    kafka = Kafka(data_dir=tmp_path / "data" if own else None).start()
    kafka.create_topic("t")
    kafka.stop()
    kafka.stop()
    assert not set(threading.enumerate()) - before
    until_in_thread(lambda: descriptors() <= files)  # clients of other tests may connect again, and end


def test_data_in_a_folder_of_ones_own_stays(tmp_path: Path) -> None:
    with Kafka(data_dir=tmp_path / "data") as kafka:
        produce(kafka, "t", b"kept")
        with pytest.raises(RuntimeError, match="data_dir"):
            kafka.reset()
    with Kafka(data_dir=tmp_path / "data") as kafka:
        assert consume(kafka, "t", 1) == [b"kept"]


def test_after_a_reset_nothing_is_there_and_clients_go_on() -> None:
    with Kafka() as kafka:
        produce(kafka, "old", b"0")
        produce(kafka, "t", b"1")
        consume(kafka, "t", 1)
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
        producer.produce("t", b"2")
        assert producer.flush(20) == 0
        kafka.reset()
        assert topics(kafka) <= {"t"}, "the producer asks about its topic when it likes, which makes it anew"
        producer.produce("t", b"3")
        assert producer.flush(20) == 0
        assert topics(kafka) == {"t"}
        assert consume(kafka, "t", 1) == [b"3"]


def test_a_cluster_has_several_brokers() -> None:
    with KafkaCluster() as kafka:
        metadata = AdminClient({"bootstrap.servers": kafka.bootstrap_servers}).list_topics(timeout=20)
        assert sorted(metadata.brokers) == [1, 2, 3]


def test_settings_are_kafkas_in_either_spelling() -> None:
    with Kafka({"auto.create.topics.enable": False}, num_partitions=3) as kafka:
        config = kafka.node.cluster.config
        assert (config["auto.create.topics.enable"], config["num.partitions"]) == (False, 3)


def test_a_bad_value_is_refused_and_nothing_left_behind() -> None:
    before = set(threading.enumerate())
    with pytest.raises(ConfigError, match=r"num\.partitions"):
        Kafka(num_partitions="many").start()
    assert not set(threading.enumerate()) - before


def test_an_unknown_setting_is_refused_with_what_was_meant() -> None:
    with pytest.raises(ConfigError, match=r"no broker setting num\.partitons; did you mean num\.partitions\?"):
        Kafka(num_partitons=3)
    with pytest.raises(ConfigError, match=r"no broker setting broker; did you mean brokers or broker\.id\?"):
        Kafka(broker=3)
    with pytest.raises(ConfigError, match=r"no broker setting nothing\.of\.the\.kind"):
        Kafka({"nothing.of.the.kind": 1})


def test_a_snapshot_is_restored_as_often_as_wanted() -> None:
    with Kafka() as kafka:
        produce(kafka, "t", b"1", b"2")
        consume(kafka, "t", 1)
        kafka.snapshot("two records")
        for _ in range(2):
            produce(kafka, "t", b"3")
            produce(kafka, "u", b"4")
            kafka.restore("two records")
            assert topics(kafka) == {"t", "__consumer_offsets"}
            kafka.reset()
            assert topics(kafka) == set()
            kafka.restore("two records")
            assert consume(kafka, "t", 1) == [b"2"]  # the group goes on where it was


def test_an_unknown_snapshot_is_refused_with_those_that_are_there() -> None:
    with Kafka() as kafka:
        with pytest.raises(LookupError, match="none was made"):
            kafka.restore("a")
        kafka.snapshot("b")
        with pytest.raises(LookupError, match="no snapshot 'a'; there are 'b'"):
            kafka.restore("a")


def test_what_hooks_into_a_reset_is_told_before_clients_are_cut_off() -> None:
    with Kafka() as kafka:
        told = []
        kafka.on_reset.append(lambda: told.append(len(kafka.node.server.sockets(1).connections)))
        with socket.create_connection(kafka.bootstrap_servers.split(":")):
            topics(kafka)
            kafka.reset()
        assert told[0] >= 1
