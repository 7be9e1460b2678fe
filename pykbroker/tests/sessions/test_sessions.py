"""Sessions of stock clients: recorded, and played against a broker that answers as the first one did, and one that does not."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import aiokafka
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer

from pykbroker.client.connection import BrokerConnection
from pykbroker.sessions.session import BadSession, Session
from pykbroker.testing import Kafka, KafkaCluster
from pykbroker.tests.kit.leftovers import collect_leftovers
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

leftovers = pytest.fixture(autouse=True)(collect_leftovers)


@pytest.fixture
def two() -> Iterator[tuple[Kafka, Kafka]]:
    with Kafka() as here, Kafka() as there:
        for kafka in (here, there):
            kafka.create_topic("t", 1)
        yield here, there


def confluent(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    producer.produce("t", b"v", key=b"k", headers={"h": b"x"})
    assert producer.flush(20) == 0
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["t"])
    [message] = consumer.consume(1, timeout=20)
    consumer.commit(message, asynchronous=False)
    consumer.close()


def transactions(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "tx"})
    producer.init_transactions(20)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        producer.produce("t", b"v")
        producer.flush(20)
        end(20)


def kafka_python(bootstrap: str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    producer.send("t", b"v").get(20)
    producer.close()
    consumer = KafkaConsumer("t", bootstrap_servers=bootstrap, group_id="g", auto_offset_reset="earliest")
    while not consumer.poll(1000):
        pass
    consumer.close()


def aio(bootstrap: str) -> None:
    async def main() -> None:
        async with aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
            await producer.send_and_wait("t", b"v")

    asyncio.run(main())


@pytest.mark.parametrize("client", [confluent, transactions, kafka_python, aio])
def test_a_session_is_answered_by_another_broker_as_by_the_first(
    tmp_path: Path, two: tuple[Kafka, Kafka], client: Callable[[str], None]
) -> None:
    here, there = two
    with here.recording(tmp_path / "session.jsonl"):
        client(here.bootstrap_servers)
    played = there.play(tmp_path / "session.jsonl")
    assert played.same, str(played)
    assert played.by_nature["correlation_id"] == played.requests
    assert [each.value for each in there.records("t")] == [each.value for each in here.records("t")]


def test_ids_of_the_recording_stand_for_those_of_now(tmp_path: Path, two: tuple[Kafka, Kafka]) -> None:
    """Producer ids, in requests and in the headers of batches; and fetch sessions, whose ids are made by chance."""
    here, there = two
    with here.recording(tmp_path / "session.jsonl"):
        transactions(here.bootstrap_servers)
        confluent(here.bootstrap_servers)
    other = Producer({"bootstrap.servers": there.bootstrap_servers, "enable.idempotence": True})
    other.produce("another", b"v")  # takes the producer id that the first had there
    assert other.flush(20) == 0
    played = there.play(tmp_path / "session.jsonl")
    assert played.same, str(played)
    assert played.by_nature["producer_id"] > 0
    assert "producer_id" in str(played)


def test_what_differs_is_said(tmp_path: Path, two: tuple[Kafka, Kafka]) -> None:
    here, there = two
    with here.recording(tmp_path / "session.jsonl"):
        confluent(here.bootstrap_servers)
    there.produce("t", b"one more before")
    with there.faults.fail("OffsetCommit", "GROUP_AUTHORIZATION_FAILED") as fault:
        played = there.play(tmp_path / "session.jsonl")
        assert fault.fired
    assert not played.same
    paths = {(each.request.partition(" ")[0], each.path) for each in played.differences}
    assert ("PRODUCE", "responses[0].partition_responses[0].base_offset") in paths
    assert ("OFFSET_COMMIT", "topics[0].partitions[0].error_code") in paths
    text = str(played)
    assert "base_offset was 0 and is 1" in text
    assert f"{len(played.differences)} differences; by nature: " in text


def test_a_record_that_differs_is_told_by_its_field(tmp_path: Path, two: tuple[Kafka, Kafka]) -> None:
    here, there = two
    here.produce("t", "one", timestamp_ms=5)
    there.produce("t", "two", timestamp_ms=5)
    with here.recording(tmp_path / "session.jsonl"):
        consumer = Consumer({"bootstrap.servers": here.bootstrap_servers, "group.id": "g"})
        consumer.assign([TopicPartition("t", 0, 0)])
        assert consumer.consume(1, timeout=20)
        consumer.close()
    [difference] = there.play(tmp_path / "session.jsonl").differences
    assert difference.path == "responses[0].partitions[0].records.read[0].records[0].value"
    assert (difference.recorded, difference.now) == ("one", "two")


def test_what_is_not_served_is_played_too(tmp_path: Path, two: tuple[Kafka, Kafka]) -> None:
    here, there = two
    frame = bytes.fromhex("0003 7f00 00000007 0001 63 00")  # Metadata in a version that there is not
    with here.recording(tmp_path / "session.jsonl"), socket.create_connection(address(here)) as client:
        client.sendall(len(frame).to_bytes(4, "big") + frame)
        assert client.recv(10) == b""
    [exchange] = Session.read(tmp_path / "session.jsonl").exchanges
    assert exchange.closed is not None
    assert "METADATA is not served in version 32512" in exchange.closed
    played = there.play(tmp_path / "session.jsonl")
    assert (played.requests, played.same) == (1, True)


def test_a_connection_that_ends_now_is_a_difference(tmp_path: Path, two: tuple[Kafka, Kafka]) -> None:
    here, there = two
    with here.recording(tmp_path / "session.jsonl"):
        aio(here.bootstrap_servers)
    with there.faults.add("Produce", close=True):
        played = there.play(tmp_path / "session.jsonl")
    [difference] = played.differences
    assert difference.request.startswith("PRODUCE v")
    assert str(difference).endswith("the connection was 'answered' and is 'closed (the broker closed the connection)'")


def test_a_produce_without_acknowledgement_is_not_waited_for(tmp_path: Path, two: tuple[Kafka, Kafka]) -> None:
    here, there = two
    data = encode_batch([Record(timestamp=5, value=b"v")], base_offset=0)
    request = ProduceRequest(
        acks=0, timeout_ms=1000, topic_data=[TopicProduceData("t", partition_data=[PartitionProduceData(0, data)])]
    )
    with here.recording(tmp_path / "session.jsonl"):
        connection = BrokerConnection(*address(here), timeout_s=5, client_id="c")
        connection.send(request, 12, answered=False)
        here.wait_for_record("t")
        connection.close()
    played = there.play(tmp_path / "session.jsonl")
    assert (played.requests, played.same) == (1, True)
    assert there.wait_for_record("t").value == b"v"


def test_a_session_of_several_brokers(tmp_path: Path) -> None:
    with KafkaCluster() as here, KafkaCluster() as there, Kafka() as one:
        for kafka in (here, there):
            kafka.create_topic("t", 3, replication_factor=3)
            for partition in range(3):
                kafka.move_leader("t", partition, to=partition + 1)
        with here.recording(tmp_path / "session.jsonl"):
            producer = KafkaProducer(bootstrap_servers=here.bootstrap_servers)
            for partition in range(3):
                producer.send("t", b"v", partition=partition).get(20)
            producer.close()
        assert Session.read(tmp_path / "session.jsonl").brokers == [1, 2, 3]
        there.play(tmp_path / "session.jsonl")
        assert [each.partition for each in there.records("t")] == [0, 1, 2]
        with pytest.raises(
            ValueError, match=r"the session asked 3 brokers, and at .* there are 1; play it against as many"
        ):
            one.play(tmp_path / "session.jsonl")


def test_large_records_that_lie_in_files_are_recorded_whole(tmp_path: Path, two: tuple[Kafka, Kafka]) -> None:
    here, there = two
    for kafka in two:
        kafka.seed({"topics": {"large": [{"value": str(number) * 700_000, "timestamp": 5} for number in range(3)]}})
    with here.recording(tmp_path / "session.jsonl"):
        consumer = Consumer({"bootstrap.servers": here.bootstrap_servers, "group.id": "g"})
        consumer.assign([TopicPartition("large", 0, 0)])
        assert len(consumer.consume(3, timeout=20)) == 3
        consumer.close()
    assert there.play(tmp_path / "session.jsonl").same


def address(kafka: Kafka) -> tuple[str, int]:
    host, _, port = kafka.bootstrap_servers.rpartition(":")
    return host, int(port)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([], r"s\.jsonl: there are no requests in it"),
        (["{}"], r"s\.jsonl:1: not the head of a session"),
        (['{"session": 1}', "{"], r"s\.jsonl:2: Expecting property name"),
        (['{"session": 1}', '{"colour": 1}'], r"s\.jsonl:2: .*unexpected keyword argument 'colour'"),
    ],
)
def test_a_file_that_is_no_session(tmp_path: Path, lines: list[str], told: str) -> None:
    (tmp_path / "s.jsonl").write_text("\n".join(lines))
    with pytest.raises(BadSession, match=told), Kafka() as kafka:
        kafka.play(tmp_path / "s.jsonl")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"api": "PRODUCES"}, r"s\.jsonl:2: Kafka has no API 'PRODUCES'"),
        ({"request": {"colour": 1}}, r"s\.jsonl:2: \w+ has no field 'colour'; there are"),
        ({"version": 99}, r"s\.jsonl:2: .*99"),
    ],
)
def test_a_request_that_cannot_be_sent(
    tmp_path: Path, two: tuple[Kafka, Kafka], change: dict[str, object], told: str
) -> None:
    here, there = two
    with here.recording(tmp_path / "s.jsonl"):
        BrokerConnection(*address(here), timeout_s=5, client_id="c").close()
    head, first, *_ = (tmp_path / "s.jsonl").read_text().splitlines()
    (tmp_path / "s.jsonl").write_text(f"{head}\n{json.dumps(json.loads(first) | change)}\n")
    with pytest.raises(BadSession, match=told):
        there.play(tmp_path / "s.jsonl")


def test_one_recording_at_a_time(tmp_path: Path, two: tuple[Kafka, Kafka]) -> None:
    here, _ = two
    with here.recording(tmp_path / "one.jsonl"), pytest.raises(RuntimeError, match="is being recorded already"):  # noqa: SIM117
        with here.recording(tmp_path / "two.jsonl"):
            pass
    assert not (tmp_path / "two.jsonl").exists()
