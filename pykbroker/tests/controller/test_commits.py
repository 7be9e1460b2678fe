"""One change after the other, each on what the one before has published, and nobody waits for the disk but who asked."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.controller.config_alterations import Alteration, Change, Operation
from pykbroker.controller.topics import NewPartitions, NewTopic
from pykbroker.metadata.image import TOPIC_RESOURCE
from pykbroker.metadata.snapshot import list_snapshots
from pykbroker.runtime.waits import Deferred
from pykbroker.tests.kit.metadata import PLAIN, MetadataDirectory, alteration, registration, replayed
from pykbroker.tests.kit.threads import HeldThreads
from pykbroker.wire.errors import ErrorCode, KafkaError


class World(MetadataDirectory):
    """Two brokers, and syncs that end when the test says so."""

    def __init__(self) -> None:
        super().__init__(levels=PLAIN)
        self.controller.start_brokers([registration(1), registration(2)])
        self.threads = HeldThreads(self.runtime)

    def refuse(self, operation: str) -> None:
        """From here on the disk is full."""
        self.disk.fail = lambda _, name: OSError(errno.ENOSPC, "full") if name.startswith(operation) else None

    def sync(self) -> None:
        """The thread that syncs, or writes a snapshot, is done."""
        self.threads.run_one()

    def settle(self) -> None:
        self.threads.run_all()


def test_a_change_is_published_and_answered_when_it_is_synced():
    world = World()
    before = world.image.offset
    created = world.controller.create_topics([NewTopic("t")])
    assert (world.image.offset, created.done) == (before, False)
    assert world.log.end_offset > before + 1
    world.sync()
    assert "t" in world.image.topics
    assert created.value.result[0].error is None


def test_the_next_is_planned_on_what_the_one_before_has_published():
    world = World()
    twice = [world.controller.create_topics([NewTopic("t", 1, 1)]) for _ in range(2)]
    more = world.controller.create_partitions([NewPartitions("t", 2)])
    assert len(world.threads) == 1
    world.settle()
    assert twice[0].value.result[0].error is None
    assert twice[1].value.result[0].error.code is ErrorCode.TOPIC_ALREADY_EXISTS
    assert more.value.result == [("t", None)]


def test_settings_are_looked_at_when_their_turn_comes():
    """Two clients append to one list: nothing of either is lost."""
    world = World()
    world.controller.create_topics([NewTopic("t", configs={"cleanup.policy": ""})])
    for value in ("compact", "delete"):
        change = Change("cleanup.policy", Operation.APPEND, value)
        world.controller.alter_configs([Alteration(TOPIC_RESOURCE, "t", [change])], broker_id=1)
    world.settle()
    assert world.image.topic_config("t") == {"cleanup.policy": "compact,delete"}


def test_settings_are_checked_when_their_turn_comes():
    """Each of two clients asks for what is valid, and both together are not: the later one is refused."""
    world = World()
    world.controller.create_topics([NewTopic("t")])
    wanted = [
        alteration(TOPIC_RESOURCE, "t", min_compaction_lag_ms="10"),
        alteration(TOPIC_RESOURCE, "t", max_compaction_lag_ms="5"),
    ]
    first, second = (world.controller.alter_configs([each], broker_id=1) for each in wanted)
    world.settle()
    assert first.value == [None]
    assert [error.code for error in second.value] == [ErrorCode.INVALID_CONFIG]
    assert world.image.topic_config("t") == {"min.compaction.lag.ms": "10"}


def test_what_is_asked_for_while_others_are_told_has_its_turn_later():
    world = World()
    seen = []
    asked: list[Deferred[Any]] = []

    def subscriber(image, delta):
        seen.append([topic.name for topic in delta.created_topics])
        if seen == [["a"]]:
            asked.append(world.controller.create_topics([NewTopic("b")]))
            assert "b" not in image.topics

    world.controller.subscribe(subscriber)
    first = world.controller.create_topics([NewTopic("a")])
    asked_by_caller = first.chain(lambda _: world.controller.create_topics([NewTopic("c")]))
    world.settle()
    assert seen == [["a"], ["b"], ["c"]]
    assert asked[0].value.result[0].error is None
    assert asked_by_caller.value.result[0].error is None


def test_a_subscription_ends_even_while_others_are_told():
    world = World()
    told: list[str] = []
    ends = [world.controller.subscribe(lambda image, delta, name=name: told.append(name)) for name in "ab"]
    world.controller.subscribe(lambda image, delta: ends[0]())
    last = world.controller.subscribe(lambda image, delta: told.append("c"))
    world.controller.create_topics([NewTopic("t")])
    world.settle()
    assert told == ["a", "b", "c"]
    last()
    last()
    world.controller.create_topics([NewTopic("u")])
    world.settle()
    assert told == ["a", "b", "c", "b"]


def test_a_subscriber_that_fails_starves_no_other_one(caplog):
    world = World()
    told: list[str] = []

    def fails(image, delta):
        raise ZeroDivisionError

    world.controller.subscribe(fails)
    world.controller.subscribe(lambda image, delta: told.extend(image.topics))
    created = world.controller.create_topics([NewTopic("t")])
    following = world.controller.create_topics([NewTopic("u")])
    world.settle()
    assert told == ["t", "t", "u"]
    for each in (created, following):
        with pytest.raises(ZeroDivisionError):
            _ = each.value
    assert "Unhandled error in a subscriber of the metadata" in caplog.text


@pytest.mark.parametrize("operation", ["write", "sync"])
def test_a_failed_write_tells_who_asked_and_undoes_nothing_that_was_published(operation):
    world = World()
    world.controller.create_topics([NewTopic("before")])
    world.settle()
    offset = world.image.offset
    world.refuse(operation)
    refused = world.controller.create_topics([NewTopic("t")])
    world.settle()
    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        _ = refused.value
    assert (list(world.image.topics), world.image.offset) == (["before"], offset)
    world.disk.fail = None
    if operation == "sync":  # its directory is offline then, until the process is started anew
        world.open()
    after = world.controller.create_topics([NewTopic("after")])
    world.settle()
    assert after.value.result[0].error is None
    assert replayed(world.records()).topics.keys() == world.image.topics.keys()


def test_a_thread_that_cannot_be_started_is_an_error_of_that_change_alone():
    world = World()
    refused = world.controller.create_topics([NewTopic("t")])
    world.threads.fail_one(RuntimeError("can't start new thread"))
    with pytest.raises(RuntimeError):
        _ = refused.value
    after = world.controller.create_topics([NewTopic("after")])
    world.settle()
    assert after.value.result[0].error is None
    assert replayed(world.records()).topics.keys() == world.image.topics.keys()


def test_the_end_of_the_process_completes_what_was_written_and_forgets_what_was_not():
    """Else the log would fence a broker that a record before has forgotten, and could not be read again."""
    world = World()
    forgotten = world.controller.unregister_broker(2)
    never = world.controller.create_topics([NewTopic("t")])
    world.controller.stop_brokers()
    image = replayed(world.records())
    assert [broker.id for broker in image.brokers.values()] == [1]
    assert not image.active_brokers()
    assert not image.topics
    world.settle()  # a thread that comes too late changes nothing
    assert world.image.offset + 1 == world.log.end_offset
    assert (forgotten.done, never.done) == (True, False)


def test_changes_wait_while_a_snapshot_is_written():
    world = World()
    world.log._bytes_between_snapshots = 0
    created = world.controller.create_topics([NewTopic("a")])
    world.sync()
    assert created.done
    second = world.controller.create_topics([NewTopic("b")])
    end = world.log.end_offset
    world.sync()
    assert world.log.end_offset > end, "the snapshot is written, and the next has its turn"
    (snapshot,) = list_snapshots(world.disk, f"{world.path}/__cluster_metadata-0")
    assert snapshot.offset == end
    world.settle()
    assert second.value.result[0].error is None


@given(
    st.lists(
        st.sampled_from(["create", "delete", "grow", "full disk", "no thread", "sync", "fence", "start"]), max_size=40
    )
)
def test_the_log_always_makes_the_image(steps):
    """Whatever is asked for, and however long syncs take or fail: what was published is what the log says."""
    world = World()
    waits: list[Deferred[Any]] = []
    for step in steps:
        match step:
            case "create":
                waits.append(world.controller.create_topics([NewTopic(f"t{len(waits) % 3}", 1, 1)]))
            case "delete":
                waits.append(world.controller.delete_topics([topic.id for topic in world.image.topics.values()]))
            case "grow":
                waits.append(world.controller.create_partitions([NewPartitions("t0", 2 + len(waits))]))
            case "fence":
                waits.append(world.controller.fence_broker(2))
            case "start":
                waits.append(world.controller.start_broker(registration(2)))
            case "full disk":
                world.refuse("write")
                waits.append(world.controller.create_topics([NewTopic("never", 1, 1)]))
                if world.threads:
                    world.sync()
                world.disk.fail = None
            case "no thread" if world.threads:
                world.threads.fail_one(RuntimeError("can't start new thread"))
            case "sync" if world.threads:
                world.sync()
        assert len(world.threads) <= 1
    world.settle()
    assert all(wait.done for wait in waits)
    made = replayed(world.records())
    assert made.topics == world.image.topics
    assert made.brokers == world.image.brokers
    assert world.image.offset + 1 == world.log.end_offset


@pytest.fixture
def two_at_once() -> Iterator[None]:
    """Changes of two records are large."""
    with patch("pykbroker.controller.commits.MANY", 2):
        yield


class Crowded(World):
    """Its topic has many partitions, for what is large here; ``seen`` has each part of a change that is published: its partitions, whether
    broker 2 is fenced, and by how many records the image is further.
    """

    def __init__(self) -> None:
        super().__init__()
        self.controller.create_topics([NewTopic("t", 5, 2)])
        self.turn()
        self.turns_to_the_end()
        self.seen: list[tuple[list[int], bool, int]] = []
        self.controller.subscribe(self.note)
        self.before = self.image.offset

    def note(self, image, delta) -> None:
        indexes = [change.after.index for change in delta.partitions]
        self.seen.append((indexes, image.brokers[2].fenced, image.offset - self.before))

    def turn(self) -> None:
        """A thread is done, and what waits for a turn of the loop has one."""
        if self.threads:
            self.sync()
        self.runtime.wake_queue.run()

    def turns_to_the_end(self) -> None:
        while self.threads or len(self.runtime.slices):
            self.turn()


@pytest.mark.usefixtures("two_at_once")
def test_a_large_change_of_partitions_is_seen_in_parts_and_the_next_is_planned_behind_all():
    world = Crowded()
    fenced = world.controller.fence_broker(2)
    world.turn()
    following = world.controller.create_topics([NewTopic("u", 1, 1)])
    states = []
    while not fenced.done:
        states.append([partition.isr for partition in world.image.topics["t"].in_order()].count([1]))
        assert "u" not in world.image.topics
        world.turn()
    assert sorted({*states}) == [0, 2, 4, 5]
    assert world.seen == [([0, 1], False, 0), ([2, 3], False, 0), ([4], True, 6)]
    assert fenced.value is None
    world.turns_to_the_end()
    assert following.value.result[0].error is None
    assert world.image.topics["u"].partitions[0].leader == 1
    assert world.image.offset + 1 == world.log.end_offset


@pytest.mark.usefixtures("two_at_once")
def test_a_topic_is_seen_whole():
    world = Crowded()
    made = world.controller.create_topics([NewTopic("u", 5, 1)])
    grown = world.controller.create_partitions([NewPartitions("t", 9)])
    world.turns_to_the_end()
    assert made.value.result[0].error is None
    assert grown.value.result == [("t", None)]
    assert [indexes for indexes, *_ in world.seen] == [[0, 1, 2, 3, 4], [5, 6, 7, 8]]


@pytest.mark.usefixtures("two_at_once")
def test_what_a_subscriber_does_not_bear_is_seen_to_the_end(caplog):
    world = Crowded()

    def fails(image, delta):
        raise ZeroDivisionError(len(world.seen))

    world.controller.subscribe(fails)
    fenced = world.controller.fence_broker(2)
    world.turns_to_the_end()
    with pytest.raises(ZeroDivisionError, match="1"):
        _ = fenced.value
    assert [indexes for indexes, *_ in world.seen] == [[0, 1], [2, 3], [4]]
    assert world.image.brokers == replayed(world.records()).brokers
    assert caplog.text.count("Unhandled error in a subscriber of the metadata") == 3


@pytest.mark.usefixtures("two_at_once")
@pytest.mark.parametrize("turns", range(12))
def test_the_end_of_the_process_completes_what_is_seen_in_part(turns: int):
    """Each record is replayed once, however far it was."""
    world = Crowded()
    world.controller.fence_broker(2)
    for _ in range(turns):
        world.turn()
    world.controller.stop_brokers()
    made = replayed(world.records())
    assert (made.topics, made.brokers) == (world.image.topics, world.image.brokers)
    assert world.image.offset + 1 == world.log.end_offset
    assert made.brokers[2].fenced
    world.turns_to_the_end()
    assert world.image.topics == made.topics


@given(st.lists(st.sampled_from(["create", "delete", "fence", "start", "turn", "turn"]), max_size=25))
def test_the_log_makes_the_image_of_what_is_seen_in_parts(steps):
    with patch("pykbroker.controller.commits.MANY", 2):
        world = Crowded()
        waits: list[Deferred[Any]] = []
        for step in steps:
            match step:
                case "create":
                    waits.append(world.controller.create_topics([NewTopic(f"t{len(waits) % 3}", 3, 1)]))
                case "delete":
                    waits.append(world.controller.delete_topics([topic.id for topic in world.image.topics.values()]))
                case "fence":
                    waits.append(world.controller.fence_broker(2))
                case "start":
                    waits.append(world.controller.start_broker(registration(2)))
                case "turn":
                    world.turn()
        world.turns_to_the_end()
        assert all(wait.done for wait in waits)
        made = replayed(world.records())
        assert (made.topics, made.brokers) == (world.image.topics, world.image.brokers)
        assert world.image.offset + 1 == world.log.end_offset
