"""A share group on real brokers in memory, against a plain list of records: any order of members' requests, time, kills, moves of the
leader and of the share coordinator, snapshots, records that are deleted, compacted or too old, and a full disk. PYKBROKER_SHARE_GROUP_EXAMPLES says how many orders.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pykbroker.controller.feature_updates import FeatureUpdate, UpgradeType
from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.image import TOPIC_RESOURCE
from pykbroker.metadata.names import SHARE_GROUP_STATE
from pykbroker.share_partitions.states import Acknowledge
from pykbroker.storage.compaction.cleaning import clean
from pykbroker.tests.kit.depth import examples
from pykbroker.tests.kit.metadata import alteration
from pykbroker.tests.kit.share_groups import SHARE_GROUP, ShareCluster, ShareMember, lose_writes
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.message import Message
from pykbroker.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from pykbroker.wire.messages.delete_groups import DeleteGroupsRequest
from pykbroker.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from pykbroker.wire.records import decode_records

EXAMPLES = int(os.environ.get("PYKBROKER_SHARE_GROUP_EXAMPLES", "0"))
LOCK_S, LIMIT, LETTERS = 30, 3, "dlq.t"
MEMBERS = ("a", "b", "c")
OPEN, DONE, GIVEN_UP = "open", "done", "given up"
ANYTHING = frozenset({OPEN, DONE, GIVEN_UP})
KINDS = st.sampled_from([*Acknowledge])
KEYS = [b"a", b"b", b"c", b"d", b"e"]

SETTINGS = {
    "offsets_topic_replication_factor": "2",
    "share_coordinator_state_topic_replication_factor": "2",
    "share_coordinator_state_topic_num_partitions": "2",
    "share_coordinator_snapshot_update_records_per_snapshot": "3",
    "share_coordinator_state_topic_prune_interval_ms": "20000",
    "share_coordinator_cold_partition_snapshot_interval_ms": "25000",
}


@dataclass
class Kept:
    """One record. Of an acknowledgement without an answer nobody knows what became: ``may_be`` has all that it may be."""

    may_be: frozenset[str] = frozenset({OPEN})
    count: int = 0
    #: The least count of the next delivery: what was released is persisted, what was only acquired is not.
    least: int = 1
    holder: str = ""
    until: float = 0.0
    #: Its letter may be missing: the disk was full.
    may_lack_letter: bool = False
    #: It is not in the log any more: it is delivered as a part of its batch, or never again.
    compacted: bool = False

    def become(self, *states: str) -> None:
        self.may_be, self.holder = ANYTHING if self.compacted else frozenset(states), ""


class ShareGroupModel(RuleBasedStateMachine):
    @initialize(copies=st.booleans(), committed=st.booleans())
    def begin(self, copies: bool, committed: bool) -> None:
        self.world = ShareCluster(2, replicas=2, **SETTINGS)
        self.world.asked_broker = self.leader  # type: ignore[method-assign]
        self.world.create(NewTopic(LETTERS, 1, 2, configs={"errors.deadletterqueue.group.enable": "true"}))
        self.world.configure("errors.deadletterqueue.topic.name", LETTERS)
        self.world.configure("errors.deadletterqueue.copy.record.enable", str(copies).lower())
        self.world.configure("share.delivery.count.limit", str(LIMIT))
        self.world.configure("share.isolation.level", "read_committed" if committed else "read_uncommitted")
        self.world.joined()
        self.records: list[Kept] = []
        #: Letters of what had the names before are older.
        self.log_start = self.letters_before = 0
        self.sessions_end()

    def leader(self) -> int:
        return self.world.partition("t").leader

    # The log

    @rule(count=st.integers(1, 8))
    def produce(self, count: int) -> None:
        self.world.produce(count)
        self.records += [Kept() for _ in range(count)]

    @precondition(lambda self: len(self.records) > self.log_start)
    @rule(by=st.integers(1, 6))
    def delete_records(self, by: int) -> None:
        self.log_start = min(self.log_start + by, len(self.records))
        partition = DeleteRecordsPartition(partition_index=0, offset=self.log_start)
        request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=[partition])], timeout_ms=1000)
        answer = self.world.ask(request, 2, broker=self.leader())
        assert answer.topics[0].partitions[0].error_code == 0
        for record in self.records[: self.log_start]:
            record.become(OPEN, DONE, GIVEN_UP)
            record.may_lack_letter = True
        self.settle()

    # Members

    @rule(name=st.sampled_from(MEMBERS), most=st.integers(1, 12), strict=st.booleans(), new=st.integers(0, 6))
    def fetch(self, name: str, most: int, strict: bool, new: int) -> None:
        if new:
            self.produce(new)
        self.acquire(name, max_records=most, share_acquire_mode=int(strict))

    def acquire(self, name: str, **fields: Any) -> int:
        got = self.members[name].acquired(**fields)
        self.note_time()
        now = self.now
        for first, last, count in got:
            for offset in range(first, last + 1):
                record = self.records[offset]
                assert offset >= self.log_start
                assert not record.holder, f"{offset} has two members: {record}, {name}"
                assert OPEN in record.may_be, (offset, record)
                assert record.least <= count <= LIMIT, (offset, record, count)
                record.become(OPEN)
                record.holder, record.count, record.until = name, count, now + LOCK_S
        return len(got)

    @rule(name=st.sampled_from(MEMBERS), data=st.data())
    def acknowledge(self, name: str, data: st.DataObject) -> None:
        said = self.some_of(name, data)
        if said:
            assert self.members[name].acknowledge(said[0][0], said[-1][0], *self.types(said)) == ErrorCode.NONE
            self.note_time()
            for offset, kind in said:
                self.became(self.records[offset], kind)
            self.settle()

    @rule(name=st.sampled_from(MEMBERS), data=st.data(), turns=st.integers(0, 6), writes=st.integers(0, 3))
    def acknowledge_and_kill(self, name: str, data: st.DataObject, turns: int, writes: int) -> None:
        """Nobody knows what became of it: some of what it writes at the share coordinator arrives, and some may not."""
        said = self.some_of(name, data)
        if said:
            lose_writes(self.world, writes)
            self.members[name].post_acknowledge(said[0][0], said[-1][0], *self.types(said))
            for _ in range(turns):
                self.world.run_turn()
            for offset, kind in said:
                record = self.records[offset]
                least = record.least
                self.became(record, kind)
                record.may_be, record.least = record.may_be | {OPEN}, least
            if data.draw(st.booleans()):
                self.restart(kill=True)
            else:
                self.move_the_leader()

    @rule(name=st.sampled_from(MEMBERS), data=st.data())
    def acknowledge_with_a_full_disk(self, name: str, data: st.DataObject) -> None:
        said = self.some_of(name, data)
        if not said:
            return
        with self.world.full_disk():
            waiting = self.members[name].post_acknowledge(said[0][0], said[-1][0], *self.types(said))
            for _ in range(60):
                self.settle()
                if waiting.done:
                    break
                self.world.advance(500)  # the share coordinator is asked again, up to a minute
            answer = waiting.value
            code = answer.error_code or answer.responses[0].partitions[0].error_code
        for offset, kind in said:
            record = self.records[offset]
            self.became(record, kind)
            record.may_be |= {OPEN} if code else set()
        for record in self.records:
            record.least = 1
            if record.holder and record.count == LIMIT:  # its lock may be over meanwhile
                record.may_be |= {GIVEN_UP}
        self.restart(kill=True)

    @rule(name=st.sampled_from(MEMBERS), lost=st.booleans())
    def leave(self, name: str, lost: bool) -> None:
        member = self.members[name]
        if not member.epoch:
            return
        if lost:
            assert member.peer.when_lost is not None
            member.peer.lose()
        else:
            member.close()
            self.note_time()
        self.members[name] = ShareMember(self.world, name)
        for record in self.records:
            if record.holder == name:
                self.became(record, Acknowledge.RELEASE)
        self.settle()

    def some_of(self, name: str, data: st.DataObject) -> list[tuple[int, Acknowledge]]:
        """Neighbours that the member holds, each with what it says of it; it acquires some first if it holds none."""
        if not any(each.holder == name for each in self.records):
            self.produce(data.draw(st.integers(1, 6)))
            self.acquire(name)
        held = [offset for offset, each in enumerate(self.records) if each.holder == name and offset >= self.log_start]
        if not held:
            return []
        first = data.draw(st.sampled_from(held))
        last = first
        most = data.draw(st.integers(0, 8))
        while last - first < most and last + 1 in held:
            last += 1
        alike = data.draw(st.none() | KINDS)
        return [(offset, data.draw(KINDS) if alike is None else alike) for offset in range(first, last + 1)]

    def types(self, said: list[tuple[int, Acknowledge]]) -> list[Acknowledge]:
        kinds = [kind for _, kind in said]
        return kinds[:1] if len(set(kinds)) == 1 else kinds

    def became(self, record: Kept, kind: Acknowledge) -> None:
        if kind is Acknowledge.RENEW:
            record.until = self.now + LOCK_S
        elif kind is Acknowledge.RELEASE:
            record.least = record.count + 1
            record.become(OPEN if record.count < LIMIT else GIVEN_UP)
        else:
            record.become(GIVEN_UP if kind is Acknowledge.REJECT else DONE)

    # Time, kills and moves

    @property
    def now(self) -> float:
        return self.world.clock.monotonic()

    @rule(seconds=st.sampled_from((1, LOCK_S // 2, LOCK_S + 1)))
    def wait(self, seconds: int) -> None:
        self.world.advance(seconds * 1000)
        self.note_time()

    def note_time(self) -> None:
        """Locks that are over."""
        self.world.run_turn()
        self.settle()
        for record in self.records:
            if record.holder and record.until <= self.now:
                self.became(record, Acknowledge.RELEASE)
        self.settle()

    @rule(kill=st.booleans())
    def restart(self, kill: bool) -> None:
        self.world.restart(kill=kill)
        self.log_start = self.world.partition("t").log_start_offset  # after a kill, that of the last checkpoint
        self.sessions_end()

    @rule()
    def move_the_leader(self) -> None:
        self.move("t", 0)
        self.sessions_end()

    @rule(index=st.integers(0, 1))
    def move_the_share_coordinator(self, index: int) -> None:
        self.move(SHARE_GROUP_STATE, index)

    @rule()
    def move_the_letters(self) -> None:
        self.move(LETTERS, 0)

    def move(self, topic: str, index: int) -> None:
        (other,) = {1, 2} - {self.world.partition(topic, index).leader}
        done = self.world.controller.move_leader(topic, index, other)
        self.settle()
        assert done.done
        assert done.error is None

    def sessions_end(self) -> None:
        """Nobody holds anything."""
        self.members = {name: ShareMember(self.world, name) for name in MEMBERS}
        for record in self.records:
            record.holder = ""

    def settle(self) -> None:
        self.world.settle()

    # What always holds

    def letters(self) -> Counter[int]:
        log = self.world.partition(LETTERS).log
        found = [each for header, batch in log.batches() for each in decode_records(batch, header=header)]
        of_now = [each for each in found if each.offset >= self.letters_before]
        return Counter(int(dict(each.headers)["__dlq.errors.offset"] or b"") for each in of_now)

    def start_offset(self) -> int:
        states = [
            state
            for broker in self.world.cluster.brokers.values()
            for loaded in broker.shares.shards.loaded.values()
            for key, state in loaded.shard.states.items()
            if key.topic_id == self.world.topic_id
        ]
        return max((state.start_offset for state in states), default=0)

    @invariant()
    def nothing_is_passed_that_is_not_done_with(self) -> None:
        if not hasattr(self, "members"):
            return
        for offset in range(self.log_start, self.start_offset()):
            assert self.records[offset].may_be & {DONE, GIVEN_UP}, (offset, self.records[offset])
            assert not self.records[offset].holder

    @invariant()
    def no_record_has_two_letters(self) -> None:
        if not hasattr(self, "members"):
            return
        found = self.letters()
        assert all(count == 1 for count in found.values()), found
        assert all(GIVEN_UP in self.records[offset].may_be for offset in found), found

    def teardown(self) -> None:
        """In the end every record was delivered until it was accepted, or given up with a letter."""
        if not hasattr(self, "members"):
            return
        self.world.advance((LOCK_S + 1) * 1000)
        self.note_time()
        while self.acquire("a"):
            for offset, record in enumerate(self.records):
                if record.holder == "a":
                    assert self.members["a"].acknowledge(offset, offset, Acknowledge.ACCEPT) == ErrorCode.NONE
                    record.become(DONE)
        self.settle()
        found = self.letters()
        for offset, record in enumerate(self.records):
            if offset < self.log_start:
                continue  # a letter may be left of it, or not
            assert record.may_be != {OPEN}, f"{offset} is lost"
            if record.may_be == {DONE}:
                assert not found[offset], (offset, record)
            elif DONE not in record.may_be and not record.may_lack_letter:  # it is not delivered, so it was given up
                assert found[offset] == 1, (offset, record)


class OvertakenModel(ShareGroupModel):
    """Retention and compaction take records out of the log while the group has them."""

    @rule(count=st.integers(1, 8))
    def produce(self, count: int) -> None:
        if len(self.records) % 3 == 0:
            self.world.partition("t").log.roll(self.world.clock.now_ms())
        self.world.produce(count, keys=KEYS[len(self.records) % len(KEYS) :])
        self.records += [Kept() for _ in range(count)]

    @rule(keeps=st.sampled_from((0, 150, 400)))
    def drop_old_records(self, keeps: int) -> None:
        """Retention says nothing of it to the share partition."""
        self.alter_topic("retention.bytes", str(keeps))
        self.world.cluster.logs.retain([self.world.partition("t").log], self.world.clock.now_ms())
        self.alter_topic("retention.bytes", "-1")
        self.log_start = self.world.partition("t").log_start_offset
        for record in self.records[: self.log_start]:
            record.become(*ANYTHING)
            record.may_lack_letter = True
        self.settle()

    @rule()
    def compact(self) -> None:
        """Of each key the last record is left, which is a new one, whatever has become of the others."""
        self.alter_topic("cleanup.policy", "compact,delete")
        self.alter_topic("min.cleanable.dirty.ratio", "0")
        self.world.produce(len(KEYS), keys=KEYS)
        self.records += [Kept() for _ in KEYS]
        log, compactions = self.world.partition("t").log, self.world.cluster.logs.compactions
        log.roll(self.world.clock.now_ms())
        log.flush()  # what is not synced is not compacted
        while (plan := compactions.plan(self.world.clock.now_ms())) is not None:
            compactions.finish(plan, clean(plan.job, self.world.disk))
        left = {each.offset for header, batch in log.batches() for each in decode_records(batch, header=header)}
        for offset in range(self.log_start, len(self.records)):
            record = self.records[offset]
            if offset not in left:
                record.compacted = record.may_lack_letter = True
                record.may_be = ANYTHING

    def alter_topic(self, name: str, value: str) -> None:
        change = alteration(TOPIC_RESOURCE, "t", **{name: value})
        self.world.finished(self.world.controller.alter_configs([change], broker_id=1))


class UsedAgainModel(ShareGroupModel):
    """Names are used again while members have records: the topic is made anew, the group is deleted, begins elsewhere, loses its letters
    for a while, and the level of share groups falls.
    """

    #: Whether the group has no dead-letter topic.
    off = False

    @rule()
    def make_the_topic_again(self) -> None:
        """What members have of the former one is nobody's; their sessions go on."""
        self.settle()
        self.world.delete_topic("t")
        self.settle()
        self.world.topic_id = self.world.create(NewTopic("t", 1, 2))
        self.log_start = 0
        self.begin_again([])

    @rule()
    def make_the_group_again(self) -> None:
        self.leave_all()
        answer = self.ask_coordinator(DeleteGroupsRequest([SHARE_GROUP]), 2)
        assert [each.error_code for each in answer.results] == [ErrorCode.NONE]
        # After a kill there may be deleted records again, which the group does not begin with.
        gone = [Kept(ANYTHING, may_lack_letter=True) for _ in range(self.log_start)]
        self.begin_again(gone + [Kept() for _ in self.records[self.log_start :]])

    @precondition(lambda self: self.records)
    @rule(data=st.data())
    def begin_elsewhere(self, data: st.DataObject) -> None:
        self.leave_all()
        at = data.draw(st.integers(self.log_start, len(self.records)))
        wanted = [AlterShareGroupOffsetsRequestTopic("t", [AlterShareGroupOffsetsRequestPartition(0, at)])]
        answer = self.ask_coordinator(AlterShareGroupOffsetsRequest(SHARE_GROUP, wanted), 0)
        assert answer.responses[0].partitions[0].error_code == ErrorCode.NONE
        self.begin_again([Kept(frozenset({DONE if offset < at else OPEN})) for offset in range(len(self.records))])

    @rule(off=st.booleans())
    def switch_letters(self, off: bool) -> None:
        self.settle()
        self.world.configure("errors.deadletterqueue.topic.name", "" if off else LETTERS)
        self.off = off

    def became(self, record: Kept, kind: Acknowledge) -> None:
        super().became(record, kind)
        record.may_lack_letter |= self.off

    @rule(up_at_once=st.booleans())
    def fall_to_level_0(self, up_at_once: bool) -> None:
        """What is acquired is forgotten, as if it had not been."""
        for level in (0, 2):
            kind = UpgradeType.UPGRADE if level else UpgradeType.UNSAFE_DOWNGRADE
            update = FeatureUpdate("share.version", level, kind)
            self.world.finished(self.world.controller.update_features([update], static_min_isr=1, validate_only=False))
            if not up_at_once:
                self.settle()
        self.settle()
        self.connections_are_lost()

    @rule()
    def move_the_leader(self) -> None:
        self.move("t", 0)
        self.connections_are_lost()

    def connections_are_lost(self) -> None:
        """A session that is left holds what the group had before, as in Apache Kafka (a_session_that_outlives_its_group of the oracle)."""
        for member in self.members.values():
            if member.peer.when_lost is not None:
                member.peer.lose()
        self.settle()
        self.sessions_end()

    def leave_all(self) -> None:
        for name in MEMBERS:
            self.leave(name, lost=False)
        self.world.heartbeat("m", -1)
        self.settle()

    def begin_again(self, records: list[Kept]) -> None:
        self.world.joined()
        self.settle()
        self.records = records
        self.letters_before = self.world.partition(LETTERS).log_end_offset
        self.connections_are_lost()

    def ask_coordinator(self, request: Message, version: int) -> Any:
        waiting = self.world.post(request, version, broker=self.world.coordinator(SHARE_GROUP))
        for _ in range(60):
            self.settle()
            if waiting.done:
                return waiting.value
            self.world.advance(20)
        raise AssertionError("no answer")


ShareGroupModel.TestCase.settings = settings(
    max_examples=EXAMPLES or examples(20),
    stateful_step_count=30,
    deadline=None,
    derandomize=not EXAMPLES and settings.default.derandomize,
    suppress_health_check=list(HealthCheck),
)
TestShareGroupModel = ShareGroupModel.TestCase
OvertakenModel.TestCase.settings = settings(ShareGroupModel.TestCase.settings, max_examples=EXAMPLES or examples(8))
TestOvertakenModel = OvertakenModel.TestCase
UsedAgainModel.TestCase.settings = settings(ShareGroupModel.TestCase.settings, max_examples=EXAMPLES or examples(8))
TestUsedAgainModel = UsedAgainModel.TestCase
