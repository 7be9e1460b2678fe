"""Three brokers that each have their own copies: what is committed, who is in sync, and what a failover finds."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from pykbroker.brokers.replica_manager import ReplicaManager
from pykbroker.controller.reassignments import Reassignment
from pykbroker.controller.topics import NewTopic
from pykbroker.partitions.partition import Partition
from pykbroker.replication.altering import RETRY_MS
from pykbroker.runtime.waits import Deferred
from pykbroker.storage.log import recovery
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.storage.support import contents
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
)
from pykbroker.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

LAG_MS = 10_000


class OwnCopies(MemoryCluster):
    """Topic ``t`` has one partition on all three brokers, led by broker 1; two replicas must be in sync."""

    def __init__(self, **settings: str) -> None:
        super().__init__(
            brokers=3,
            own_stores=True,
            replica_lag_time_max_ms=str(LAG_MS),
            offsets_topic_replication_factor="3",
            transaction_state_log_replication_factor="3",
            **settings,
        )
        self.create(NewTopic("t", assignments=[(0, [1, 2, 3])], configs={"min.insync.replicas": "2"}))
        self.turns()

    def turns(self, number: int = 30) -> None:
        """Let messages between brokers arrive."""
        for _ in range(number):
            self.cluster.runtime.timers.run_due()
            self.cluster.runtime.wake_queue.run()

    def pass_time(self, ms: int, step_ms: int = 500) -> None:
        for _ in range(ms // step_ms):
            self.clock.advance(step_ms)
            self.turns()

    def on(self, broker: int, topic: str = "t") -> Partition:
        found = self.cluster.brokers[broker].store.partition(topic, 0)
        assert found is not None
        return found

    def copies(self, topic: str = "t") -> list[list[tuple[int, bytes | None]]]:
        return [contents(self.on(broker, topic).log) for broker in sorted(self.cluster.brokers)]

    def kill_broker(self, broker: int) -> None:
        self.lifecycle.kill(broker)
        self.turns()

    def start_broker(self, broker: int) -> None:
        self.lifecycle.start(broker)
        self.pass_time(3000)

    @property
    def isr(self) -> list[int]:
        return sorted(self.image.topics["t"].partitions[0].isr)

    @property
    def leader(self) -> int:
        return self.image.topics["t"].partitions[0].leader

    def produce(self, value: bytes, acks: int = -1, topic: str = "t") -> Deferred[int]:
        """The error code, once it is there."""
        batch = encode_batch([Record(value=value)])
        data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, batch)])]
        request = ProduceRequest(acks=acks, timeout_ms=1000, topic_data=data)
        answer = self.post(request, 9, broker=self.leader)
        return answer.map(lambda response: response.responses[0].partition_responses[0].error_code)

    def produced(self, value: bytes, acks: int = -1) -> int:
        code = self.produce(value, acks)
        self.turns()
        return code.value


@pytest.fixture
def world() -> OwnCopies:
    return OwnCopies()


def test_records_are_committed_when_all_in_sync_have_them(world: OwnCopies) -> None:
    assert world.produced(b"a") == 0
    assert world.produced(b"b") == 0
    assert world.copies() == [[(0, b"a"), (1, b"b")]] * 3
    assert [world.on(broker).high_watermark for broker in (1, 2, 3)] == [2, 2, 2]
    assert world.read() == [b"a", b"b"]


def test_acks_1_is_answered_before_others_have_it_and_read_after(world: OwnCopies) -> None:
    assert world.cluster.peers is not None
    world.cluster.peers.cut = {(2, 1), (3, 1)}
    code = world.produce(b"a", acks=1)
    assert code.done
    assert code.value == 0
    assert world.fetch("t", 0, 0).records == b""
    world.cluster.peers.cut = set()
    world.pass_time(2000)
    assert world.read() == [b"a"]


def test_a_new_partition_is_copied_while_fetches_of_others_wait(world: OwnCopies) -> None:
    """No time passes: a fetch that waits at the leader, up to replica.fetch.wait.max.ms, names the partitions that there were."""
    assert world.produced(b"a") == 0
    for name in ("u", "v"):
        world.create(NewTopic(name, assignments=[(0, [1, 2, 3])]))
        world.turns()
        world.produce(b"new", topic=name)
        world.turns()
        assert world.copies(name) == [[(0, b"new")]] * 3
        assert world.on(1, name).high_watermark == 1
    assert world.produced(b"b") == 0


def test_a_follower_that_lags_leaves_the_isr_and_comes_back(world: OwnCopies) -> None:
    assert world.cluster.peers is not None
    assert world.produced(b"a") == 0
    world.cluster.peers.cut = {(3, 1)}
    waiting = world.produce(b"b")
    world.turns()
    assert not waiting.done
    world.pass_time(LAG_MS * 2)
    assert world.isr == [1, 2]
    assert world.produced(b"c") == 0
    world.cluster.peers.cut = set()
    world.pass_time(3000)
    assert world.isr == [1, 2, 3]
    assert world.copies() == [world.copies()[0]] * 3


def test_an_idle_minute_then_an_append_leaves_the_isr(world: OwnCopies) -> None:
    assert world.produced(b"a") == 0
    world.pass_time(60_000)
    world.produce(b"b")
    world.on(1).led.check_lag()  # type: ignore[union-attr]
    world.turns()
    assert world.isr == [1, 2, 3]
    assert world.read() == [b"a", b"b"]


def test_too_few_in_sync(world: OwnCopies) -> None:
    world.stop_broker(2)
    world.stop_broker(3)
    world.turns()
    assert world.isr == [1]
    assert world.produced(b"a") == ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.produced(b"b", acks=1) == 0
    assert world.read() == []
    world.lifecycle.start(2)
    world.pass_time(3000)
    assert world.isr == [1, 2]
    assert world.read() == [b"b"]


def test_a_leader_that_stops_hands_over_all_that_is_committed(world: OwnCopies) -> None:
    assert world.produced(b"a") == 0
    waiting = world.produce(b"b")
    world.stop_broker(1)
    world.turns()
    assert waiting.done
    assert world.leader in (2, 3)
    assert world.produced(b"c") == 0
    assert [value for value in world.read() if value in (b"a", b"c")] == [b"a", b"c"]
    world.lifecycle.start(1)
    world.pass_time(3000)
    assert world.isr == [1, 2, 3]
    assert world.copies() == [world.copies()[0]] * 3


def test_a_leader_that_is_killed_loses_nothing_that_was_acknowledged(world: OwnCopies) -> None:
    for broker in (1, 2, 3):
        assert world.produced(b"%d" % broker) == 0
        world.cluster.local_controller.elect_preferred_leaders()
        world.turns()
        world.kill_broker(world.leader)
        assert world.produced(b"%d later" % broker) == 0
        world.start_broker(next(each for each in (1, 2, 3) if each not in world.cluster.brokers))
        assert world.isr == [1, 2, 3]
    assert world.read() == [b"1", b"1 later", b"2", b"2 later", b"3", b"3 later"]
    assert world.copies() == [world.copies()[0]] * 3


def test_what_only_the_old_leader_has_is_cut_off(world: OwnCopies) -> None:
    assert world.cluster.peers is not None
    assert world.produced(b"a") == 0
    world.cluster.peers.cut = {(2, 1), (3, 1), (1, 2), (1, 3)}
    world.produce(b"lost", acks=1)
    world.turns()
    world.kill_broker(1)
    world.cluster.peers.cut = set()
    assert world.produced(b"b") == 0
    world.start_broker(1)
    assert world.isr == [1, 2, 3]
    assert world.copies() == [[(0, b"a"), (1, b"b")]] * 3


@pytest.mark.parametrize("leader", [1, 3])
def test_what_is_appended_in_another_role_is_not_cut_off(
    world: OwnCopies, monkeypatch: pytest.MonkeyPatch, leader: int
) -> None:
    """A thread is still to cut off what only broker 1 has when that leads again, or follows another leader."""
    held: list[tuple[Callable[[], None], Deferred[None]]] = []

    at_once = ReplicaManager.in_thread

    def hold(manager: ReplicaManager, work: Callable[[], None]) -> Deferred[None]:
        if held:
            return at_once(manager, work)
        held.append((work, Deferred()))
        return held[0][1]

    assert world.cluster.peers is not None
    assert world.produced(b"a") == 0
    world.cluster.peers.cut = {(2, 1), (3, 1), (1, 2), (1, 3)}
    world.produce(b"lost", acks=1)
    world.turns()
    world.cluster.controller.move_leader("t", 0, 2)
    with monkeypatch.context() as patched:
        patched.setattr(ReplicaManager, "in_thread", hold)
        world.cluster.peers.cut = set()
        world.turns()
        world.cluster.controller.move_leader("t", 0, leader)
        world.turns()
    assert world.produced(b"b") == 0
    ((work, done),) = held
    work()
    done.complete(None)
    world.pass_time(3000)
    assert world.produced(b"c") == 0
    assert world.copies() == [[(0, b"a"), (1, b"b"), (2, b"c")]] * 3


def test_a_produce_ends_at_its_time_limit(world: OwnCopies) -> None:
    assert world.cluster.peers is not None
    world.cluster.peers.cut = {(2, 1), (3, 1)}
    code = world.produce(b"a")
    world.pass_time(500)
    assert not code.done
    world.pass_time(500)
    assert code.value == ErrorCode.REQUEST_TIMED_OUT
    world.cluster.peers.cut = set()
    world.pass_time(2000)
    assert world.read() == [b"a"]  # it was appended


def test_a_wait_ends_with_its_topic(world: OwnCopies) -> None:
    """As Apache Kafka ends it (compat_tests/testing_faults/test_every_answer.py)."""
    assert world.cluster.peers is not None
    world.cluster.peers.cut = {(2, 1), (3, 1)}
    code = world.produce(b"a")
    world.cluster.controller.delete_topics([world.cluster.metadata.image.topics["t"].id])
    world.turns()
    assert code.value == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_wait_ends_with_the_leadership(world: OwnCopies) -> None:
    assert world.cluster.peers is not None
    world.cluster.peers.cut = {(2, 1), (3, 1)}
    code = world.produce(b"a")
    world.cluster.controller.move_leader("t", 0, 2)
    world.turns()
    assert code.value == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("comes_back", [False, True])
def test_too_few_in_sync_after_the_append(comes_back: bool, world: OwnCopies) -> None:
    """The ISR shrinks below min.insync.replicas while a produce waits: it stays in the log, and is committed if another replica has it in time."""
    assert world.cluster.peers is not None
    world.cluster.peers.cut = {(2, 1), (3, 1)}
    batch = encode_batch([Record(value=b"a")])
    data = [TopicProduceData("t", partition_data=[PartitionProduceData(0, batch)])]
    code = world.post(ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=data), 9, broker=1)
    world.pass_time(2 * LAG_MS)
    assert world.isr == [1]
    assert not code.done  # not committed, and it stands still
    if comes_back:
        world.cluster.peers.cut = set()
    world.pass_time(60_000)
    expected = ErrorCode.NONE if comes_back else ErrorCode.REQUEST_TIMED_OUT
    assert code.value.responses[0].partition_responses[0].error_code == expected
    assert world.read() == [b"a"] * comes_back


def test_deleted_records_are_gone_when_all_replicas_have_deleted_them(world: OwnCopies) -> None:
    assert world.cluster.peers is not None
    for number in range(4):
        world.produced(b"%d" % number)
    topic = DeleteRecordsTopic("t", [DeleteRecordsPartition(0, 3)])
    answer = world.post(DeleteRecordsRequest([topic], 10_000), 2, broker=1)
    assert not answer.done
    world.pass_time(1000)
    assert answer.value.topics[0].partitions[0].low_watermark == 3
    assert [world.on(broker).log_start_offset for broker in (1, 2, 3)] == [3, 3, 3]
    world.cluster.peers.cut = {(3, 1)}
    topic = DeleteRecordsTopic("t", [DeleteRecordsPartition(0, 4)])
    answer = world.post(DeleteRecordsRequest([topic], 1000), 2, broker=1)
    world.pass_time(1500)
    assert answer.value.topics[0].partitions[0].error_code == ErrorCode.REQUEST_TIMED_OUT


def test_a_new_replica_copies_what_there_is(world: OwnCopies) -> None:
    """A reassignment ends when the added replica is in sync, and the removed one's files go."""
    world.create(NewTopic("u", assignments=[(0, [1])]))
    world.turns()
    batch = encode_batch([Record(value=b"x")])
    data = [TopicProduceData("u", partition_data=[PartitionProduceData(0, batch)])]
    world.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=data), 9, broker=1)
    world.cluster.controller.alter_reassignments([Reassignment("u", 0, [2, 3])], same_factor=False)
    world.pass_time(5000)
    assert sorted(world.image.topics["u"].partitions[0].isr) == [2, 3]
    assert contents(world.on(2, "u").log) == contents(world.on(3, "u").log) == [(0, b"x")]
    assert world.cluster.brokers[1].store.partition("u", 0) is None


