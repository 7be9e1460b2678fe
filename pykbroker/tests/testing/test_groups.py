"""Waits for groups of real clients, in either protocol."""

from __future__ import annotations

import asyncio
import threading

import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer
from kafka import KafkaConsumer

from pykbroker.testing import Kafka, TimedOut


def consumer(broker: Kafka, name: str, **settings: object) -> Consumer:
    made = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "g",
            "client.id": name,
            "auto.offset.reset": "earliest",
            **{key.replace("_", "."): value for key, value in settings.items()},
        }
    )
    made.subscribe(["t"])
    return made


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_is_waited_for(broker: Kafka, protocol: str) -> None:
    broker.create_topic("t", 4)
    assert broker.group("g").state == "Dead"
    ended = threading.Event()
    members = [consumer(broker, name, group_protocol=protocol) for name in ("a", "b")]

    def poll(member: Consumer) -> None:
        while not ended.is_set():
            member.poll(0.01)

    threads = [threading.Thread(target=poll, args=(member,)) for member in members]
    for thread in threads:
        thread.start()
    try:
        group = broker.wait_for_group("g", "Stable", members=2, assigned={"t": [0, 1, 2, 3]}, timeout=30)
        assert (group.type, sorted(member.client_id for member in group.members)) == (protocol, ["a", "b"])
        assert sorted(len(member.assignment["t"]) for member in group.members) == [2, 2]
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    for member in members:
        member.close()
    assert broker.wait_for_group("g", "Empty", members=0).members == ()


def test_a_wait_that_is_not_fulfilled_tells_what_was_seen_last(broker: Kafka) -> None:
    broker.create_topic("t")
    made = KafkaConsumer("t", bootstrap_servers=broker.bootstrap_servers, group_id="g", client_id="me")
    while not broker.group("g").members:
        made.poll(timeout_ms=100)
    with pytest.raises(TimedOut, match=r"after 0\.1 s group g is not as wanted \(members 2\); last seen: group g is "):
        broker.wait_for_group("g", members=2, timeout=0.1)
    made.close()


def test_states_are_kafkas(broker: Kafka) -> None:
    with pytest.raises(ValueError, match="no state 'stable'; write Stable"):
        broker.wait_for_group("g", "stable")
    with pytest.raises(ValueError, match="no state 'Done'; write "):
        broker.wait_for_transaction("tx", "Done")


def test_offsets_and_lag_are_waited_for(broker: Kafka) -> None:
    for number in range(5):
        broker.produce("t", str(number))
    with pytest.raises(TimedOut, match="has not committed offset 1 of t-0; last seen: None"):
        broker.wait_for_committed("g", "t", 1, timeout=0.01)
    made = consumer(broker, "a", enable_auto_commit=False)
    messages = made.consume(3, timeout=20)
    made.commit(messages[-1], asynchronous=True)
    assert broker.wait_for_committed("g", "t", 3) == 3
    assert broker.committed("g") == {("t", 0): 3}
    with pytest.raises(TimedOut, match=r"more than 0 behind; last seen: \{\('t', 0\): 2\}"):
        broker.wait_for_lag("g", timeout=0.01)
    assert broker.wait_for_lag("g", lag=2) == {("t", 0): 2}
    made.commit(made.consume(2, timeout=20)[-1], asynchronous=True)
    assert broker.wait_for_lag("g", "t") == {("t", 0): 0}
    made.close()


def test_a_client_in_the_tests_own_loop_is_waited_for() -> None:
    async def scenario() -> None:
        async with Kafka() as broker:
            await broker.aio.create_topic("t", 2)
            made = AIOKafkaConsumer(
                "t", bootstrap_servers=broker.bootstrap_servers, group_id="g", auto_offset_reset="earliest"
            )
            await made.start()
            try:
                group = await broker.aio.wait_for_group("g", "Stable", assigned={"t": [0, 1]})
                assert len(group.members) == 1
                await broker.aio.produce("t", "v", partition=1)
                assert (await made.getone()).value == b"v"
                await made.commit()
                assert await broker.aio.wait_for_committed("g", "t", 1, partition=1) == 1
            finally:
                await made.stop()

    asyncio.run(scenario())


def test_whatever_else_is_waited_for(broker: Kafka) -> None:
    producing = threading.Timer(0.05, broker.produce, args=("t", "v"))
    producing.start()
    assert broker.wait_until(lambda cluster: cluster.partition("t", 0)).topic == "t"
    producing.join()  # it is not over when the topic is there
    with pytest.raises(ZeroDivisionError):
        broker.wait_until(lambda cluster: 1 // 0)
