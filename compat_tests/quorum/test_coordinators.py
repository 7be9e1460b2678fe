"""Groups and transactions whose coordinators and partitions are on brokers of ours and of Apache Kafka, in any distribution, and move."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import closing

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from compat_tests.harness.apache import ApacheKafka
from compat_tests.oracle.connection import Connection
from compat_tests.quorum.member import Member, create, state
from pykbroker.tests.kit.running import until_in_thread
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.find_coordinator import FindCoordinatorRequest

GROUP, TRANSACTION = 0, 1
NODES = (1, 4)


def coordinator(bootstrap: str, kind: int, key: str) -> int:
    """The node that coordinates a key, once it says so."""
    found: list[int] = []

    def is_known() -> bool:
        with closing(Connection(bootstrap, patience_s=60)) as connection:
            answer = connection.ask(FindCoordinatorRequest(key_type=kind, coordinator_keys=[key]), 6)
        (each,) = answer.coordinators  # type: ignore[attr-defined]
        found[:] = [each.node_id]
        return bool(each.error_code == ErrorCode.NONE)

    until_in_thread(is_known)
    return found[0]


def key_at(bootstrap: str, kind: int, node: int) -> str:
    """A key that this node coordinates."""
    while True:
        key = f"k-{uuid.uuid4()}"
        if coordinator(bootstrap, kind, key) == node:
            return key


def values(bootstrap: str, topics: list[str], isolation: str) -> dict[str, list[bytes]]:
    """What a reader finds in the first partitions of topics, up to their ends."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
        }
    )
    consumer.assign([TopicPartition(each, 0, 0) for each in topics])
    found: dict[str, list[bytes]] = {each: [] for each in topics}
    at_end: set[str] = set()

    def is_at_the_end() -> bool:
        for message in consumer.consume(1000, 0.5):
            if message.error() is None:
                found[message.topic()].append(message.value())
            else:
                at_end.add(message.topic())
        return at_end == set(topics)

    until_in_thread(is_at_the_end)
    consumer.close()
    return found


@pytest.mark.parametrize("node", NODES)
def test_transactions_over_both(node: int, java: ApacheKafka, ours: Member) -> None:
    """Committed, aborted, and with offsets of groups at either: by a coordinator at one, in partitions of both."""
    topics = [create(java.bootstrap, [each]) for each in NODES]
    groups = [key_at(java.bootstrap, GROUP, each) for each in NODES]
    producer = Producer(
        {
            "bootstrap.servers": java.bootstrap,
            "transactional.id": key_at(java.bootstrap, TRANSACTION, node),
            "transaction.timeout.ms": 60_000,
        }
    )
    producer.init_transactions(60)
    for number, ends in enumerate([producer.commit_transaction, producer.abort_transaction] * 3):
        producer.begin_transaction()
        for topic in topics:
            producer.produce(topic, b"%d" % number, partition=0)
        for group in groups:
            member = Consumer({"bootstrap.servers": java.bootstrap, "group.id": group})
            offset = TopicPartition(topics[0], 0, number)
            producer.send_offsets_to_transaction([offset], member.consumer_group_metadata(), 60)
            member.close()
        ends(60)
    for bootstrap in (java.bootstrap, ours.bootstrap):
        assert values(bootstrap, topics, "read_committed") == {key: [b"0", b"2", b"4"] for key in topics}
    for group in groups:
        member = Consumer({"bootstrap.servers": java.bootstrap, "group.id": group})
        (committed,) = member.committed([TopicPartition(topics[0], 0)], 60)
        assert committed.offset == 4
        member.close()


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize("leader", NODES)
def test_a_batch_of_no_transaction_is_refused(
    node: int, leader: int, java: ApacheKafka, transactional: Callable[..., ErrorCode]
) -> None:
    """The leader asks the coordinator, wherever that is (KIP-890)."""
    topic = create(java.bootstrap, [leader])
    transactional_id = key_at(java.bootstrap, TRANSACTION, node)
    assert transactional(transactional_id, topic, leader, version=11) is ErrorCode.TRANSACTION_ABORTABLE
    assert transactional(transactional_id, topic, leader, version=10) is ErrorCode.INVALID_TXN_STATE
    assert transactional(transactional_id, topic, leader, version=12) is ErrorCode.NONE


@pytest.mark.parametrize("node", NODES)
def test_a_group_by_either(node: int, java: ApacheKafka, ours: Member) -> None:
    topic = create(java.bootstrap, [5 - node])
    group = key_at(java.bootstrap, GROUP, node)
    producer = Producer({"bootstrap.servers": ours.bootstrap})
    for number in range(10):
        producer.produce(topic, b"%d" % number, partition=0)
    assert producer.flush(60) == 0
    for number in range(2):
        member = Consumer(
            {
                "bootstrap.servers": ours.bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        member.subscribe([topic])
        found: list[bytes] = []

        def has_five(member: Consumer = member, found: list[bytes] = found) -> bool:
            message = member.poll(0.5)
            if message is not None and message.error() is None:
                found.append(message.value())
                member.commit(message, asynchronous=False)
            return len(found) == 5

        until_in_thread(has_five)
        assert found == [b"%d" % each for each in range(5 * number, 5 * number + 5)]
        member.close()
    assert state(java.bootstrap, topic)[0] == 5 - node
