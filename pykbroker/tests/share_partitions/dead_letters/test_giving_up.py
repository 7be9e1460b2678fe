"""Dead letters of a share group in a cluster in memory: when, which, exactly once, and what becomes of records without them."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import nullcontext
from typing import Any

import pytest

from pykbroker.controller.feature_updates import FeatureUpdate
from pykbroker.controller.topics import NewTopic
from pykbroker.coordination.share.state import ARCHIVING
from pykbroker.share_partitions.states import Acknowledge
from pykbroker.tests.kit.share_groups import Lost, ShareCluster, ShareMember, lose_writes
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.records import Record, decode_records, encode_batch

ARCHIVED = 4
ACCEPT, RELEASE, REJECT = Acknowledge.ACCEPT, Acknowledge.RELEASE, Acknowledge.REJECT
CREATES = {"errors_deadletterqueue_auto_create_topics_enable": "true"}
TOO_OFTEN = b"Offset delivery count exceeded the threshold."


def started(topic: str = "dlq.work", *, copies: bool = False, partitions: int = 1, **settings: str) -> ShareCluster:
    world = ShareCluster(partitions=partitions, **settings)
    world.configure("errors.deadletterqueue.topic.name", topic)
    world.configure("share.delivery.count.limit", "2")
    if copies:
        world.configure("errors.deadletterqueue.copy.record.enable", "true")
    world.joined()
    return world


def with_topic(world: ShareCluster, name: str = "dlq.work", partitions: int = 1, **configs: str) -> ShareCluster:
    settings = {name.replace("_", "."): value for name, value in configs.items()}
    world.create(NewTopic(name, partitions, 1, configs={"errors.deadletterqueue.group.enable": "true", **settings}))
    return world


def letters(world: ShareCluster, topic: str = "dlq.work", index: int = 0) -> list[Record]:
    partition = world.partition(topic, index)
    return [record for header, batch in partition.log.batches() for record in decode_records(batch, header=header)]


def offsets(world: ShareCluster) -> list[int]:
    return [int(dict(each.headers)["__dlq.errors.offset"] or b"") for each in letters(world)]


def share_state(world: ShareCluster, index: int = 0) -> Any:
    broker = world.broker
    (key,) = [
        key for loaded in broker.shares.shards.loaded.values() for key in loaded.shard.states if key.partition == index
    ]
    return broker.shares.shards.loaded[broker.shares.partition_of(str(key))].shard.states[key]


def test_a_rejected_record_has_a_letter_with_kafkas_headers() -> None:
    world = with_topic(started())
    member = ShareMember(world)
    world.produce(3)
    member.acquired()
    assert member.acknowledge(1, 1, REJECT) == ErrorCode.NONE
    world.settle()
    (letter,) = letters(world)
    assert letter.headers == (
        ("__dlq.errors.topic", b"t"),
        ("__dlq.errors.partition", b"0"),
        ("__dlq.errors.offset", b"1"),
        ("__dlq.errors.group", b"work"),
        ("__dlq.errors.delivery.count", b"1"),
        ("__dlq.errors.message", b"Offset rejected by client."),
    )
    assert (letter.key, letter.value, letter.timestamp) == (None, None, world.clock.now_ms())
    assert [tuple(each) for each in share_state(world).batches] == [(1, 1, 4, 1)]


def test_copies_have_key_and_value_and_no_headers_of_the_record() -> None:
    world = with_topic(started(copies=True), partitions=2)
    member = ShareMember(world)
    batch = encode_batch([Record(key=b"k", value=b"v", headers=(("own", b"h"),)), Record(key=None, value=None)])
    world.partition("t").append_at_once(memoryview(bytearray(batch)))
    member.acquired()
    member.acknowledge(0, 1, REJECT)
    world.settle()
    found = letters(world)
    assert [(each.key, each.value) for each in found] == [(b"k", b"v"), (None, None)]
    assert {len(each.headers) for each in found} == {6}


def test_letters_go_to_the_partition_of_the_same_number_modulo_theirs() -> None:
    world = with_topic(started(partitions=3), partitions=2)
    member = ShareMember(world, partitions=3)
    for index in range(3):
        world.produce(1, index)
    while member.acquired():
        pass
    for index in range(3):
        assert member.acknowledge(0, 0, REJECT, index=index) == ErrorCode.NONE
    world.settle()
    found = [[dict(each.headers)["__dlq.errors.partition"] for each in letters(world, index=n)] for n in range(2)]
    assert found == [[b"0", b"2"], [b"1"]]


@pytest.mark.parametrize("how", ["release", "lock", "session"])
def test_a_record_that_was_delivered_too_often_has_a_letter(how: str) -> None:
    world = with_topic(started())
    member, watcher = ShareMember(world), ShareMember(world, "watcher")
    watcher.fetch()
    world.produce(1)
    for count in (1, 2):
        assert member.acquired() == [(0, 0, count)]
        if how == "release":
            member.acknowledge(0, 0, RELEASE)
        elif how == "lock":
            world.advance(31_000)
        else:
            member.close()
            member = ShareMember(world)
        world.settle()
    assert member.acquired() == []
    (letter,) = letters(world)
    assert dict(letter.headers)["__dlq.errors.message"] == TOO_OFTEN
    assert dict(letter.headers)["__dlq.errors.delivery.count"] == b"2"
    world.produce(1)
    assert member.acquired() == [(1, 1, 1)]


def test_the_last_session_ends_after_its_letters_are_written() -> None:
    world = with_topic(started())
    world.produce(1)
    for _ in range(2):
        member = ShareMember(world)
        assert member.acquired()
        member.close()
        world.settle()
    assert offsets(world) == [0]
    assert share_state(world).start_offset + share_state(world).delivery_complete_count == 1


def test_the_topic_is_created_where_the_brokers_may() -> None:
    world = started(**CREATES)
    member = ShareMember(world)
    world.produce(2)
    member.acquired()
    member.acknowledge(0, 1, REJECT)
    world.settle()
    assert offsets(world) == [0, 1]
    settings = world.image.topic_config("dlq.work")
    assert settings == {"errors.deadletterqueue.group.enable": "true", "message.timestamp.type": "CreateTime"}


@pytest.mark.parametrize(
    ("topic", "exists", "reason"),
    [
        ("dlq.work", False, "auto.create.topics.enable is false"),
        ("letters", True, "does not begin with dlq."),
        ("dlq.off", True, "does not have errors.deadletterqueue.group.enable"),
    ],
)
def test_without_a_topic_records_are_archived_and_the_log_says_why(
    caplog: pytest.LogCaptureFixture, topic: str, exists: bool, reason: str
) -> None:
    world = started(topic)
    if exists:
        world.create(NewTopic(topic, 1, 1))
    member = ShareMember(world)
    world.produce(2)
    member.acquired()
    with caplog.at_level(logging.WARNING):
        member.acknowledge(0, 1, REJECT)
        world.settle()
    assert reason in caplog.text
    assert not exists or letters(world, topic) == []
    world.produce(1)
    assert member.acquired() == [(2, 2, 1)]


def test_a_topic_that_refuses_the_letters_loses_them_only(caplog: pytest.LogCaptureFixture) -> None:
    world = with_topic(started(), cleanup_policy="compact")  # takes no record without a key
    member = ShareMember(world)
    world.produce(1)
    member.acquired()
    member.acknowledge(0, 0, REJECT)
    world.settle()
    assert "without dead letters" in caplog.text
    assert letters(world) == []


def test_below_the_level_of_dead_letters_there_are_none() -> None:
    world = with_topic(started())
    done = world.controller.update_features(
        [FeatureUpdate("share.version", 1, 2)], static_min_isr=1, validate_only=False
    )
    world.settle()
    assert done.done
    assert world.image.features["share.version"] == 1
    member = ShareMember(world)
    world.produce(1)
    member.acquired()
    member.acknowledge(0, 0, REJECT)
    world.settle()
    assert letters(world) == []


def test_records_that_do_not_fit_have_letters_without_them_and_many_have_many_batches() -> None:
    world = with_topic(started(copies=True), max_message_bytes="1000")
    member = ShareMember(world)
    records = [Record(value=b"v" * (2000 if n == 5 else 10)) for n in range(250)]
    world.partition("t").append_at_once(memoryview(bytearray(encode_batch(records))))
    member.acquired()
    member.acknowledge(0, 249, REJECT)
    world.settle()
    assert offsets(world) == list(range(250))
    assert [len(each.value or b"") for each in letters(world)] == [0 if n == 5 else 10 for n in range(250)]


def test_compacted_records_have_letters_without_key_and_value() -> None:
    world = with_topic(started(copies=True))
    member = ShareMember(world)
    world.produce(2)
    world.produce(2)
    member.acquired()
    world.partition("t").log.delete_records_before(1)  # the second record of its batch is still there
    member.acknowledge(1, 3, REJECT)
    world.settle()
    assert [(n, each.value) for n, each in zip(offsets(world), letters(world), strict=True)] == [
        (1, b"1"),
        (2, b"0"),
        (3, b"1"),
    ]


@pytest.mark.parametrize("turns", range(12))
def test_one_letter_for_each_record_whenever_the_broker_is_killed(turns: int) -> None:
    world = with_topic(started())
    member = ShareMember(world)
    world.produce(4)
    member.acquired()
    member.post_acknowledge(0, 1, REJECT)
    for _ in range(turns):
        world.run_turn()
    world.restart(kill=True)
    again = ShareMember(world)
    for _ in range(6):
        for first, last, _ in again.acquired():
            again.acknowledge(first, last, *(REJECT if n < 2 else ACCEPT for n in range(first, last + 1)))
        world.settle()
    assert Counter(offsets(world)) == {0: 1, 1: 1}


@pytest.mark.parametrize("trouble", ["move", "kill", "too few"])
@pytest.mark.parametrize("turns", range(10))
def test_one_letter_for_each_record_whenever_the_leader_of_letters_changes(turns: int, trouble: str) -> None:
    """Or has too few replicas in sync for a while."""
    world = ShareCluster(3, own_stores=True)
    enabled = {"errors.deadletterqueue.group.enable": "true", "min.insync.replicas": "2"}
    world.create(NewTopic("dlq.work", assignments=[(0, [2, 3])], configs=enabled))
    world.configure("errors.deadletterqueue.topic.name", "dlq.work")
    world.joined()
    member = ShareMember(world)
    world.asked_broker = lambda: world.partition("t").leader  # type: ignore[method-assign]
    world.produce(2)
    member.acquired()
    member.post_acknowledge(0, 1, REJECT)
    for _ in range(turns):
        world.run_turn()
    if trouble == "move":
        world.controller.move_leader("dlq.work", 0, 3)
    with world.without(2 if trouble == "kill" else 3) if trouble != "move" else nullcontext():
        world.settle()
        world.advance(500)
    for _ in range(20):
        world.settle()
        world.advance(1000)
    assert offsets(world) == [0, 1]


@pytest.mark.parametrize("turns", range(12))
def test_one_letter_for_each_record_whenever_the_disk_is_full(turns: int) -> None:
    world = with_topic(started())
    member = ShareMember(world)
    world.produce(2)
    member.acquired()
    member.post_acknowledge(0, 1, REJECT)
    for _ in range(turns):
        world.run_turn()
    with world.full_disk():
        world.settle()
        world.advance(2000)
        world.settle()
    for _ in range(40):
        world.settle()
        world.advance(1000)
    assert offsets(world) == [0, 1]
    assert [each[2] for each in share_state(world).batches] in ([ARCHIVED], [])


def test_a_disk_that_stays_full_is_asked_ten_times(caplog: pytest.LogCaptureFixture) -> None:
    """After the tenth time there is nothing to wait for."""
    world = with_topic(started())
    member = ShareMember(world)
    world.produce(2)
    member.acquired()
    member.post_acknowledge(0, 1, REJECT)
    assert [each[2] for each in share_state(world).batches] == [ARCHIVING]
    with world.full_disk():
        for passed_s in (0, 1, 2, 4, 8, 16, 30, 30, 30, 30):
            assert "without dead letters" not in caplog.text
            world.advance(passed_s * 1000)
            world.settle()
        assert "0-1 without dead letters" in caplog.text


@pytest.mark.parametrize("codec", ["producer", "gzip"])
def test_what_a_killed_broker_has_written_is_found_among_other_letters(codec: str) -> None:
    world = with_topic(started(copies=True), compression_type=codec)
    other = encode_batch([Record(key=b"k", value=b"v", headers=(("__dlq.errors.offset", b"2"),)), Record(value=b"")])
    world.partition("dlq.work").append_at_once(memoryview(bytearray(other)))
    world.broker.share_states = Lost(world.broker.share_states, 1)  # the first step, not the last
    member = ShareMember(world)
    world.produce(4)
    member.acquired()
    member.acknowledge(1, 3, REJECT)
    world.settle()
    assert [each[2] for each in share_state(world).batches] == [ARCHIVING]
    written = letters(world)
    assert len(written) == 2 + 3
    world.restart(kill=True)
    again = ShareMember(world)
    assert again.acquired() == [(0, 0, 1)]
    world.settle()
    assert letters(world) == written
    assert [each[2] for each in share_state(world).batches] == [ARCHIVED]


def test_what_a_killed_broker_has_not_written_is_written() -> None:
    world = started()
    world.broker.share_states = Lost(world.broker.share_states, 1)
    with_topic(world)
    member = ShareMember(world)
    world.produce(4)
    member.acquired()
    member.post_acknowledge(1, 3, REJECT)
    assert [each[2] for each in share_state(world).batches] == [ARCHIVING]
    world.restart(kill=True)
    assert letters(world) == []
    assert ShareMember(world).acquired() == [(0, 0, 1)]
    world.settle()
    assert offsets(world) == [1, 2, 3]
    assert [each[2] for each in share_state(world).batches] == [ARCHIVED]


def test_a_lock_that_is_over_is_persisted_before_its_letter_is_written() -> None:
    world = with_topic(started())
    member = ShareMember(world)
    world.produce(1)
    assert member.acquired() == [(0, 0, 1)]
    member.acknowledge(0, 0, RELEASE)
    assert member.acquired() == [(0, 0, 2)]
    lose_writes(world, 0)
    world.advance(31_000)
    world.settle()
    assert letters(world) == []
    world.restart(kill=True)
    again = ShareMember(world)
    assert again.acquired() == [(0, 0, 2)]
    again.acknowledge(0, 0, RELEASE)
    world.settle()
    assert offsets(world) == [0]


def test_the_old_letter_of_a_group_that_began_again_is_not_taken_for_the_new_one() -> None:
    world = with_topic(started())
    member = ShareMember(world)
    world.produce(1)
    member.acquired()
    member.acknowledge(0, 0, REJECT)
    world.settle()
    assert offsets(world) == [0]
    state = share_state(world)
    world.clock.advance(1000)
    (key,) = [each for loaded in world.broker.shares.shards.loaded.values() for each in loaded.shard.states]
    member.close()
    world.settle()
    world.broker.share_states.initialize(key, state.state_epoch + 1, 0)
    world.settle()
    again = ShareMember(world)
    assert again.acquired() == [(0, 0, 1)]
    again.acknowledge(0, 0, REJECT)
    world.settle()
    assert offsets(world) == [0, 0]
