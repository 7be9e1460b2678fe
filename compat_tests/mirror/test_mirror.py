"""MirrorMaker 2 (Kafka 4.3.1) between two brokers, both ways, writing exactly once: records, settings, partitions, groups.

Left out: ACLs, which neither has without an authorizer: MirrorMaker says so and copies the rest.
"""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Message, Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions

from compat_tests.conftest import TARGET
from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.awaiting import eventually
from compat_tests.harness.records import LIMIT_S, committed, values, write
from compat_tests.mirror.conftest import TOPICS
from compat_tests.mirror.mirror_maker import translated

#: Two of one kind are the same in both directions.
_FLOWS = [("same", "a")] if ApacheKafka.name == TARGET else [("same", "a"), ("apache", "a"), ("apache", "b")]
flows = pytest.mark.parametrize(("pair", "source"), _FLOWS, indirect=["pair"], scope="module")


def numbers(*bounds: int) -> list[str]:
    return [str(number) for number in range(*bounds)]


def content(message: Message) -> tuple[object, ...]:
    """What a copy must have in common with its original."""
    return message.partition(), message.key(), message.value(), message.headers(), message.timestamp()


def abort(bootstrap: str, topic: str, count: int) -> None:
    """Produces ``count`` records in a transaction and aborts it."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
    producer.init_transactions(LIMIT_S)
    producer.begin_transaction()
    for _ in range(count):
        producer.produce(topic, b"aborted")
    assert producer.flush(LIMIT_S) == 0
    producer.abort_transaction(LIMIT_S)


# ---- records


@flows
def test_records_arrive_as_they_are(pair, source):
    topic, (here, there) = TOPICS["records"], pair.flow(source)
    producer = Producer({"bootstrap.servers": here})
    for number in range(600):
        producer.produce(
            topic,
            None if number % 50 == 7 else b"value %d" % number,
            b"key %d" % number,
            timestamp=1_700_000_000_000 + number,
            headers=[("number", b"%d" % number), ("none", None)],
        )
    assert producer.flush(LIMIT_S) == 0
    copied = eventually(lambda: committed(there, f"{source}.{topic}"), lambda found: len(found) >= 600)
    assert [content(message) for message in copied] == [content(message) for message in committed(here, topic)]


# ---- topics


@flows
def test_settings_and_partitions_follow(pair, source):
    topic, (here, there) = TOPICS["settings"], pair.flow(source)
    admin, far = (AdminClient({"bootstrap.servers": address}) for address in (here, there))
    copy = f"{source}.{topic}"

    def retention() -> str:
        resource = ConfigResource(ConfigResource.Type.TOPIC, copy)
        described = far.describe_configs([resource])[resource].result(LIMIT_S)
        return described["retention.ms"].value

    eventually(lambda: far.list_topics(timeout=LIMIT_S).topics, lambda topics: copy in topics)
    eventually(retention, lambda seen: seen == "3600000")
    changed = ConfigEntry("retention.ms", "7200000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[changed])
    admin.incremental_alter_configs([resource])[resource].result(LIMIT_S)
    eventually(retention, lambda seen: seen == "7200000")
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(LIMIT_S)
    eventually(lambda: far.list_topics(timeout=LIMIT_S).topics[copy].partitions, lambda found: len(found) == 3)
    write(here, topic, ["in the new one"], partition=2)
    (copied,) = eventually(lambda: committed(there, copy), len)
    assert (copied.partition(), copied.value()) == (2, b"in the new one")


# ---- groups


def consume(bootstrap: str, group: str, topic: str, last: str, reset: str = "error") -> list[str]:
    """What a consumer of ``group`` gets up to the value ``last``; it commits where it stands, and leaves.

    Without ``reset`` it fails where the group has no offset: it goes on, or not at all.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": reset,
            "isolation.level": "read_committed",
        }
    )
    found: list[str] = []
    try:
        consumer.subscribe([topic])
        while found[-1:] != [last]:
            message = consumer.poll(LIMIT_S)
            assert message is not None, f"nothing after {found[-1:]}"
            assert message.error() is None, message.error()
            found.append(message.value().decode())
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return found


def group_offset(bootstrap: str, group: str, topic: str) -> int | None:
    """The committed offset of the group in partition 0 of the topic."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    answer = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(LIMIT_S)
    found = {(each.topic, each.partition): each.offset for each in answer.topic_partitions}
    return found.get((topic, 0))


@flows
def test_a_group_at_the_end_goes_on_where_it_was(pair, source):
    topic, (here, there) = TOPICS["end"], pair.flow(source)
    copy, group = f"{source}.{topic}", f"moving-{topic}"
    write(here, topic, numbers(100))
    abort(here, topic, 70)  # so that offsets here and there differ
    write(here, topic, numbers(100, 200))
    assert consume(here, group, topic, "199", "earliest") == numbers(200)
    copied = eventually(lambda: committed(there, copy), lambda found: len(found) >= 200)
    assert [message.value().decode() for message in copied] == numbers(200)
    end = copied[-1].offset() + 1
    assert end != group_offset(here, group, topic)
    eventually(lambda: group_offset(there, group, copy), lambda offset: offset == end)
    # The group's offsets are set before the transaction ends that has them for those who ask for the translation.
    eventually(lambda: translated(there, source, group), lambda offsets: offsets == {(copy, 0): end})
    write(here, topic, numbers(200, 250))
    assert consume(there, group, copy, "249") == numbers(200, 250)


@flows
def test_a_group_that_lags_loses_nothing(pair, source):
    """MirrorMaker keeps fewer offsets the older they are: a group may read again what it read, but not more than it had
    still to read.
    """
    topic, (here, there) = TOPICS["lag"], pair.flow(source)
    copy, group = f"{source}.{topic}", f"moving-{topic}"
    write(here, topic, numbers(500))
    abort(here, topic, 70)
    write(here, topic, numbers(500, 700))
    assert consume(here, group, topic, "699", "earliest") == numbers(700)
    write(here, topic, numbers(700, 1000))
    copied = eventually(lambda: committed(there, copy), lambda found: len(found) >= 1000)
    eventually(lambda: group_offset(there, group, copy), lambda offset: offset and offset >= copied[400].offset())
    found = consume(there, group, copy, "999")
    assert 400 <= int(found[0]) <= 700
    assert found == numbers(int(found[0]), 1000)


# ---- death


@pytest.mark.parametrize("pair", [_FLOWS[-1][0]], indirect=True, scope="module")
def test_a_killed_mirror_maker_copies_exactly_once(pair):
    topic = TOPICS["killed"]
    both = [(*pair.flow(source), f"{source}.{topic}") for source in ("a", "b")]
    for here, _, _ in both:
        write(here, topic, numbers(20_000))
    for _, there, copy in both:
        eventually(lambda there=there, copy=copy: values(there, copy), len)
    pair.mirror_maker.kill()
    try:
        for here, _, _ in both:
            write(here, topic, numbers(20_000, 30_000))
    finally:
        pair.mirror_maker.start()
    for _, there, copy in both:
        found = eventually(lambda there=there, copy=copy: values(there, copy), lambda seen: len(seen) >= 30_000)
        assert found == numbers(30_000)