def test_a_broker_that_is_registered_anew_while_it_runs(world: OwnCopies) -> None:
    """Leaders believe no fetch of its earlier epoch."""
    broker, controller = world.cluster.brokers[2], world.cluster.controller
    assert controller.unregister_broker(2).done
    world.turns()
    assert world.isr == [1, 3]
    epoch = controller.start_broker(world.lifecycle._registration(broker)).value
    world.lifecycle.registered_again(2, epoch)
    world.pass_time(3000)
    assert world.isr == [1, 2, 3]


def test_a_restart_of_all(world: OwnCopies) -> None:
    for kill in (False, True):
        assert world.produced(b"a") == 0
        if not kill:
            for broker in (1, 2, 3):
                world.cluster.brokers[broker].store.replication.end()  # type: ignore[union-attr]
        world.restart(kill=kill)
        world.pass_time(3000)
        assert world.isr == [1, 2, 3]
    assert world.read() == [b"a", b"a"]
    assert world.copies() == [world.copies()[0]] * 3


def test_a_broker_that_crashed_is_recovered_in_a_thread_while_others_serve(
    world: OwnCopies, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.create(NewTopic("gone", assignments=[(0, [1])]))
    world.create(NewTopic("made-again", assignments=[(0, [1, 2])]))
    world.turns()
    world.produce(b"x", topic="gone")
    assert world.produced(b"a") == 0
    world.kill_broker(1)
    assert world.produced(b"b") == 0
    read: list[str] = []
    load = recovery.load
    monkeypatch.setattr(recovery, "load", lambda log, **more: (read.append(log.path), load(log, **more)))
    held = world.hold_threads(unless=lambda _, *args: bool(args))  # the metadata log's syncs have arguments
    world.lifecycle.start(1)
    world.turns()
    assert 1 not in world.cluster.brokers
    assert read == []
    assert world.produced(b"c") == 0
    world.delete_topic("gone")
    world.delete_topic("made-again")
    world.create(NewTopic("made-again", assignments=[(0, [2, 1])]))
    held.run_all()
    mine = sorted(path.removeprefix("/data/1/") for path in read if path.startswith("/data/1/"))
    assert mine == ["gone-0", "made-again-0", "made-again-0", "t-0"]  # the one that was deleted, and the new one
    assert 1 in world.cluster.brokers
    read.clear()
    for _ in range(20):
        world.pass_time(500)
        held.run_all()
    assert "/data/1/t-0" not in read  # it stays open
    assert world.isr == [1, 2, 3]
    assert world.copies() == [[(0, b"a"), (1, b"b"), (2, b"c")]] * 3
    assert world.on(1, "made-again").log.log_end_offset == 0
    assert world.cluster.brokers[1].store.recovered == 2


def test_a_replica_whose_disk_was_full_when_it_was_made_follows_when_there_is_room(world: OwnCopies) -> None:
    world.disk.fail = lambda _, what: OSError(errno.ENOSPC, "full") if "/data/3/u-0" in what else None
    world.create(NewTopic("u", assignments=[(0, [1, 2, 3])]))
    world.pass_time(2 * LAG_MS)
    assert sorted(world.image.topics["u"].partitions[0].isr) == [1, 2]
    world.disk.fail = None
    world.pass_time(LAG_MS)
    assert sorted(world.image.topics["u"].partitions[0].isr) == [1, 2, 3]
    world.produce(b"a", topic="u")
    world.turns()
    assert world.copies("u") == [[(0, b"a")]] * 3


@pytest.mark.parametrize("code", [None, 999])
def test_a_controller_that_settles_nothing_is_asked_with_pauses(
    world: OwnCopies, monkeypatch: pytest.MonkeyPatch, code: int | None
) -> None:
    """Its answers leave the partition out, or have a code that nobody knows."""
    manager = world.cluster.brokers[1].store.replication
    assert manager is not None
    asked = []

    def unsettled(request: AlterPartitionRequest) -> Deferred[AlterPartitionResponse]:
        asked.append(request)
        refused = [
            AlterPartitionResponseTopicData(
                topic.topic_id,
                [AlterPartitionResponsePartitionData(each.partition_index, code) for each in topic.partitions],
            )
            for topic in request.topics
            if code is not None
        ]
        return Deferred.completed(AlterPartitionResponse(topics=refused))

    with monkeypatch.context() as patch:
        patch.setattr(manager, "_alter_partition", unsettled)
        assert world.cluster.peers is not None
        world.cluster.peers.cut = {(3, 1)}
        world.produce(b"a")
        world.pass_time(LAG_MS * 2)
        before = len(asked)
        assert before
        world.pass_time(1000, step_ms=10)
        assert before + 5 < len(asked) <= before + 1000 // RETRY_MS
    world.pass_time(1000)
    assert world.isr == [1, 2]
