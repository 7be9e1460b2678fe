"""Faults in a running broker, seen by a client that says exactly what it was answered: our own, and librdkafka."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from pykbroker.brokers.broker import WrongBroker
from pykbroker.client.client import Client, parse_bootstrap
from pykbroker.testing import BadFault, Fault, Kafka, KafkaCluster, NeverMatched, NeverMatchedWarning
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic


@pytest.fixture(scope="module")
def running() -> Iterator[Kafka]:
    with Kafka() as kafka:
        yield kafka


@pytest.fixture
def kafka(running: Kafka) -> Kafka:
    running.reset()
    return running


def producer(kafka: Kafka, **settings: object) -> Producer:
    """One whose requests can be counted: by KIP-899, what has lost all brokers closes connections with requests in flight, and sends them again."""
    return Producer(
        {"bootstrap.servers": kafka.bootstrap_servers, "metadata.recovery.strategy": "none", "retry.backoff.ms": 1,
         "retry.backoff.max.ms": 2, **settings}
    )  # fmt: skip


def send(client: Producer, topic: str, value: bytes = b"v", **where: int) -> KafkaError | None:
    told: list[KafkaError | None] = []
    client.produce(topic, value, on_delivery=lambda error, _: told.append(error), **where)
    assert client.flush(20) == 0
    return told[0]


def values(kafka: Kafka, topic: str) -> list[object]:
    return [record.value for record in kafka.records(topic)]


def test_an_error_that_a_client_may_retry_costs_one_more_request(kafka: Kafka) -> None:
    with kafka.faults.add("Produce", topic="t", error="NOT_LEADER_OR_FOLLOWER", times=1) as fault:
        assert send(producer(kafka), "t") is None
        assert fault.fired == 1
    assert values(kafka, "t") == [b"v"]


def test_an_error_that_a_client_may_not_retry_reaches_the_application(kafka: Kafka) -> None:
    with kafka.faults.fail("Produce", "TOPIC_AUTHORIZATION_FAILED", topic="no*"):
        client = producer(kafka)
        told = send(client, "no-entry")
        assert told is not None
        assert told.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
        assert send(client, "yes") is None
    assert values(kafka, "no-entry") == []


def test_an_error_after_the_request_was_carried_out(kafka: Kafka) -> None:
    with kafka.faults.fail("Produce", "REQUEST_TIMED_OUT", after=True, times=1):
        assert send(producer(kafka), "t") is None
    assert values(kafka, "t") == [b"v", b"v"]


def test_a_request_carried_out_twice_is_one_record_for_an_idempotent_producer(kafka: Kafka) -> None:
    kafka.produce("plain", "first")
    with kafka.faults.add("Produce", duplicate=True):
        assert send(producer(kafka), "plain") is None
        assert send(producer(kafka, **{"enable.idempotence": True}), "idempotent") is None
    assert values(kafka, "plain") == [b"first", b"v", b"v"]
    assert len(values(kafka, "idempotent")) == 1


@pytest.mark.parametrize("action", [{"close": True}, {"truncate": 9}, {"close": True, "after": True}])
def test_a_connection_that_ends_instead_of_an_answer(kafka: Kafka, action: dict[str, object]) -> None:
    with kafka.faults.add("Produce", times=1, **action) as fault:
        assert send(producer(kafka), "t") is None
        fault.wait()
    assert len(values(kafka, "t")) == (1 if action == {"close": True} else 2)


def test_a_request_that_is_never_answered_times_out(kafka: Kafka) -> None:
    with kafka.faults.add("Produce", drop=True, after=True, times=1) as fault:
        assert send(producer(kafka, **{"socket.timeout.ms": 300, "request.timeout.ms": 200}), "t") is None
        fault.wait()
    assert len(values(kafka, "t")) >= 2  # more where this machine stands still for longer than the client waits


@pytest.mark.parametrize("after", [False, True])
def test_a_delay_keeps_the_order_of_a_connection(kafka: Kafka, after: bool) -> None:
    kafka.create_topic("t")
    client = producer(kafka, **{"linger.ms": 0, "enable.idempotence": True})
    with kafka.faults.add("Produce", delay="200ms", after=after, times=1):
        began = time.monotonic()
        for number in range(20):
            client.produce("t", b"%d" % number)
            client.poll(0)
        assert client.flush(20) == 0
        assert time.monotonic() - began >= 0.2
    assert values(kafka, "t") == [b"%d" % number for number in range(20)]


def test_what_is_held_goes_on_when_the_rule_is_removed(kafka: Kafka) -> None:
    fault = kafka.faults.add("Produce", hold=True)
    client = producer(kafka)
    client.produce("t", b"v")
    fault.wait()
    assert client.flush(0.1) == 1
    fault.remove()
    assert client.flush(20) == 0
    assert values(kafka, "t") == [b"v"]


def test_a_throttle_is_told_and_kept(kafka: Kafka) -> None:
    client = producer(kafka)
    assert send(client, "t") is None
    with kafka.faults.add("Produce", throttle="300ms", times=1):
        began = time.monotonic()
        assert send(client, "t") is None
        assert send(client, "t") is None
        assert time.monotonic() - began >= 0.3


def test_a_throttled_fetch_has_no_records(kafka: Kafka) -> None:
    kafka.produce("t", b"v")
    partition = FetchPartition(0, partition_max_bytes=1 << 20)
    fetches = FetchRequest(max_bytes=1 << 20, session_epoch=0, topics=[FetchTopic("t", partitions=[partition])])
    with Client(parse_bootstrap(kafka.bootstrap_servers), timeout_s=60) as client:
        leader = client.leader("t", 0)
        with kafka.faults.add("Fetch", throttle="1ms", times=1):
            throttled = leader.call(fetches, FetchResponse, 12)
        answer = leader.call(fetches, FetchResponse, 12)
    assert (throttled.throttle_time_ms, throttled.session_id, throttled.responses) == (1, 0, [])
    assert answer.responses[0].partitions[0].records


def test_some_partitions_fail_and_the_others_do_not(kafka: Kafka) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    with kafka.faults.fail("CreateTopics", "POLICY_VIOLATION", topic="bad-*"):
        made = admin.create_topics([NewTopic("good"), NewTopic("bad-1"), NewTopic("bad-2")])
        made["good"].result(20)
        for name in ("bad-1", "bad-2"):
            with pytest.raises(KafkaException, match="POLICY_VIOLATION"):
                made[name].result(20)
    assert set(admin.list_topics(timeout=20).topics) == {"good"}


def test_stale_metadata_does_not_know_what_came_later(kafka: Kafka) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "topic.metadata.refresh.interval.ms": -1})
    kafka.create_topic("before")
    with kafka.faults.add("Metadata", stale=True) as fault:
        kafka.create_topic("later")
        assert set(AdminClient({"bootstrap.servers": kafka.bootstrap_servers}).list_topics(timeout=20).topics) == {
            "before"
        }
        fault.wait()
    assert set(admin.list_topics(timeout=20).topics) == {"before", "later"}


def test_a_client_that_is_cut_off_until_it_is_healed(kafka: Kafka) -> None:
    cut, free = (
        producer(kafka, **{"client.id": name, "reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 20})
        for name in ("cut", "free")
    )
    with kafka.faults.cut(client="cut") as fault:
        cut.produce("t", b"cut")
        fault.wait()
        assert send(free, "t", b"free") is None
        assert values(kafka, "t") == [b"free"]
    assert cut.flush(20) == 0
    assert values(kafka, "t") == [b"free", b"cut"]


def test_a_fault_that_never_matched_is_told() -> None:
    with pytest.warns(NeverMatchedWarning, match="'Fetch topic=nobody drop'"), Kafka() as kafka:
        kafka.faults.add("Fetch topic=nobody drop")
    with pytest.raises(NeverMatched, match="topic=nobody"), Kafka(strict_faults=True) as kafka:
        kafka.faults.add("Fetch", topic="nobody", drop=True).remove()
    with warnings.catch_warnings(action="error"), Kafka(strict_faults=True) as kafka:
        with kafka.faults.add(Fault("Metadata", delay=1)) as fault:
            AdminClient({"bootstrap.servers": kafka.bootstrap_servers}).list_topics(timeout=20)
            fault.wait()
        assert kafka.faults.list() == []


def test_what_cannot_act_is_refused_where_it_is_added(kafka: Kafka) -> None:
    with pytest.raises(BadFault, match="leave topic out"):
        kafka.faults.add("Heartbeat", topic="t", drop=True)
    with pytest.raises(BadFault, match="there is no broker 2; these are: 1"):
        kafka.faults.add("Produce", broker=2, drop=True)
    with pytest.raises(BadFault, match="there is no listener 'EXTERNAL'; these are: PLAINTEXT"):
        kafka.faults.add("Produce", listener="EXTERNAL", drop=True)
    with pytest.raises(BadFault, match="a fault has no 'topc'; did you mean topic"):
        kafka.faults.add("Produce", topc="t", drop=True)
    with pytest.raises(BadFault, match="cannot be selected by topic; write one of client, principal, listener, broker"):
        kafka.faults.cut(topic="t")
    with pytest.raises(TimeoutError, match="acted 0 times, not 1"):
        kafka.faults.add("Heartbeat", drop=True, group="g").wait(timeout=0.01)
    kafka.faults._placed.clear()


# ---- brokers, leaders and the disk ---------------------------------------------------------------------------------------


def test_brokers_stop_and_come_back_and_leaders_move() -> None:
    with KafkaCluster(settings={"default.replication.factor": 3, "offsets.topic.replication.factor": 3}) as kafka:
        first, second, _ = kafka.node.addresses()
        kafka.create_topic("t", 1)
        for verb in ("stop", "kill"):
            kafka.move_leader("t", 0, to=first)
            getattr(kafka.broker(first), verb)()
            assert send(producer(kafka), "t") is None
            with pytest.raises(WrongBroker):
                kafka.broker(first).stop()
            kafka.broker(first).start()
            kafka.wait_for_in_sync()
        kafka.broker(second).restart()
        kafka.wait_for_in_sync("t")
        kafka.move_leader("t", 0, to=second)
        kafka.broker(second).pause()
        client = producer(kafka, **{"bootstrap.servers": kafka.node.addresses()[first]})
        client.produce("t", b"paused")
        assert client.flush(0.3) == 1
        kafka.broker(second).resume()
        assert client.flush(20) == 0
        for wrong in (("no", 0, first), ("t", 0, 99)):
            with pytest.raises(ValueError, match=r"create the topic|in sync"):
                kafka.move_leader(*wrong[:2], to=wrong[2])
        with pytest.raises(ValueError, match="these are"):
            kafka.broker(99)


def test_a_broker_whose_disk_has_failed_ends_and_starts_once_it_is_healed() -> None:
    with KafkaCluster({"default.replication.factor": 3, "broker.heartbeat.interval.ms": 100}) as kafka:
        _, second, _ = kafka.node.addresses()
        kafka.create_topic("t", 1)
        kafka.move_leader("t", 0, to=second)
        kafka.disk.fail("grow", path=f"*/{second}/*")
        assert send(producer(kafka), "t") is None  # by another leader
        kafka.wait_until(lambda cluster: second not in cluster.brokers)
        kafka.disk.heal()
        kafka.broker(second).start()
        kafka.wait_for_in_sync("t")
        kafka.move_leader("t", 0, to=second)
        assert send(producer(kafka), "t", b"w") is None
        assert values(kafka, "t")[-1] == b"w"


def test_a_disk_that_is_full_and_has_room_again() -> None:
    with Kafka() as kafka:
        assert send(producer(kafka), "t", b"1") is None
        client = producer(kafka, **{"message.timeout.ms": 1500})
        kafka.disk.fill()
        assert send(client, "t", b"2") is not None
        with pytest.raises(ValueError, match="write its name"):
            kafka.disk.fail(error="FULL")
        with pytest.raises(ValueError, match="write one of read"):
            kafka.disk.fail("burn")
        kafka.disk.heal()
