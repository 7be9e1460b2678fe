"""Replicas that have what the next leader has not: ours follows one of Apache Kafka, and one of Apache Kafka follows ours. In the end the logs
are alike byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka import Producer

from compat_tests.conftest import takes_long
from compat_tests.oracle.connection import Connection
from compat_tests.quorum.member import create, log_of, produce, state
from compat_tests.quorum.test_coordinators import values
from compat_tests.quorum.three import BROKERS, JAVA, OTHER, OURS, Nodes
from pykbroker.tests.kit.running import until_in_thread
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

pytestmark = takes_long


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """With a session that is longer than what a test does in it."""
    nodes = Nodes(tmp_path_factory.mktemp("nodes"), session_ms=15_000)
    yield nodes
    nodes.stop()


def made(nodes: Nodes, replicas: list[int], **configs: str) -> str:
    """A topic whose replicas are all in sync, with three records in each log."""
    topic = create(nodes.brokers[JAVA].bootstrap, replicas, **configs)
    until_in_thread(lambda: are_in_sync(nodes, topic, replicas))
    produce(nodes.bootstrap, topic, [b"first", b"second", b"third"])
    until_in_thread(lambda: are_alike(nodes, topic, replicas))
    return topic


def are_in_sync(nodes: Nodes, topic: str, replicas: list[int]) -> bool:
    """Whether each broker says so."""
    return all(state(each.bootstrap, topic)[1] == set(replicas) for each in nodes.brokers.values())


def are_alike(nodes: Nodes, topic: str, replicas: list[int]) -> bool:
    logs = {log_of(nodes.brokers[each], topic) for each in replicas}
    return len(logs) == 1 and logs != {b""}


def written(nodes: Nodes, node: int, topic: str, value: bytes) -> None:
    """By acks=1 to the leader ``node`` alone."""
    producer = Producer({"bootstrap.servers": nodes.brokers[node].bootstrap, "acks": "1", "linger.ms": 0})
    refused: list[object] = []
    producer.produce(topic, value, partition=0, on_delivery=lambda error, _: refused.append(error) if error else None)
    assert not producer.flush(60)
    assert not refused


def settled(nodes: Nodes, topic: str, replicas: list[int], expected: list[bytes]) -> None:
    """All are in sync, and have these records, in logs that are alike."""
    until_in_thread(lambda: are_in_sync(nodes, topic, replicas))
    assert values(nodes.bootstrap, [topic], "read_uncommitted")[topic] == expected
    until_in_thread(lambda: are_alike(nodes, topic, replicas))


@pytest.mark.parametrize(("leads", "has_more"), [(JAVA, OTHER), (OTHER, JAVA)])
def test_a_follower_has_what_the_next_leader_has_not(leads: int, has_more: int, nodes: Nodes) -> None:
    """The next leader is paused while the other follower copies a record that was not committed; then the leader is killed."""
    topic = made(nodes, [OURS, leads, has_more])
    nodes.pause(leads)
    written(
        nodes, OURS, topic, b"half"
    )  # it may have been on its way to the one that is paused, which had asked before
    written(nodes, OURS, topic, b"not committed")
    until_in_thread(lambda: b"not committed" in log_of(nodes.brokers[has_more], topic))
    nodes.kill(OURS)
    nodes.bring_back(leads)
    until_in_thread(lambda: state(nodes.brokers[leads].bootstrap, topic) == (leads, {leads, has_more}))
    log = log_of(nodes.brokers[leads], topic)
    assert b"not committed" not in log
    produce(nodes.brokers[leads].bootstrap, topic, [b"fourth"])
    nodes.bring_back(OURS)  # it has the record, too
    kept = [b"half"] if b"half" in log else []
    settled(nodes, topic, sorted(BROKERS), [b"first", b"second", b"third", *kept, b"fourth"])


@pytest.mark.parametrize(("leads", "follows"), [(OURS, JAVA), (JAVA, OURS)])
def test_an_unclean_election(leads: int, follows: int, nodes: Nodes) -> None:
    """The one that was behind leads, and the one that has more takes what it has."""
    replicas = [leads, follows]
    topic = made(nodes, replicas, unclean_leader_election_enable="true", min_insync_replicas="1")
    nodes.pause(follows)
    until_in_thread(lambda: state(nodes.brokers[leads].bootstrap, topic) == (leads, {leads}))
    produce(nodes.brokers[leads].bootstrap, topic, [b"lost", b"lost as well"])
    nodes.kill(leads)
    nodes.bring_back(follows)
    until_in_thread(lambda: state(nodes.brokers[follows].bootstrap, topic) == (follows, {follows}))
    produce(nodes.brokers[follows].bootstrap, topic, [b"fourth"])
    nodes.bring_back(leads)
    settled(nodes, topic, replicas, [b"first", b"second", b"third", b"fourth"])


@pytest.mark.parametrize(("fenced", "leads"), [(OURS, JAVA), (JAVA, OURS)])
def test_a_fenced_broker_that_is_still_written_to(fenced: int, leads: int, nodes: Nodes) -> None:
    """Requests reach it while it is paused. When it goes on it leads no more, and acknowledges nothing that needs the others."""
    topic = made(nodes, [fenced, leads, OTHER], min_insync_replicas="2")
    batch = encode_batch([Record(timestamp=1, value=b"too late")])
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(0, batch)])
    with closing(Connection(nodes.brokers[fenced].bootstrap, patience_s=120)) as connection:
        nodes.pause(fenced)
        sent = connection.send(ProduceRequest(None, -1, 30_000, [data]), 9)
        until_in_thread(lambda: state(nodes.brokers[leads].bootstrap, topic) == (leads, {leads, OTHER}))
        produce(nodes.brokers[leads].bootstrap, topic, [b"fourth"])
        nodes.bring_back(fenced)
        answer = connection.receive(ProduceRequest.API_KEY, 9, sent)
    code = answer.responses[0].partition_responses[0].error_code  # type: ignore[attr-defined]
    assert code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    settled(nodes, topic, sorted(BROKERS), [b"first", b"second", b"third", b"fourth"])
