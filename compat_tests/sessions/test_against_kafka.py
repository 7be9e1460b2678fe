"""Sessions of stock clients with pykbroker, played against Apache Kafka: what it answers otherwise is written here."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from confluent_kafka import Consumer, Producer
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from compat_tests.harness.apache import ApacheKafka
from compat_tests.oracle.requests import Ask
from pykbroker.sessions.comparing import Difference
from pykbroker.testing import Kafka, play


def test_kafka_answers_as_the_broker_that_was_recorded(kafka: ApacheKafka, tmp_path: Path) -> None:
    with Kafka({"offsets.topic.num.partitions": 50, "transaction.state.log.num.partitions": 50}) as ours:
        for bootstrap in (ours.bootstrap_servers, kafka.bootstrap):
            with closing(Ask(bootstrap, 1, "played")) as ask:
                topic = ask.topic()  # it is led: what is played asks once, and nobody waits for Apache Kafka to lead
            work(bootstrap, "before", "before")  # Kafka's own topics are there then, and coordinators know their groups
        with ours.recording(tmp_path / "session.jsonl"):
            work(ours.bootstrap_servers, "sessions", topic)
        assert ours.wait_for_record(topic).value == b"sessions"
    played = play(tmp_path / "session.jsonl", kafka.bootstrap)
    assert [each for each in played.differences if not known(each)] == [], str(played)


def work(bootstrap: str, name: str, topic: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    admin.create_topics([NewTopic(name, 1, 1)])
    admin.close()
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, name, key=b"k")
    producer.commit_transaction(60)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": name, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    [message] = consumer.consume(1, timeout=60)
    consumer.commit(message, asynchronous=False)
    consumer.close()


def known(difference: Difference) -> bool:
    """What each serves is told elsewhere; and a test's broker keeps records for ever, which new topics say."""
    return difference.request.startswith("API_VERSIONS ") or (
        difference.request.startswith("CREATE_TOPICS ") and "configs" in difference.path
    )
