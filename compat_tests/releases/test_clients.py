"""Stock clients work against a broker taken for each release: topics, records, groups and transactions.

The Java clients are those of both ends: 2.1.1 and 4.4.0, each by cases of its own suite.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from compat_tests import java, java_old
from compat_tests.harness.java_cases import JavaCases
from compat_tests.releases.brokers import AsVersion
from pykbroker.tests.kit.leftovers import collect_leftovers

#: kafka-python leaves sockets to be collected, which the collector tells whichever test runs then.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

_WORDS = [b"one", b"two", b"three"]
_JAVA = Path(java.__file__).parent
_OLD = Path(java_old.__file__).parent / "OldClientCases.java"
_OLD_CASES = ["acksAllIdempotent", "adminOfRecordsAndGroups", "codecGzip", "groupCommitsAndResumes", "offsetsByTime"]
_NEW_CASES = ["offsetsGoWithTheTransaction"]


leftovers = pytest.fixture(autouse=True)(collect_leftovers)


def test_confluent(ours: AsVersion) -> None:
    where = {"bootstrap.servers": ours.bootstrap}
    admin = AdminClient(where)  # whose end would end the request
    admin.create_topics([NewTopic("confluent", 1, 1)])["confluent"].result(60)
    producer = Producer({**where, "transactional.id": "confluent"})
    producer.init_transactions(60)
    for words, commit in ((_WORDS, True), ([b"never"], False)):
        producer.begin_transaction()
        for word in words:
            producer.produce("confluent", word)
        producer.flush(60)
        (producer.commit_transaction if commit else producer.abort_transaction)(60)
    consumer = Consumer(
        {**where, "group.id": "confluent", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    )
    consumer.subscribe(["confluent"])
    assert [each.value() for each in consumer.consume(3, 60)] == _WORDS
    consumer.commit(asynchronous=False)
    consumer.close()


def test_kafka_python(ours: AsVersion) -> None:
    producer = KafkaProducer(bootstrap_servers=ours.bootstrap, transactional_id="kafka-python")
    producer.init_transactions()
    producer.begin_transaction()
    for word in _WORDS:
        producer.send("kafka-python", word)  # which creates the topic
    producer.commit_transaction()
    producer.close()
    consumer = KafkaConsumer(
        bootstrap_servers=ours.bootstrap,
        group_id="kafka-python",
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        consumer_timeout_ms=60_000,
    )
    consumer.assign([TopicPartition("kafka-python", 0)])
    assert [next(consumer).value for _ in _WORDS] == _WORDS
    consumer.commit()
    consumer.close()


def test_aiokafka(ours: AsVersion) -> None:
    async def both_ways() -> list[bytes]:
        producer = AIOKafkaProducer(bootstrap_servers=ours.bootstrap, transactional_id="aiokafka")
        await producer.start()
        async with producer.transaction():
            for word in _WORDS:
                await producer.send_and_wait("aiokafka", word)
        await producer.stop()
        consumer = AIOKafkaConsumer(
            "aiokafka",
            bootstrap_servers=ours.bootstrap,
            group_id="aiokafka",
            auto_offset_reset="earliest",
            isolation_level="read_committed",
        )
        await consumer.start()
        seen = [(await consumer.getone()).value for _ in _WORDS]
        await consumer.commit()
        await consumer.stop()
        return seen

    async def in_time() -> list[bytes]:
        async with asyncio.timeout(60):
            return await both_ways()

    assert asyncio.run(in_time()) == _WORDS


@pytest.mark.parametrize("end", ["2.1.1", "4.4.0"])
def test_java(ours: AsVersion, end: str) -> None:
    if end == "2.1.1":
        program, wanted = JavaCases(_OLD, "old-client"), _OLD_CASES
    else:
        program = JavaCases(_JAVA / "TransactionCases.java", "kafka", helpers=(_JAVA / "Clients.java",))
        wanted = _NEW_CASES
    for case in wanted:
        program.check(case, ours.bootstrap, wanted)
