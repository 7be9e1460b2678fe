"""``python -m compat_tests.published_bugs.with_faults BUG``: one life of a client in front of the path, which runs in threads, with faults.

Prints a line of JSON: the release and what is found (null if nothing).
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Callable

from pykbroker.testing import Kafka

SETTINGS = {"default.replication.factor": 3, "offsets.topic.replication.factor": 3}


def positions_forgotten() -> tuple[str, str | None]:
    """kafka-python: a consumer that does not learn its committed offset in time begins anew, where it has no offset."""
    import kafka as client

    with Kafka() as kafka:
        kafka.create_topic("t", 1)
        for number in range(10):
            kafka.produce("t", b"%d" % number)
        settings = {"bootstrap_servers": kafka.bootstrap_servers, "group_id": "g", "auto_offset_reset": "earliest"}
        first = client.KafkaConsumer("t", **settings, enable_auto_commit=False)
        seen = 0
        while seen < 10:
            seen += sum(map(len, first.poll(timeout_ms=500).values()))
        first.commit()
        first.close(autocommit=False)
        with kafka.faults.add("OffsetFetch", delay="3s", times=1):
            second = client.KafkaConsumer("t", **settings, request_timeout_ms=20_000, enable_auto_commit=False)
            again = []
            ends = time.monotonic() + 6
            while time.monotonic() < ends and not again:
                again = [record.offset for records in second.poll(timeout_ms=200).values() for record in records]
            second.close(autocommit=False)
    return client.__version__, f"offsets {again} are read again, 10 is committed" if again else None


def _reading(kafka: Kafka, **more: object) -> tuple[str, object]:
    import confluent_kafka

    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest", "log_level": 0,
         "enable.auto.commit": False, "fetch.wait.max.ms": 100, "topic.metadata.refresh.interval.ms": 200,
         "retry.backoff.ms": 50, **more}
    )  # fmt: skip
    return confluent_kafka.libversion()[0], consumer


def resumed_without_a_pause() -> tuple[str, str | None]:
    """librdkafka: partitions that are resumed, and were not paused, are read again from an earlier offset."""
    from confluent_kafka import TopicPartition

    with Kafka() as kafka:
        kafka.create_topic("t", 1)
        release, consumer = _reading(kafka)
        seen: list[int] = []
        consumer.assign([TopicPartition("t", 0, 0)])
        for number in range(30):
            kafka.produce("t", b"%d" % number)
            message = consumer.poll(5)
            seen.append(message.offset())
            if number == 20:
                consumer.resume([TopicPartition("t", 0)])
        seen += [message.offset() for message in consumer.consume(100, 1)]
        consumer.close()
    again = [offset for number, offset in enumerate(seen) if offset in seen[:number]]
    return release, f"offsets {again} are read twice" if again else None


def validation_for_ever() -> tuple[str, str | None]:
    """librdkafka: a check of the position that fails while the leader moves a second time is repeated with the old epoch, for ever."""
    from confluent_kafka import TopicPartition

    with Kafka(SETTINGS, brokers=3) as kafka:
        kafka.create_topic("t", 1, replication_factor=3)
        release, consumer = _reading(kafka)
        consumer.assign([TopicPartition("t", 0, 0)])
        kafka.produce("t", b"0")
        assert consumer.poll(10).offset() == 0
        leader = kafka.node.cluster.partition("t", 0).leader
        first, second = (each for each in (1, 2, 3) if each != leader)
        with kafka.faults.add("OffsetForLeaderEpoch", delay="2s", error="REQUEST_TIMED_OUT", times=1) as fault:
            kafka.move_leader("t", 0, to=first)
            ends = time.monotonic() + 10
            while not fault.matched and time.monotonic() < ends:
                consumer.poll(0.05)
            kafka.move_leader("t", 0, to=second)
            kafka.produce("t", b"1")
            ends, message = time.monotonic() + 8, None
            while message is None and time.monotonic() < ends:
                message = consumer.poll(0.2)
        asked = len(kafka.requests("OffsetForLeaderEpoch"))
        consumer.close()
    return release, None if message else f"nothing is read in 8 s; {asked} requests for the epoch's end"


def read_while_validated() -> tuple[str, str | None]:
    """librdkafka: records that come while the position is checked are read twice."""
    from confluent_kafka import TopicPartition

    with Kafka(SETTINGS, brokers=3) as kafka:
        kafka.create_topic("t", 1, replication_factor=3)
        release, consumer = _reading(kafka, **{"fetch.wait.max.ms": 1500})
        consumer.assign([TopicPartition("t", 0, 0)])
        kafka.produce("t", b"0")
        seen = [consumer.poll(10).offset()]
        for number in range(1, 8):
            leader = kafka.node.cluster.partition("t", 0).leader
            with (
                kafka.faults.add("Fetch", delay="600ms", after=True, times=1),
                kafka.faults.add("OffsetForLeaderEpoch", delay="800ms", times=1),
            ):
                kafka.produce("t", b"%d" % number)
                kafka.move_leader("t", 0, to=leader % 3 + 1)
                seen += [message.offset() for message in consumer.consume(10, 2)]
        consumer.close()
    again = [offset for number, offset in enumerate(seen) if offset in seen[:number]]
    return release, f"offsets {again} are read twice" if again else None


BUGS: dict[str, Callable[[], tuple[str, str | None]]] = {
    each.__name__: each
    for each in (positions_forgotten, resumed_without_a_pause, validation_for_ever, read_while_validated)
}


def main() -> None:
    """Print what is found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bug", choices=BUGS)
    logging.getLogger().addHandler(logging.NullHandler())
    began = time.monotonic()
    release, found = BUGS[parser.parse_args().bug]()
    print(json.dumps({"release": release, "seconds": round(time.monotonic() - began, 1), "seed": None, "found": found}))


if __name__ == "__main__":
    main()
