"""kafka-python (3.x): consumer groups of the classic protocol.

Covers commit and resume, offset metadata, a second member taking its share, a member leaving, static membership, and
what the admin client says of groups. Left out: the consumer protocol of KIP-848.
"""

from __future__ import annotations

import threading
from itertools import islice

import pytest
from kafka import ConsumerRebalanceListener, TopicPartition
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from compat_tests.harness.awaiting import until


@pytest.fixture
def filled_topic(make_topic, producer):
    """A topic with four partitions of five records."""
    topic = make_topic(partitions=4)
    one = producer()
    for partition in range(4):
        for i in range(5):
            one.send(topic, b"%d-%d" % (partition, i), partition=partition)
    one.flush()
    return topic


def poll_until(consumers, done):
    """Polls all consumers in turn until ``done()``."""

    def is_done():
        for each in consumers:
            each.poll(timeout_ms=50)
        return done()

    until(is_done, "the group did not reach the expected state", pause_s=0)


def test_commit_and_resume(filled_topic, consumer, name):
    group = name("group")
    first = consumer(filled_topic, group_id=group, enable_auto_commit=False, max_poll_records=1)
    seen = [(r.partition, r.offset) for r in islice(first, 12)]
    first.commit()
    first.close()
    second = consumer(filled_topic, group_id=group, enable_auto_commit=False)
    seen += [(r.partition, r.offset) for r in islice(second, 8)]
    assert sorted(seen) == [(p, o) for p in range(4) for o in range(5)], "each record once over both members"


def test_committed_offset_keeps_its_metadata(filled_topic, consumer, name):
    group, partition = name("group"), TopicPartition(filled_topic, 1)
    one = consumer(group_id=group, enable_auto_commit=False)
    one.assign([partition])
    one.commit({partition: OffsetAndMetadata(3, "läuft", -1)})
    assert one.committed(partition) == 3
    assert one.committed(partition, metadata=True).metadata == "läuft"
    assert one.committed(TopicPartition(filled_topic, 0)) is None


def test_second_member_takes_its_share_and_gives_it_back(filled_topic, consumer, name):
    group = name("group")
    one = consumer(filled_topic, group_id=group, heartbeat_interval_ms=100)
    poll_until([one], lambda: len(one.assignment()) == 4)
    two = consumer(filled_topic, group_id=group, heartbeat_interval_ms=100)
    poll_until([one, two], lambda: len(one.assignment()) == 2 == len(two.assignment()))
    assert not one.assignment() & two.assignment()
    two.close()
    poll_until([one], lambda: len(one.assignment()) == 4)


def test_listener_hears_of_revocation_before_assignment(filled_topic, consumer, name):
    heard = []

    class Listener(ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked):
            heard.append(("revoked", len(revoked)))

        def on_partitions_assigned(self, assigned):
            heard.append(("assigned", len(assigned)))

    group = name("group")
    one = consumer(group_id=group, heartbeat_interval_ms=100)
    one.subscribe([filled_topic], listener=Listener())
    poll_until([one], lambda: ("assigned", 4) in heard)
    two = consumer(filled_topic, group_id=group, heartbeat_interval_ms=100)
    poll_until([one, two], lambda: ("assigned", 2) in heard)
    assert heard[-2:] == [("revoked", 4), ("assigned", 2)]


def test_static_member_returns_without_a_rebalance(filled_topic, consumer, admin, name):
    group = name("group")
    settings = {"group_id": group, "group_instance_id": "machine-1", "heartbeat_interval_ms": 100}
    one = consumer(filled_topic, **settings)
    poll_until([one], lambda: len(one.assignment()) == 4)
    before = one.group_metadata().generation_id
    one.close()
    again = consumer(filled_topic, **settings)
    poll_until([again], lambda: len(again.assignment()) == 4)
    assert again.group_metadata().generation_id == before
    (member,) = admin.describe_groups([group])[group]["members"]
    assert member["group_instance_id"] == "machine-1"


def test_four_members_in_threads(filled_topic, consumer, name):
    group, seen, lock = name("group"), [], threading.Lock()
    members = [consumer(filled_topic, group_id=group, heartbeat_interval_ms=100) for _ in range(4)]
    done = threading.Event()

    def read(member):
        while not done.is_set():
            for records in member.poll(timeout_ms=100).values():
                with lock:
                    seen.extend((r.partition, r.offset) for r in records)
                    if len(set(seen)) == 20:
                        done.set()

    threads = [threading.Thread(target=read, args=(member,), daemon=True) for member in members]
    for thread in threads:
        thread.start()
    assert done.wait(60), f"only {len(set(seen))} of 20 records were read"
    for thread in threads:
        thread.join(10)


def test_admin_sees_the_group(filled_topic, consumer, admin, name):
    group = name("group")
    one = consumer(filled_topic, group_id=group, client_id="reader")
    poll_until([one], lambda: len(one.assignment()) == 4)
    one.commit({TopicPartition(filled_topic, 2): OffsetAndMetadata(4, "", -1)})
    described = admin.describe_groups([group])[group]
    assert described["group_state"] == "Stable"
    assert described["protocol_type"] == "consumer"
    (member,) = described["members"]
    assert member["client_id"] == "reader"
    assert member["client_host"] == "/127.0.0.1"
    assert group in {listed["group_id"] for listed in admin.list_groups()}
    offsets = admin.list_group_offsets({group: None})[group]
    assert offsets[TopicPartition(filled_topic, 2)].offset == 4


def test_groups_are_deleted_only_when_empty(filled_topic, consumer, admin, name):
    group = name("group")
    one = consumer(filled_topic, group_id=group)
    poll_until([one], lambda: len(one.assignment()) == 4)
    assert "NonEmptyGroupError" in repr(admin.delete_groups([group]))
    one.close()
    assert "NonEmptyGroupError" not in repr(admin.delete_groups([group]))
    assert group not in {listed["group_id"] for listed in admin.list_groups()}


def test_offsets_are_altered_and_deleted(filled_topic, consumer, admin, name):
    group, first, second = name("group"), TopicPartition(filled_topic, 0), TopicPartition(filled_topic, 1)
    admin.alter_group_offsets(group, {first: OffsetAndMetadata(2, "", -1), second: OffsetAndMetadata(3, "", -1)})
    assert {p: at.offset for p, at in admin.list_group_offsets({group: None})[group].items()} == {first: 2, second: 3}
    admin.delete_group_offsets(group, [first])
    assert {p: at.offset for p, at in admin.list_group_offsets({group: None})[group].items()} == {second: 3}


def test_commit_by_a_member_that_is_gone_is_refused(filled_topic, consumer, admin, name):
    group = name("group")
    one = consumer(filled_topic, group_id=group, enable_auto_commit=False, group_instance_id="i-1")
    poll_until([one], lambda: len(one.assignment()) == 4)
    two = consumer(filled_topic, group_id=group, enable_auto_commit=False, group_instance_id="i-1")
    poll_until([two], lambda: len(two.assignment()) == 4)
    with pytest.raises(KafkaError):
        one.commit({TopicPartition(filled_topic, 0): OffsetAndMetadata(1, "", -1)})
