"""confluent-kafka (librdkafka) with ``group.protocol=consumer``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, ConsumerGroupType, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.confluent.conftest import dotted, read, send
from compat_tests.harness.awaiting import eventually


@pytest.fixture
def admin(quick: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": quick})


@pytest.fixture
def topic(admin: AdminClient, quick: str, name: Callable[..., str]) -> str:
    """A topic with four partitions of five records."""
    made = name()
    admin.create_topics([NewTopic(made, 4, 1)])[made].result(60)
    for partition in range(4):
        send(
            Producer({"bootstrap.servers": quick}),
            made,
            [b"%d-%d" % (partition, i) for i in range(5)],
            partition=partition,
        )
    return made


@pytest.fixture
def consumer(quick: str) -> Iterator[Callable[..., Consumer]]:
    """Makes members of the new protocol, or with ``group_protocol="classic"`` of the old one."""
    made: list[Consumer] = []

    def make(group: str, **settings: object) -> Consumer:
        base = {
            "bootstrap.servers": quick,
            "group.id": group,
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
        made.append(Consumer(base | dotted(settings)))
        return made[-1]

    yield make
    for each in made:
        each.close()


def poll_until(consumers: list[Consumer], done: Callable[[], bool]) -> list[KafkaError]:
    """Polls all in turn until ``done()``; the errors that came meanwhile."""
    errors: list[KafkaError] = []

    def state() -> tuple[bool, list[KafkaError]]:
        for each in consumers:
            message = each.poll(0.05)
            if message is not None and message.error() is not None:
                errors.append(message.error())
        return done(), errors

    return eventually(state, lambda found: found[0], pause_s=0)[1]


def sizes(*consumers: Consumer) -> list[int]:
    return [len(each.assignment()) for each in consumers]


def described(admin: AdminClient, group: str):
    return admin.describe_consumer_groups([group])[group].result(60)


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_members_share_the_partitions(topic, consumer, admin, name, assignor):
    group = name("group")
    one, two = (consumer(group, group_remote_assignor=assignor) for _ in range(2))
    one.subscribe([topic])
    poll_until([one], lambda: sizes(one) == [4])
    two.subscribe([topic])
    poll_until([one, two], lambda: sizes(one, two) == [2, 2])
    assert len({(at.topic, at.partition) for each in (one, two) for at in each.assignment()}) == 4
    found = described(admin, group)
    assert (found.type, found.state, len(found.members)) == (ConsumerGroupType.CONSUMER, ConsumerGroupState.STABLE, 2)
    two.unsubscribe()
    poll_until([one, two], lambda: sizes(one) == [4])


def test_commit_and_resume(topic, consumer, name):
    group = name("group")
    first = consumer(group)
    first.subscribe([topic])
    seen = [(message.partition(), message.offset()) for message in read(first, 12)]
    first.commit(asynchronous=False)
    first.close()
    second = consumer(group)
    second.subscribe([topic])
    seen += [(message.partition(), message.offset()) for message in read(second, 8)]
    assert sorted(seen) == [(partition, offset) for partition in range(4) for offset in range(5)]


def test_static_member_returns_to_its_partitions(topic, consumer, name):
    group = name("group")
    one, two = (consumer(group, group_instance_id=f"machine-{number}") for number in (1, 2))
    for each in (one, two):
        each.subscribe([topic])
    poll_until([one, two], lambda: sizes(one, two) == [2, 2])
    before = {(at.topic, at.partition) for at in two.assignment()}
    two.close()
    again = consumer(group, group_instance_id="machine-2")
    again.subscribe([topic])
    poll_until([one, again], lambda: sizes(again) == [2])
    assert {(at.topic, at.partition) for at in again.assignment()} == before
    assert sizes(one) == [2]


def test_a_pattern_meets_new_topics(topic, consumer, admin, name):
    one = consumer(name("group"))
    one.subscribe([f"^{topic}.*"])
    poll_until([one], lambda: sizes(one) == [4])
    admin.create_topics([NewTopic(f"{topic}-later", 2, 1)])[f"{topic}-later"].result(60)
    one.subscribe([f"^{topic}.*", "another"])
    poll_until([one], lambda: sizes(one) == [6])


def test_a_classic_and_a_new_member_in_one_group(topic, consumer, admin, name):
    group = name("group")
    old = consumer(group, group_protocol="classic", partition_assignment_strategy="cooperative-sticky")
    old.subscribe([topic])
    poll_until([old], lambda: sizes(old) == [4])
    assert described(admin, group).type is ConsumerGroupType.CLASSIC
    new = consumer(group)
    new.subscribe([topic])
    poll_until([old, new], lambda: sizes(old, new) == [2, 2])
    assert described(admin, group).type is ConsumerGroupType.CONSUMER
    new.close()
    poll_until([old], lambda: sizes(old) == [4])
    assert described(admin, group).type is ConsumerGroupType.CLASSIC


def test_a_group_in_use_is_protected(topic, consumer, admin, name):
    group = name("group")
    one = consumer(group)
    one.subscribe([topic])
    poll_until([one], lambda: sizes(one) == [4])
    with pytest.raises(KafkaException) as refused:
        admin.delete_consumer_groups([group])[group].result(60)
    assert refused.value.args[0].code() == KafkaError.NON_EMPTY_GROUP
    one.close()
    admin.delete_consumer_groups([group])[group].result(60)
