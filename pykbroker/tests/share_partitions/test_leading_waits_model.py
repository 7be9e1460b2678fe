"""Members that wait in ShareFetch for as long as it takes: none of them waits while there is something for it, whatever has happened.

Records and aborted transactions, acknowledgements, locks that end, connections that are lost, kills, moves of the leader and of the share
coordinator, deleted records: after each of these who waits at the leader is woken, and who waits where the leader was is told.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pykbroker.metadata.names import SHARE_GROUP_STATE
from pykbroker.runtime.waits import Deferred
from pykbroker.share_partitions.states import Acknowledge
from pykbroker.tests.kit.depth import examples
from pykbroker.tests.kit.share_groups import ShareCluster, ShareMember
from pykbroker.tests.kit.transactions import Producer
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)

LOCK_S, LIMIT = 30, 3
NAMES = st.sampled_from(("a", "b", "c"))
FOR_EVER_MS = 100_000_000
SETTINGS = {
    "offsets_topic_replication_factor": "2",
    "share_coordinator_state_topic_replication_factor": "2",
    "share_coordinator_state_topic_num_partitions": "2",
    "share_coordinator_snapshot_update_records_per_snapshot": "3",
    "transaction_state_log_replication_factor": "2",
    "transaction_state_log_min_isr": "1",
    "transaction_max_timeout_ms": "900000000",
}


class Waiter:
    """A member, what it waits for, and what it has."""

    def __init__(self, world: ShareCluster, name: str) -> None:
        self.member = ShareMember(world, name)
        self.broker = 0
        self.waiting: Deferred[Any] | None = None
        #: Offset to the delivery count; ``until`` is the end of their locks.
        self.has: dict[int, int] = {}
        self.until = 0.0


class WaitingModel(RuleBasedStateMachine):
    @initialize(committed=st.booleans())
    def begin(self, committed: bool) -> None:
        self.world = ShareCluster(2, replicas=2, **SETTINGS)
        self.world.asked_broker = self.leader  # type: ignore[method-assign]
        self.world.configure("share.delivery.count.limit", str(LIMIT))
        self.world.configure("share.isolation.level", "read_committed" if committed else "read_uncommitted")
        self.committed = committed
        self.world.joined()
        self.members = {name: Waiter(self.world, name) for name in ("a", "b", "c")}
        self.open: list[int] = []
        #: Offsets that nobody gets any more.
        self.over: set[int] = set()
        self.begin_to_produce()

    def leader(self) -> int:
        return self.world.partition("t").leader

    @property
    def now(self) -> float:
        return self.world.clock.monotonic()

    # The log

    @rule(count=st.integers(1, 5))
    def produce(self, count: int) -> None:
        self.world.produce(count)

    @rule(count=st.integers(1, 3))
    def send_in_a_transaction(self, count: int) -> None:
        for _ in range(count):
            if (
                self.producer.send(b"one") is not ErrorCode.NONE
            ):  # its records are deleted, and after a restart it is forgotten
                self.begin_to_produce()
                assert self.producer.send(b"one") is ErrorCode.NONE
            self.open.append(self.world.partition("t").log.log_end_offset - 1)

    def begin_to_produce(self) -> None:
        """Its open transaction is aborted."""
        self.producer = Producer(self.world, "tx", timeout_ms=900_000_000).started()
        self.world.settle()
        if self.committed:
            self.over.update(self.open)
        self.open = []

    @precondition(lambda self: self.open)
    @rule(commit=st.booleans())
    def end_the_transaction(self, commit: bool) -> None:
        assert self.producer.end(commit=commit) is ErrorCode.NONE
        self.world.settle()
        if self.committed and not commit:
            self.over.update(self.open)
        self.open = []

    @rule(by=st.integers(1, 6))
    def delete_records(self, by: int) -> None:
        partition = self.world.partition("t")
        before = min(partition.log_start_offset + by, partition.high_watermark)
        asked = DeleteRecordsTopic("t", [DeleteRecordsPartition(0, before)])
        answer = self.world.ask(DeleteRecordsRequest([asked], 1000), 2, broker=self.leader())
        assert answer.topics[0].partitions[0].error_code == 0
        self.over.update(
            range(before)
        )  # after a kill the log may have them again: the share partition has passed them, or not

    # Members

    @rule(most=st.integers(1, 6), strict=st.booleans(), names=st.sets(NAMES, min_size=1))
    def wait_for_records(self, most: int, strict: bool, names: set[str]) -> None:
        """Several, so that some wait for what others have."""
        for name in sorted(names):
            each = self.members[name]
            if each.waiting is None and not each.has:
                each.broker = self.leader()
                each.waiting = each.member.post_fetch(
                    max_wait_ms=FOR_EVER_MS, max_records=most, share_acquire_mode=int(strict)
                )
                self.world.settle()
                self.take_answers()

    @rule(name=NAMES, kind=st.sampled_from((Acknowledge.ACCEPT, Acknowledge.RELEASE, Acknowledge.REJECT)))
    def acknowledge(self, name: str, kind: Acknowledge) -> None:
        each = self.members[name]
        for offset, count in sorted(each.has.items()):
            if offset < self.world.partition("t").log_start_offset:
                continue
            assert each.member.acknowledge(offset, offset, kind) == ErrorCode.NONE
            if kind is not Acknowledge.RELEASE or count >= LIMIT:
                self.over.add(offset)
        each.has.clear()

    @rule(name=NAMES)
    def connection_is_lost(self, name: str) -> None:
        each = self.members[name]
        each.member.peer.lose()
        self.give_up_all(each)
        self.members[name] = Waiter(self.world, name)

    def give_up_all(self, each: Waiter) -> None:
        """What it has is released, by its end or that of the locks."""
        self.over.update(offset for offset, count in each.has.items() if count >= LIMIT)
        each.has.clear()

    # Time, kills and moves

    @rule(seconds=st.sampled_from((1, LOCK_S // 2, LOCK_S + 1)))
    def time_passes(self, seconds: int) -> None:
        self.world.advance(seconds * 1000)
        self.world.run_turn()
        self.world.settle()
        for each in self.members.values():
            if each.has and each.until <= self.now:
                self.give_up_all(each)

    @rule(
        what=st.sampled_from(
            ("stop", "kill", "move the leader", "move the share coordinator", "move the share coordinator")
        )
    )
    def trouble(self, what: str) -> None:
        """One rule: most of it ends all that is waited for."""
        if what == "move the leader":
            self.move_the_leader()
        elif what == "move the share coordinator":
            for index in range(len(self.world.cluster.metadata.image.topics[SHARE_GROUP_STATE].partitions)):
                self.move(SHARE_GROUP_STATE, index)
        else:
            self.world.restart(kill=what == "kill")
            self.members = {name: Waiter(self.world, name) for name in self.members}

    def move_the_leader(self) -> None:
        self.move("t")
        self.world.settle()
        for name, each in self.members.items():
            assert each.waiting is None or each.waiting.done, f"{name} waits where nobody leads"
            self.members[name] = Waiter(self.world, name)

    def move(self, topic: str, index: int = 0) -> None:
        (other,) = {1, 2} - {self.world.partition(topic, index).leader}
        done = self.world.controller.move_leader(topic, index, other)
        self.world.settle()
        assert done.done
        assert done.error is None

    # What always holds

    def take_answers(self) -> None:
        for name, each in self.members.items():
            if each.waiting is None or not each.waiting.done:
                continue
            answer, each.waiting = each.waiting.value, None
            assert answer.error_code == 0, answer
            each.until = self.now + LOCK_S
            for data in (data for topic in answer.responses for data in topic.partitions):
                assert data.error_code == 0, data
                for got in data.acquired_records:
                    offsets = range(got.first_offset, got.last_offset + 1)
                    each.has.update(dict.fromkeys(offsets, got.delivery_count))
            for other in self.members.values():
                assert other is each or not other.has.keys() & each.has.keys(), (name, each.has, other.has)

    @invariant()
    def nobody_waits_while_there_is_something(self) -> None:
        if not hasattr(self, "members"):
            return
        self.world.settle()
        self.take_answers()
        partition = self.world.partition("t")
        upper = partition.log.last_stable_offset if self.committed else partition.high_watermark
        held = {offset for each in self.members.values() for offset in each.has}
        there = set(range(partition.log_start_offset, upper)) - self.over - held
        waiting = [name for name, each in self.members.items() if each.waiting is not None]
        assert not (there and waiting), f"{waiting} wait, and {sorted(there)} are there"


WaitingModel.TestCase.settings = settings(
    max_examples=examples(20), stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestWaitingModel = WaitingModel.TestCase
