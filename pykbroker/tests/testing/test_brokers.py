"""Brokers that are cut off from each other: who is in sync, what acks=all waits for, and what is said to wrong names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient

from pykbroker.testing import Kafka, KafkaCluster

SETTINGS = {"default.replication.factor": 3, "replica.lag.time.max.ms": 500}


@pytest.fixture
def cluster() -> Iterator[Kafka]:
    with KafkaCluster(SETTINGS) as kafka:
        kafka.create_topic("t", 1)
        kafka.move_leader("t", 0, to=1)
        yield kafka


def send(kafka: Kafka, value: bytes) -> KafkaError | None:
    told: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "acks": "all", "message.timeout.ms": 15_000})
    producer.produce("t", value, on_delivery=lambda error, _: told.append(error))
    producer.flush(20)
    return told[0]


def in_sync(kafka: Kafka) -> list[int]:
    return sorted(kafka.node.cluster.metadata.image.topics["t"].partitions[0].isr)


def ends(kafka: Kafka) -> list[int]:
    brokers = kafka.node.cluster.brokers
    return [brokers[node_id].store.partition("t", 0).log_end_offset for node_id in sorted(brokers)]


def test_a_follower_that_is_cut_off_leaves_and_comes_back(cluster: Kafka) -> None:
    cluster.broker(3).partition_from(1)
    assert send(cluster, b"one") is None  # once broker 3 has left
    assert in_sync(cluster) == [1, 2]
    assert ends(cluster) == [1, 1, 0]
    cluster.broker(3).heal()
    cluster.broker(3).heal()
    cluster.wait_for_in_sync("t")
    assert ends(cluster) == [1, 1, 1]


def test_a_leader_that_is_cut_off_goes_on_alone_and_a_reset_ends_it(cluster: Kafka) -> None:
    cluster.broker(1).partition_from()
    assert send(cluster, b"one") is None
    assert in_sync(cluster) == [1]
    assert ends(cluster) == [1, 0, 0]
    cluster.reset()
    cluster.create_topic("t", 1)
    assert send(cluster, b"one") is None
    assert in_sync(cluster) == [1, 2, 3]


@pytest.mark.parametrize("wrong", [(2,), (9,), (1, 9)])
def test_wrong_names(cluster: Kafka, wrong: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="the others are: 1, 3"):
        cluster.broker(2).partition_from(*wrong)
    assert not cluster.node.cluster.peers.cut


def test_one_broker_has_no_others() -> None:
    with Kafka() as kafka, pytest.raises(ValueError, match="the others are: none"):
        kafka.broker(1).partition_from()


def racks(kafka: Kafka) -> dict[int, str | None]:
    client = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})  # it ends with its name
    found = client.describe_cluster().result(20)
    return {node.id: node.rack for node in found.nodes}


def test_each_broker_has_its_rack_after_a_reset_too() -> None:
    with KafkaCluster(racks=["a", "b", "c"]) as kafka:
        assert racks(kafka) == {1: "a", 2: "b", 3: "c"}
        kafka.reset()
        assert racks(kafka) == {1: "a", 2: "b", 3: "c"}


def test_a_process_of_its_own_has_racks_too() -> None:
    with Kafka(brokers=2, racks=["a", "b"], process=True) as kafka:
        assert racks(kafka) == {1: "a", 2: "b"}


def test_there_is_one_at_least() -> None:
    with pytest.raises(ValueError, match="brokers is 0; write 1 or more"):
        Kafka(brokers=0)


@pytest.mark.parametrize("wrong", [["a"], "ab", ["a", ""], ["a", "b,c"], []])
def test_racks_are_one_for_each(wrong: list[str]) -> None:
    with pytest.raises(ValueError, match="a name without commas for each of the 2 brokers"):
        Kafka(brokers=2, racks=wrong)
