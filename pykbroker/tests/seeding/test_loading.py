"""Seeds in brokers: what is there afterwards, what clients see of it, and what is refused."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from pykbroker.brokers.broker import Broker
from pykbroker.client.connection import BrokerConnection
from pykbroker.client.errors import Unreachable
from pykbroker.requests.pipeline import Place, through
from pykbroker.seeding.partitioner import Partitioner
from pykbroker.seeding.seed import BadSeed
from pykbroker.testing import Kafka, KafkaCluster
from pykbroker.wire.errors import KafkaError

ORDERS = {
    "topics": {
        "orders": {
            "partitions": 3,
            "configs": {"cleanup.policy": "compact"},
            "records": [
                {"key": "a", "value": "1", "timestamp": 5, "headers": {"h": "x"}},
                {"key": "b", "value": None, "partition": 1},
            ],
        }
    }
}


@pytest.fixture
def broker() -> Iterator[Kafka]:
    with Kafka() as made:
        yield made


def test_a_client_reads_what_was_sown(broker: Kafka) -> None:
    sown = broker.seed(ORDERS)
    assert (sown.topics, sown.records) == (1, 2)
    assert broker.topics() == {"orders": 3}
    assert broker.node.cluster.metadata.image.topic_config("orders") == {"cleanup.policy": "compact"}
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["orders"])
    first, second = sorted(consumer.consume(2, timeout=20), key=lambda message: message.key())
    consumer.close()
    assert (first.partition(), first.value(), first.timestamp()[1]) == (Partitioner(3).choose(b"a"), b"1", 5)
    assert first.headers() == [("h", b"x")]
    assert (second.partition(), second.key(), second.value()) == (1, b"b", None)


def test_records_go_by_key_or_in_turn_and_in_their_order(broker: Kafka) -> None:
    records = [{"value": str(number)} for number in range(1000)]
    broker.seed({"topics": {"turns": {"partitions": 3, "records": records}, "one": records}})
    assert [each.text for each in broker.records("one")] == [str(number) for number in range(1000)]
    for partition in range(3):
        assert [each.text for each in broker.records("turns", partition)] == list(map(str, range(partition, 1000, 3)))


def test_a_topic_that_only_records_name_has_the_partitions_they_need(broker: Kafka, tmp_path: Path) -> None:
    (tmp_path / "seen.jsonl").write_text('{"value": "a", "partition": 4}\n{"value": "b", "partition": 0}\n')
    broker.seed(tmp_path)
    assert broker.topics() == {"seen": 5}


def test_more_records_for_a_topic_that_is_there(broker: Kafka) -> None:
    broker.seed(ORDERS)
    broker.seed({"topics": {"orders": [{"key": "c", "value": "3", "partition": 2}]}})
    assert sorted(each.key or b"" for each in broker.records("orders")) == [b"a", b"b", b"c"]


def test_a_large_record_is_alone_in_its_batch(broker: Kafka) -> None:
    size = 900_000
    broker.seed({"topics": {"t": [{"value": "x" * size}, {"value": "small"}, {"value": "y" * size}]}})
    assert [len(each.value or b"") for each in broker.records("t")] == [size, 5, size]


@pytest.mark.parametrize(
    ("topics", "told"),
    [
        ({"orders": {"partitions": 4}}, r"\['orders'\]: topic orders is there with 3 partitions, not 4; write that number"),
        ({"orders": [{"key": "k", "value": "v", "partition": 3}]}, r"\[0\]: topic orders has no partition 3; it has 3"),
        ({"t": {"partitions": 2, "records": [{"value": "v", "partition": 2}]}}, "topic t has no partition 2; it has 2"),
        ({"a": None, "b/c": None}, r"\['b/c'\]: topic b/c cannot be created: INVALID_TOPIC_EXCEPTION"),
        ({"a": None, "b": {"configs": {"colour": "red"}}}, r"\['b'\]: topic b cannot be created: .*colour"),
        ({"a": None, "b": {"replication_factor": 3}}, r"\['b'\]: topic b cannot be created: INVALID_REPLICATION_FACTOR"),
    ],
)  # fmt: skip
def test_what_is_refused_is_told_and_nothing_is_done(broker: Kafka, topics: dict[str, object], told: str) -> None:
    broker.seed(ORDERS)
    with pytest.raises(BadSeed, match=r"^seed\['topics'\].*" + told):
        broker.seed({"topics": topics})
    assert broker.topics() == {"orders": 3}
    assert len(broker.records("orders")) == 2


def test_the_record_that_is_refused_is_named(broker: Kafka) -> None:
    records = [{"key": "k", "value": str(number)} for number in range(50)]
    del records[33]["key"]
    compacted = {"configs": {"cleanup.policy": "compact"}, "records": records}
    with pytest.raises(BadSeed, match=r"\['records'\]\[33\]: the record is refused: INVALID_RECORD"):
        broker.seed({"topics": {"t": compacted}})


def test_a_seed_is_there_at_the_start_and_after_a_reset(tmp_path: Path) -> None:
    path = tmp_path / "seed.json"
    path.write_text(json.dumps(ORDERS))
    with Kafka(seed=path) as kafka:
        assert len(kafka.records("orders")) == 2
        kafka.snapshot("seeded")
        kafka.produce("orders", "more", key="k")
        kafka.delete_topic("orders")
        kafka.reset()
        assert len(kafka.records("orders")) == 2
        kafka.delete_topic("orders")
        kafka.restore("seeded")
        assert len(kafka.records("orders")) == 2
        kafka.delete_topic("orders")
        kafka.snapshot("without")
        kafka.restore("without")
        assert kafka.topics() == {}


def test_a_folder_that_stays_is_not_sown_twice(tmp_path: Path) -> None:
    for _ in range(2):
        with Kafka(data_dir=tmp_path / "data", seed=ORDERS) as kafka:
            assert len(kafka.records("orders")) == 2


def test_no_client_comes_before_the_seed() -> None:
    """One that connects again while the broker is reset would otherwise create the topic with one partition."""
    count = 2000
    seen: list[int] = []

    def look(broker: Broker, ctx: object, request: object, proceed: Callable[[], Any]) -> Any:
        partition = broker.store.partition("orders", 0)
        seen.append(0 if partition is None else partition.log.log_end_offset)
        asked.set()
        return proceed()

    def ask() -> None:
        while not over.is_set():
            with contextlib.suppress(Unreachable):
                BrokerConnection("127.0.0.1", port, timeout_s=5, client_id="c").close()

    asked, over = threading.Event(), threading.Event()
    with Kafka(seed={"topics": {"orders": [{"value": "v"}] * count}}) as kafka:
        kafka.node.server.dispatcher.places.fill(Place.INTERCEPT, through(look))
        port = int(kafka.bootstrap_servers.rpartition(":")[2])
        asking = threading.Thread(target=ask)
        asking.start()
        try:
            for _ in range(3):
                kafka.reset()
                asked.clear()
                assert asked.wait(60)
        finally:
            over.set()
            asking.join()
    assert set(seen) == {count}


def test_a_seed_that_cannot_be_sown_ends_the_start() -> None:
    with (
        pytest.raises(BadSeed, match="topic t cannot be created"),
        Kafka(seed={"topics": {"t": {"replication_factor": 3}}}),
    ):
        pass
    with pytest.raises(BadSeed, match="did you mean"):
        Kafka(seed={"topic": {}})


def test_a_cluster_and_a_manual_clock() -> None:
    seed = {"topics": {"t": {"partitions": 2, "replication_factor": 3, "records": [{"value": "v"}]}}}
    with KafkaCluster(seed=seed, clock="manual") as kafka:
        assert [each.text for each in kafka.records("t")] == ["v"]
        assert all(
            len(each.replicas) == 3 for each in kafka.node.cluster.metadata.image.topics["t"].partitions.values()
        )


def test_coroutines(tmp_path: Path) -> None:
    async def main() -> None:
        async with Kafka() as kafka:
            await kafka.aio.seed(ORDERS)
            await kafka.aio.export(tmp_path / "out.jsonl")

    asyncio.run(main())
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 3


def test_an_export_of_what_is_not_there_or_has_no_form(broker: Kafka, tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="there is no topic 'orders'; there are none"):
        broker.export(tmp_path / "s.json", "orders")
    with pytest.raises(ValueError, match="the name says no form; let it end with one of"):
        broker.export(tmp_path / "s.xml")
    with pytest.raises(ValueError, match="form is 'yaml'; write one of jsonl, csv"):
        broker.export(tmp_path / "folder", form="yaml")
    assert not list(tmp_path.iterdir())


def test_an_export_leaves_out_what_was_aborted(broker: Kafka, tmp_path: Path) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "tx"})
    producer.init_transactions(20)
    for value, end in ((b"aborted", producer.abort_transaction), (b"committed", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce("t", value)
        producer.flush(20)
        end(20)
    broker.export(tmp_path / "t.csv", "t")
    assert "aborted" not in (tmp_path / "t.csv").read_text()
    broker.reset()
    broker.seed(tmp_path)
    assert [each.value for each in broker.records("t")] == [b"committed"]


@pytest.mark.deep
def test_a_process_of_its_own_is_sown(tmp_path: Path) -> None:
    with Kafka(seed=ORDERS, process=True) as kafka:
        consumer = Consumer(
            {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe(["orders"])
        assert len(consumer.consume(2, timeout=20)) == 2
        consumer.close()


def serve(*arguments: str) -> subprocess.CompletedProcess[str]:
    """As long as it takes to refuse."""
    command = [sys.executable, "-m", "pykbroker", "serve", "--ephemeral", "--listen", "127.0.0.1:0", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_serve_refuses_a_bad_seed_in_words(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"valu": "v"}\n')
    done = serve("--seed", str(tmp_path / "s.jsonl"))
    assert (done.returncode, done.stderr) == (
        2,
        f'pykbroker: {tmp_path}/s.jsonl:1:10: there is no field "valu"; did you mean "value"?\n',
    )
    (tmp_path / "s.jsonl").write_text('{"topic": "a/b", "value": "v"}\n')
    done = serve("--seed", str(tmp_path / "s.jsonl"))
    assert done.returncode == 1
    assert f"pykbroker: {tmp_path}/s.jsonl:1:1: topic a/b cannot be created: INVALID_TOPIC_EXCEPTION" in done.stderr
    assert serve("--seed", str(tmp_path / "none.json")).returncode == 2


def test_kafkas_own_error_is_kept() -> None:
    with Kafka() as kafka, pytest.raises(BadSeed) as caught:
        kafka.seed({"topics": {"t": {"configs": {"max.message.bytes": 100}, "records": [{"value": "x" * 200}]}}})
    assert isinstance(caught.value.__cause__, KafkaError)


@pytest.mark.parametrize(
    ("seed", "said"),
    [
        ({"t": None, "u": {"partitions": 2_000_000_000}}, "topic u cannot be created: POLICY_VIOLATION"),
        ({"t": [{"value": "x", "partition": 2_000_000_000}]}, "topic t cannot be created: POLICY_VIOLATION"),
    ],
    ids=["topic", "record"],
)
def test_more_partitions_than_one_request_may_create(broker: Kafka, seed: object, said: str) -> None:
    with pytest.raises(BadSeed, match=said):
        broker.seed({"topics": seed})
    assert broker.topics() == {}


def test_serve_says_where_a_seed_wants_too_many_partitions(tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    path.write_text('{"topics": {"t": {"partitions": 2000000000}}}')
    command = [
        sys.executable,
        "-m",
        "pykbroker",
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--ephemeral",
        "--seed",
        str(path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr
    assert f"{path}:1:18: topic t cannot be created: POLICY_VIOLATION" in done.stderr
    assert done.returncode != 0
