"""confluent-kafka (librdkafka): consumer groups of the classic protocol.

Covers commit and resume, several members, cooperative rebalancing, static members, stored offsets and the group calls of the
admin client. The consumer protocol of KIP-848 is in ``compat_tests/groups``.
"""

from __future__ import annotations

import pytest
from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaException, TopicPartition

from compat_tests.confluent.conftest import read, send
from compat_tests.harness.awaiting import eventually, until


@pytest.fixture
def filled_topic(make_topic, producer):
    """A topic with four partitions of five records."""
    topic = make_topic(partitions=4)
    for partition in range(4):
        send(producer(), topic, [b"%d-%d" % (partition, i) for i in range(5)], partition=partition)
    return topic


def poll_until(consumers, done):
    """Polls all in turn until ``done()``; the records that came meanwhile."""
    messages = []

    def is_done():
        for each in consumers:
            message = each.poll(0.05)
            if message is not None and message.error() is None:
                messages.append(message)
        return done()

    until(is_done, "the group did not reach the expected state", pause_s=0)
    return messages


def first_error(consumer, *others):
    """The name of the first error that a consumer hears of, while all are polled."""

    def polled():
        for each in others:
            each.poll(0.05)
        message = consumer.poll(0.05)
        return message is not None and message.error()

    return eventually(polled, bool, pause_s=0).name()


def sizes(*consumers):
    return [len(each.assignment()) for each in consumers]


def test_commit_and_resume(filled_topic, consumer, name):
    group = name("group")
    first = consumer(group)
    first.subscribe([filled_topic])
    seen = [(m.partition(), m.offset()) for m in read(first, 12)]
    first.commit(asynchronous=False)
    first.close()
    second = consumer(group)
    second.subscribe([filled_topic])
    seen += [(m.partition(), m.offset()) for m in read(second, 8)]
    assert sorted(seen) == [(p, o) for p in range(4) for o in range(5)]


def test_committed_offset_keeps_metadata_and_epoch(filled_topic, consumer, name):
    one = consumer(name("group"))
    one.commit(offsets=[TopicPartition(filled_topic, 1, 3, metadata="note", leader_epoch=0)], asynchronous=False)
    (at,) = one.committed([TopicPartition(filled_topic, 1)], timeout=60)
    assert (at.offset, at.metadata, at.leader_epoch) == (3, "note", 0)


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_members_share_the_partitions(filled_topic, consumer, name, strategy):
    group = name("group")
    one = consumer(group, partition_assignment_strategy=strategy)
    one.subscribe([filled_topic])
    poll_until([one], lambda: sizes(one) == [4])
    two = consumer(group, partition_assignment_strategy=strategy)
    two.subscribe([filled_topic])
    poll_until([one, two], lambda: sizes(one, two) == [2, 2])
    taken = [(tp.topic, tp.partition) for each in (one, two) for tp in each.assignment()]
    assert len(set(taken)) == 4
    one.close()
    poll_until([two], lambda: sizes(two) == [4])


def test_a_member_with_another_strategy_is_refused(filled_topic, consumer, name):
    group = name("group")
    one = consumer(group, partition_assignment_strategy="range")
    one.subscribe([filled_topic])
    poll_until([one], lambda: sizes(one) == [4])
    two = consumer(group, partition_assignment_strategy="roundrobin")
    two.subscribe([filled_topic])
    assert first_error(two, one) == "INCONSISTENT_GROUP_PROTOCOL"
    two.close()  # it would join when the other is gone, and hang in its end where it has not heard of that


def test_static_member_returns_to_its_partitions(filled_topic, consumer, admin, name):
    group = name("group")
    one, two = (consumer(group, group_instance_id=f"machine-{i}") for i in (1, 2))
    for each in (one, two):
        each.subscribe([filled_topic])
    poll_until([one, two], lambda: sizes(one, two) == [2, 2])
    before = {(tp.topic, tp.partition) for tp in two.assignment()}
    two.close()
    again = consumer(group, group_instance_id="machine-2")
    again.subscribe([filled_topic])
    poll_until([again], lambda: sizes(again) == [2])
    assert {(tp.topic, tp.partition) for tp in again.assignment()} == before
    described = admin.describe_consumer_groups([group])[group].result(60)
    assert sorted(member.group_instance_id for member in described.members) == ["machine-1", "machine-2"]


def test_a_second_use_of_an_instance_id_fences_the_first(filled_topic, consumer, name):
    group = name("group")
    one, two = (consumer(group, group_instance_id="same") for _ in range(2))
    one.subscribe([filled_topic])
    poll_until([one], lambda: sizes(one) == [4])
    two.subscribe([filled_topic])
    poll_until([two], lambda: sizes(two) == [4])
    assert first_error(one) in ("_FATAL", "FENCED_INSTANCE_ID")


def test_pattern_subscription_meets_new_topics(make_topic, producer, consumer, name):
    prefix = make_topic()
    one = consumer(name("group"), topic_metadata_refresh_interval_ms=500)
    one.subscribe([f"^{prefix}.*"])
    poll_until([one], lambda: sizes(one) == [1])
    send(producer(), prefix + "-later", [b"hello"])
    (message,) = poll_until([one], lambda: sizes(one)[0] == 2)[:1] or read(one, 1)
    assert message.value() == b"hello"


def test_admin_lists_describes_deletes(filled_topic, consumer, admin, name):
    group = name("group")
    one = consumer(group, client_id="reader")
    one.subscribe([filled_topic])
    poll_until([one], lambda: sizes(one) == [4])
    described = admin.describe_consumer_groups([group])[group].result(60)
    assert described.state == ConsumerGroupState.STABLE
    assert [(m.client_id, m.host, len(m.assignment.topic_partitions)) for m in described.members] == [
        ("reader", "/127.0.0.1", 4)
    ]
    stable = admin.list_consumer_groups(states={ConsumerGroupState.STABLE}).result(60)
    assert group in {listing.group_id for listing in stable.valid}
    empty = admin.list_consumer_groups(states={ConsumerGroupState.EMPTY}).result(60)
    assert group not in {listing.group_id for listing in empty.valid}
    with pytest.raises(KafkaException, match="NON_EMPTY_GROUP"):
        admin.delete_consumer_groups([group])[group].result(60)
    one.close()
    admin.delete_consumer_groups([group])[group].result(60)


def test_admin_alters_offsets_and_lists_them(filled_topic, admin, name):
    group = name("group")
    wanted = [TopicPartition(filled_topic, partition, partition + 1) for partition in (0, 2)]
    admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, wanted)])[group].result(60)
    listed = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(60)
    assert {(tp.partition, tp.offset) for tp in listed.topic_partitions} == {(0, 1), (2, 3)}
