"""Every kind of fault against four clients: it acts, they notice, and when it is over they go on and nothing is lost."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator

import pytest

from compat_tests.testing_faults.clients import HASTY_MS, PATIENT_MS, Aiokafka, Client, Confluent, Java, KafkaPython
from pykbroker.testing import Kafka, KafkaCluster
from pykbroker.tests.kit.leftovers import collect_leftovers

#: kafka-python leaves sockets behind of connections that it could not make.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

CLIENTS = {"confluent": Confluent, "kafka-python": KafkaPython, "aiokafka": Aiokafka, "java": Java}

#: Rules that act while a record is written and read, and how often it is there afterwards, if that is certain.
KINDS: dict[str, int | None] = {
    "Produce error=NOT_LEADER_OR_FOLLOWER times=1": 1,
    "Produce error=REQUEST_TIMED_OUT after times=1": None,
    "Produce delay=300ms times=1": 1,
    "Produce delay=300ms after times=1": 1,
    "Produce drop times=1": 1,
    "Produce drop after times=1": None,
    "Produce close times=1": 1,
    "Produce close after times=1": None,
    "Produce truncate=9 times=1": None,
    "Produce throttle=200ms times=1": 1,
    "Produce duplicate times=1": None,
    "Fetch error=NOT_LEADER_OR_FOLLOWER times=2": 1,
    "Fetch error=UNKNOWN_LEADER_EPOCH times=1": 1,
    "Fetch truncate=40 times=1": 1,
    "Fetch throttle=200ms times=1": 1,
    "Metadata leader=99 times=1": 1,
    "Metadata error=LEADER_NOT_AVAILABLE times=1": 1,
    "FindCoordinator error=COORDINATOR_NOT_AVAILABLE times=1": 1,
    "JoinGroup error=COORDINATOR_LOAD_IN_PROGRESS times=1": 1,
    "SyncGroup error=REBALANCE_IN_PROGRESS times=1": 1,
    "OffsetFetch error=COORDINATOR_LOAD_IN_PROGRESS times=1": 1,
    "ListOffsets error=LEADER_NOT_AVAILABLE times=1": 1,
    "ApiVersions close times=1": 1,
    "* delay=5ms": 1,
    "* close probability=0.1 seed=7 times=5": None,
}

_names = itertools.count()


leftovers = pytest.fixture(autouse=True)(collect_leftovers)


@pytest.fixture(scope="module", params=CLIENTS)
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    made = CLIENTS[request.param]()
    yield made
    if isinstance(made, Java):
        made.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Kafka]:
    settings = {"default.replication.factor": 3, "offsets.topic.replication.factor": 3}
    with KafkaCluster(settings) as kafka:
        yield kafka


@pytest.fixture
def topic(cluster: Kafka) -> str:
    name = f"t{next(_names)}"
    cluster.create_topic(name, 1)
    return name


def round_trip(kafka: Kafka, client: Client, topic: str, request_ms: int = HASTY_MS) -> None:
    assert client.produce(kafka.bootstrap_servers, topic, request_ms) == "v"
    assert client.consume(kafka.bootstrap_servers, topic, f"g-{topic}") == "v"


@pytest.mark.parametrize("rule", KINDS)
def test_a_rule(cluster: Kafka, client: Client, topic: str, rule: str) -> None:
    with cluster.faults.add(rule) as fault:
        if rule.startswith("Produce drop") and isinstance(client, Aiokafka):
            # Its limit on a request is its limit on a record, too: it has no time left to try again.
            assert "RequestTimedOut" in client.produce(cluster.bootstrap_servers, topic)
            assert fault.fired == 1
            return
        round_trip(cluster, client, topic, HASTY_MS if rule.startswith("Produce drop") else PATIENT_MS)
        assert fault.fired > 0, fault
    there = len(cluster.records(topic))
    assert there == KINDS[rule] if KINDS[rule] is not None else there >= 1


def test_an_error_that_no_retry_helps_reaches_the_application(cluster: Kafka, client: Client, topic: str) -> None:
    with cluster.faults.fail("Produce", "TOPIC_AUTHORIZATION_FAILED", topic=topic):
        assert client.produce(cluster.bootstrap_servers, topic).startswith("ERROR")
    assert cluster.records(topic) == []


def test_batches_with_a_wrong_checksum(cluster: Kafka, client: Client, topic: str) -> None:
    """librdkafka asks again; the others tell the application, and a new consumer has the record."""
    assert client.produce(cluster.bootstrap_servers, topic) == "v"
    with cluster.faults.add("Fetch", topic=topic, corrupt=True, times=1) as fault:
        first = client.consume(cluster.bootstrap_servers, topic, f"g-{topic}")
        assert fault.fired == 1
    assert first == "v" or "corrupt" in first.lower() or "crc" in first.lower()
    if first != "v":
        assert client.consume(cluster.bootstrap_servers, topic, f"g2-{topic}") == "v"


def test_stale_metadata(cluster: Kafka, client: Client, topic: str) -> None:
    leader = cluster.node.cluster.partition(topic, 0).leader
    with cluster.faults.add("Metadata", stale=True, times=1) as fault:
        cluster.move_leader(topic, 0, to=next(each for each in cluster.node.addresses() if each != leader))
        round_trip(cluster, client, topic)
        assert fault.fired


def during(work: Callable[[], None], heal: Callable[[], None]) -> None:
    """Do the work; heal it from another thread, which waits for what was to be seen."""
    healing = threading.Thread(target=heal)
    healing.start()
    try:
        work()
    finally:
        healing.join()


@pytest.mark.parametrize("what", ["hold", "cut client", "cut listener", "pause"])
def test_what_lasts_until_it_is_healed(cluster: Kafka, client: Client, topic: str, what: str) -> None:
    if what == "pause":
        broker = cluster.broker(cluster.node.cluster.partition(topic, 0).leader)
        broker.pause()
        fault, end = broker._paused, broker.resume
        assert fault is not None
    else:
        fault = {
            "hold": lambda: cluster.faults.add("Produce", hold=True),
            "cut client": lambda: cluster.faults.cut(client="app"),
            "cut listener": lambda: cluster.faults.cut(listener="PLAINTEXT"),
        }[what]()
        end = fault.remove

    def heal() -> None:
        fault.wait()
        end()

    during(lambda: round_trip(cluster, client, topic), heal)


@pytest.mark.parametrize("way", ["stop", "kill"])
def test_the_leader_goes_and_comes_back(cluster: Kafka, client: Client, topic: str, way: str) -> None:
    assert client.produce(cluster.bootstrap_servers, topic) == "v"
    broker = cluster.broker(cluster.node.cluster.partition(topic, 0).leader)
    addresses = cluster.bootstrap_servers
    getattr(broker, way)()
    try:
        assert client.consume(addresses, topic, f"g-{topic}") == "v"
    finally:
        broker.start()


def test_coordinators_move(cluster: Kafka, client: Client, topic: str) -> None:
    round_trip(cluster, client, topic)
    coordinator = cluster.node.cluster.partition("__consumer_offsets", 0).leader
    cluster.move_coordinator(
        group=f"g-{topic}", to=next(each for each in cluster.node.addresses() if each != coordinator)
    )
    assert client.produce(cluster.bootstrap_servers, topic) == "v"
    assert client.consume(cluster.bootstrap_servers, topic, f"g-{topic}") == "v"


def test_a_full_disk(client: Client) -> None:
    with Kafka() as kafka:
        kafka.create_topic("t", 1)
        kafka.disk.fail("grow", error="ENOSPC", path="*/t-0/*")
        assert client.produce(kafka.bootstrap_servers, "t").startswith("ERROR")
        kafka.disk.heal()
        assert client.produce(kafka.bootstrap_servers, "t") == "v"


def test_time_that_the_test_moves(client: Client) -> None:
    with Kafka(clock="manual") as kafka:
        kafka.create_topic("t", 1)
        round_trip(kafka, client, "t")
        kafka.advance("1h")
        assert client.produce(kafka.bootstrap_servers, "t") == "v"
        first, second = kafka.records("t")
        assert len([first, second]) == 2
