"""Time that a test moves, while real clients are connected."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Consumer, Producer

from pykbroker.steered.clock import duration
from pykbroker.testing import Kafka
from pykbroker.wire.errors import KafkaError


@pytest.mark.parametrize(
    ("text", "units", "ms"),
    [("45s", {}, 45_000), ("1.5m", {}, 90_000), (250, {}, 250), (None, {"seconds": 45}, 45_000), (None, {"days": 7}, 604_800_000),
     (None, {"hours": 0.5}, 1_800_000), (None, {"minutes": 1, "ms": 5}, 60_005)],
)  # fmt: skip
def test_how_far(text: str | None, units: dict[str, float], ms: int) -> None:
    assert duration(text, units) == ms


@pytest.mark.parametrize(
    ("text", "units", "says"),
    [("soon", {}, "500ms or 45s"), ("-1s", {}, "500ms or 45s"), (-1, {}, "not negative"), (None, {}, "write a duration"),
     ("1s", {"seconds": 1}, "write a duration"), (None, {"weeks": 1}, "write one of ms, seconds"), (float("nan"), {}, "not negative")],
)  # fmt: skip
def test_what_is_no_duration_is_refused_in_words(text: str | None, units: dict[str, float], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        duration(text, units)


def test_real_time_is_not_moved() -> None:
    with Kafka() as kafka, pytest.raises(RuntimeError, match='clock="manual"'):
        kafka.advance("1s")
    with pytest.raises(ValueError, match='write clock="manual"'):
        Kafka(clock="fast")


def test_a_dead_member_is_gone_after_its_session_and_not_before() -> None:
    with Kafka(clock="manual") as kafka:
        kafka.create_topic("t")
        consumer = Consumer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "group.id": "g",
                "session.timeout.ms": 45000,
                "heartbeat.interval.ms": 40000,
            }
        )
        consumer.subscribe(["t"])
        while not consumer.assignment():
            consumer.poll(0.05)
        assert len(kafka.group("g").members) == 1
        with kafka.faults.cut(client="rdkafka") as cut:
            cut.wait()
            kafka.advance("44s")
            assert len(kafka.group("g").members) == 1
            began = time.monotonic()
            kafka.advance(seconds=2)
            assert time.monotonic() - began < 45  # it is not waited for
            assert len(kafka.group("g").members) == 0
            assert kafka.group("g").state == "Empty"
        consumer.close()


def test_an_idle_fetch_still_ends_in_the_clients_own_time() -> None:
    with Kafka(clock="manual") as kafka:
        kafka.create_topic("t")
        consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest",
                             "enable.partition.eof": True, "fetch.wait.max.ms": 50})  # fmt: skip
        consumer.subscribe(["t"])
        ended = consumer.poll(20)
        assert ended is not None
        assert ended.error() is not None
        Producer({"bootstrap.servers": kafka.bootstrap_servers}).produce("t", b"v")
        consumer.close()


def test_records_are_gone_when_their_retention_is_over() -> None:
    with Kafka(
        {"log.retention.ms": 3_600_000, "log.segment.bytes": 1_048_576, "log.roll.ms": 60_000}, clock="manual"
    ) as kafka:
        kafka.produce("t", b"old")
        kafka.advance("59m")
        assert [record.value for record in kafka.records("t")] == [b"old"]
        kafka.advance("7m")
        kafka.run_retention()
        assert kafka.records("t") == []


def test_a_late_transaction_is_aborted() -> None:
    with Kafka(clock="manual") as kafka:
        kafka.create_topic("t")
        client = Producer(
            {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "x", "transaction.timeout.ms": 60000}
        )
        client.init_transactions(20)
        client.begin_transaction()
        client.produce("t", b"late")
        client.flush(20)
        assert kafka.transaction("x").state == "Ongoing"
        kafka.advance("2m")
        assert kafka.transaction("x").state == "CompleteAbort"


def test_offsets_of_an_empty_group_expire() -> None:
    with Kafka({"offsets.retention.minutes": 60}, clock="manual") as kafka:
        kafka.produce("t", b"v")
        consumer = Consumer(
            {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe(["t"])
        assert consumer.poll(20) is not None
        consumer.commit(asynchronous=False)
        consumer.close()
        assert kafka.committed("g")
        kafka.advance("59m")
        assert kafka.committed("g")
        kafka.advance("12m")
        assert not kafka.committed("g")


def test_compaction_when_its_lag_is_over_and_on_demand() -> None:
    settings = {"log.cleanup.policy": "compact", "log.cleaner.min.compaction.lag.ms": 60_000, "log.roll.ms": 1000,
                "log.cleaner.min.cleanable.ratio": 0.0}  # fmt: skip
    with Kafka(settings, clock="manual") as kafka:
        for number in range(5):
            kafka.produce("t", b"%d" % number, key=b"k")
        kafka.advance("2s")
        kafka.produce("t", b"last", key=b"other")
        kafka.run_compaction()
        assert len(kafka.records("t")) == 6
        kafka.advance("61s")
        kafka.run_compaction()
        assert [record.value for record in kafka.records("t")] == [b"4", b"last"]


def test_a_week_passes_in_seconds() -> None:
    with Kafka(clock="manual") as kafka:
        before = kafka.node.cluster.runtime.clock.now_ms()
        kafka.advance("7d")
        assert kafka.node.cluster.runtime.clock.now_ms() - before == 7 * 86_400_000


def test_a_stop_that_a_full_disk_refuses_leaves_no_work_for_advance() -> None:
    with Kafka(brokers=3, clock="manual") as kafka:
        kafka.create_topic("t", 3, replication_factor=3)
        for partition in range(3):
            # Now all replicas have their logs: on a full disk none would be made, nor tried again until time goes on.
            kafka.produce("t", "v", partition=partition)
        kafka.disk.fill()
        for broker in (2, 3):
            with pytest.raises(KafkaError, match="the disk is full"):
                kafka.broker(broker).stop()
        kafka.disk.heal()
        for partition in range(3):
            kafka.produce("t", "v", partition=partition)
        kafka.advance("1s")
        kafka.broker(2).stop()


def test_what_is_left_of_a_life_is_not_done_after_it() -> None:
    """Its data are given up: brokers that went on would take their log directories offline, and say so in the log."""
    done: list[str] = []
    with Kafka(clock="manual") as kafka:
        life = kafka.node.lifetimes.current
        assert life is not None
        runtime = life.cluster.runtime
        life.at_end(lambda: runtime.wake_queue.add(lambda: done.append("the end of a turn")))
        life.at_end(lambda: runtime.client_timers.after(0, lambda: done.append("a deadline")) and None)
        kafka.reset()
    assert done == []
