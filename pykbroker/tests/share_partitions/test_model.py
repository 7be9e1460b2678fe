"""A share partition against a plain list of records with states: any order of deliveries, acknowledgements, time and restarts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pykbroker.coordination.share.state import StateBatch
from pykbroker.share_partitions.acquiring import AcquireRequest
from pykbroker.share_partitions.share_partition import SharePartition
from pykbroker.share_partitions.states import Acknowledge, Acknowledged, Acquired, GivenUp, Limits, RecordState
from pykbroker.tests.kit.depth import examples
from pykbroker.wire.errors import ErrorCode, KafkaError

LOCK_S = 30
MEMBERS = ("a", "b", "c")
FINAL = ("accepted", "archived")


@dataclass
class Record:
    """What a plain reader of the rules would keep for one record."""

    state: str = "available"
    count: int = 0
    holder: str = ""
    until: float = 0.0
    #: What was persisted last: state and count.
    kept: tuple[str, int] = ("available", 0)
    letters: int = 0
    in_log: bool = True


@dataclass
class Log:
    """Batches of the log by first and last offset; compaction removes some."""

    batches: list[tuple[int, int]] = field(default_factory=list)
    end: int = 0
    aborted: set[tuple[int, int]] = field(default_factory=set)

    def read(self, offset: int, most: int) -> list[tuple[int, int]]:
        return [batch for batch in self.batches if batch[1] >= offset][:most]


class ShareModel(RuleBasedStateMachine):
    @initialize(limit=st.integers(1, 6), in_flight=st.integers(5, 60), dead_letters=st.booleans())
    def begin(self, limit: int, in_flight: int, dead_letters: bool) -> None:
        self.limits = Limits(LOCK_S * 1000, limit, in_flight, dead_letters)
        self.log = Log()
        self.records: list[Record] = []
        self.now = 100.0
        self.log_start = 0
        self.pending: list[tuple[object, list[tuple[int, str, int]]]] = []
        self.share = SharePartition(lambda: self.limits, 0)
        self.persisted_start = 0

    # The log

    @rule(sizes=st.lists(st.integers(1, 8), min_size=1, max_size=4), aborts=st.booleans())
    def append(self, sizes: list[int], aborts: bool) -> None:
        if aborts:
            self.log.aborted.add((self.log.end, self.log.end + sizes[0] - 1))
        for size in sizes:
            self.log.batches.append((self.log.end, self.log.end + size - 1))
            self.log.end += size
            self.records += [Record() for _ in range(size)]

    @precondition(lambda self: len(self.log.batches) > 1)
    @rule(which=st.integers(0, 30))
    def compact(self, which: int) -> None:
        """A batch that is not the last one is cleaned away as a whole."""
        first, last = self.log.batches.pop(which % (len(self.log.batches) - 1))
        for offset in range(first, last + 1):
            self.records[offset].in_log = False

    @precondition(lambda self: self.log.end)
    @rule(by=st.integers(-10, 10))
    def move_log_start(self, by: int) -> None:
        if by <= 0:
            return  # more seldom than other things
        self.log_start = min(max(self.log_start, self.share.start_offset) + by, self.log.end)
        self.log.batches = [batch for batch in self.log.batches if batch[1] >= self.log_start]
        self.share.log_start_moved(self.log_start)
        for record in self.records[: self.log_start]:
            record.state, record.holder = "archived", ""

    # Members

    @rule(
        member=st.sampled_from(MEMBERS),
        most=st.integers(1, 20),
        size=st.integers(1, 10),
        strict=st.booleans(),
        batches=st.integers(1, 4),
        sent=st.integers(0, 4),
    )
    def acquire(self, member: str, most: int, size: int, strict: bool, batches: int, sent: int) -> None:
        """Of what is acquired a member that is above its quota is sent nothing."""
        self.release_due()
        offset = self.share.next_fetch_offset
        if self.share.can_acquire and not self.log.read(offset, batches):
            self.append([most, size], aborts=False)
        read = self.log.read(offset, batches) if self.share.can_acquire else []
        if not read:
            return
        aborted = [batch for batch in read if batch in self.log.aborted]
        request = AcquireRequest(member, offset, read, most, size, strict=strict, aborted=aborted)
        before = self.share.in_flight_count
        available = {n for n in range(self.share.start_offset, self.share.end_offset) if self.is_available(n)}
        found = self.share.acquire(request, self.now)
        got = [(offset, each.deliveries) for each in found for offset in range(each.first, each.last + 1)]
        assert [offset for offset, _ in got] == sorted({offset for offset, _ in got}), "each once, in order"
        if strict:
            assert len(got) <= most
        for number, count in got:
            record = self.records[number]
            assert record.state == "available", (number, record)
            assert not any(first <= number <= last for first, last in aborted)
            record.state, record.holder, record.until = "acquired", member, self.now + LOCK_S
            record.count += 1
            assert record.count == count
            assert count <= self.limits.max_deliveries
        for first, last in aborted:
            for number in range(max(first, self.log_start), last + 1):
                if self.state_of(number) is RecordState.ARCHIVED and self.records[number].state == "available":
                    self.records[number].state = "archived"
                    self.records[number].count += 1  # acquired, and found to be aborted
        for number in range(offset, read[0][0]):
            if self.records[number].state == "available" and number in available:
                self.records[number].state = "archived"
        if not available and self.limits.max_in_flight > before:
            assert got or aborted, "there was room, and something to read"
        if not sent:
            self.take_back(member, found)

    def take_back(self, member: str, found: list[Acquired]) -> None:
        self.share.take_back(member, found)
        for each in found:
            for record in self.records[each.first : each.last + 1]:
                record.state, record.holder = "available", ""
                record.count -= 1
        if found:
            assert self.share.next_fetch_offset <= found[0].first

    @rule(member=st.sampled_from(MEMBERS), data=st.data(), later=st.booleans())
    def acknowledge(self, member: str, data: st.DataObject, later: bool) -> None:
        self.release_due()
        held_now = [n for n in range(self.share.start_offset, self.share.end_offset) if self.records[n].holder]
        if held_now and data.draw(st.integers(0, 3)):  # what somebody may say, more often than by chance
            last = first = data.draw(st.sampled_from(held_now))
            member = self.records[first].holder
            most = data.draw(st.integers(0, 12))
            while last - first < most and last + 1 in held_now and self.is_held(last + 1, member):
                last += 1
        else:
            first = data.draw(st.integers(max(self.share.start_offset - 3, 0), max(self.share.end_offset, 1)))
            last = first + data.draw(st.integers(0, 12))
        one = data.draw(st.booleans())
        types = data.draw(
            st.lists(
                st.integers(0, 4), min_size=1 if one else last - first + 1, max_size=1 if one else last - first + 1
            )
        )
        concerned = [
            (number, types[0] if len(types) == 1 else types[number - first])
            for number in range(max(first, self.share.start_offset), last + 1)
            if number >= self.share.end_offset or self.exists(number)
        ]
        held = all(number < self.share.end_offset and self.is_held(number, member) for number, _ in concerned)
        try:
            change = self.share.acknowledge(member, [Acknowledged(first, last, types)], self.now)
        except KafkaError as error:
            refused = error
        else:
            refused = None
        if refused is not None:
            assert refused.code in (ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_RECORD_STATE)
            assert not held or not concerned or last >= self.share.end_offset
            self.renew(first, concerned, member)
            return
        assert held or last < self.share.start_offset, "only the holder acknowledges"
        outcome = []
        for number, kind in concerned:
            record = self.records[number]
            if kind == Acknowledge.RENEW:
                record.until = self.now + LOCK_S
            else:
                record.state = "pending"
                outcome.append((number, self.becomes(kind, record.count), record.count))
        self.pending.append((change, outcome))
        if not later:
            self.settle(persisted=True)
        elif outcome:
            self.cannot_be_changed(outcome[0][0], member)

    def renew(self, first: int, concerned: list[tuple[int, int]], member: str) -> None:
        """Locks that were renewed before the error stay renewed."""
        for number, kind in concerned:
            if not (number < self.share.end_offset and self.is_held(number, member)):
                return
            if kind == Acknowledge.RENEW and self.deadline_of(number) == self.now + LOCK_S:
                self.records[number].until = self.now + LOCK_S

    def cannot_be_changed(self, number: int, member: str) -> None:
        """What is being persisted cannot be said again, not even by who holds it."""
        code = ErrorCode.NONE
        try:
            self.share.acknowledge(member, [Acknowledged(number, number, [Acknowledge.RELEASE])], self.now)
        except KafkaError as error:
            code = error.code
        assert code is ErrorCode.INVALID_RECORD_STATE, f"{number} is changed while a change of it is persisted"

    @precondition(lambda self: self.pending)
    @rule(persisted=st.booleans())
    def settle(self, persisted: bool) -> None:
        change, outcome = self.pending.pop(0)
        letters = self.share.complete(change, persisted=persisted)
        for number, state, count in outcome:
            record = self.records[number]
            if record.state != "pending":
                continue  # the start of the log has passed it
            if persisted:
                self.put(number, state, count)
                record.kept = (state, count)
            else:
                record.state = "acquired"
        if persisted:
            self.persisted_start = max(self.persisted_start, change.start_offset)
        self.write_letters(letters)

    @rule(member=st.sampled_from(MEMBERS))
    def leave(self, member: str) -> None:
        """The session is over: its records are released."""
        self.release_due()
        change = self.share.release(member)
        outcome = []
        for number in range(self.share.start_offset, self.share.end_offset):
            record = self.records[number]
            if self.is_held(number, member):
                record.state = "pending"
                outcome.append((number, self.becomes(Acknowledge.RELEASE, record.count), record.count))
        self.pending.append((change, outcome))
        self.settle(persisted=True)

    # Time

    @rule(seconds=st.sampled_from((1, LOCK_S / 2, LOCK_S, LOCK_S + 1)))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.release_due()

    def release_due(self) -> None:
        change = self.share.expire(self.now)
        released = set()
        for record in (self.records[n] for n in range(self.share.end_offset)):
            if record.state == "acquired" and record.until <= self.now:
                record.state = self.becomes(Acknowledge.RELEASE, record.count)
                record.kept = (record.state, record.count)
                record.holder = ""
                released.add(id(record))
        assert bool(change) == bool(released)
        if change is not None:
            self.write_letters(change.given_up)

    def write_letters(self, given_up: list[GivenUp]) -> None:
        """One copy of each record that is given up, then it is archived."""
        for batch in given_up:
            assert self.share.start_offset <= batch.first, "the start has passed what waits for its letters"
            for number in range(batch.first, batch.last + 1):
                assert self.records[number].state == "archiving", (number, self.records[number])
                self.records[number].letters += 1
                assert self.records[number].letters == 1
            self.share.archive([batch])
            for number in range(batch.first, batch.last + 1):
                self.records[number].state = "archived"
                self.records[number].kept = ("archived", self.records[number].count)

    @rule()
    def restart(self) -> None:
        """What was persisted is read; what was acquired or not yet persisted is delivered again."""
        self.pending.clear()
        start = max(self.persisted_start, 0)
        names = {"available": 0, "accepted": 2, "archiving": 3, "archived": 4}
        state = []
        for number in range(start, self.share.end_offset):
            record = self.records[number]
            kept, count = record.kept
            if record.kept != ("available", 0) or number < self.share.start_offset:
                state.append(StateBatch(number, number, names[kept], count))
            if number < self.share.start_offset and kept == "available":
                record.state, record.count = "available", count
            elif record.state not in ("accepted", "archived") or kept not in FINAL:
                record.state, record.count = kept, count
            record.holder = ""
        state = [batch for batch in state if batch.state or batch.deliveries]
        self.share = SharePartition(lambda: self.limits, start, state)
        self.share.log_start_moved(self.log_start)
        for record in self.records[: self.log_start]:
            record.state, record.holder = "archived", ""

    # Rules

    def becomes(self, kind: int, count: int) -> str:
        given_up = "archiving" if self.limits.dead_letters else "archived"
        if kind == Acknowledge.RELEASE:
            return "available" if count < self.limits.max_deliveries else given_up
        return {Acknowledge.ACCEPT: "accepted", Acknowledge.REJECT: given_up, Acknowledge.GAP: "archived"}[
            Acknowledge(kind)
        ]

    def put(self, number: int, state: str, count: int) -> None:
        record = self.records[number]
        record.state, record.count, record.holder = state, count, ""

    def is_held(self, number: int, member: str) -> bool:
        record = self.records[number]
        return record.state == "acquired" and record.holder == member

    def is_available(self, number: int) -> bool:
        return self.records[number].state == "available" and self.exists(number)

    def exists(self, number: int) -> bool:
        return bool(self.share.in_flight.among(number, number))

    def state_of(self, number: int) -> RecordState | None:
        runs = self.share.in_flight.among(number, number)
        if not runs:
            return RecordState.ARCHIVED if number < self.share.start_offset else None
        return runs[0].state

    def deadline_of(self, number: int) -> float:
        runs = self.share.in_flight.among(number, number)
        return runs[0].deadline if runs else 0.0

    # What always holds

    @invariant()
    def states_are_those_of_the_list(self) -> None:
        if not hasattr(self, "share"):
            return
        names = {
            RecordState.AVAILABLE: "available",
            RecordState.ACQUIRED: "acquired",
            RecordState.ACKNOWLEDGED: "accepted",
            RecordState.ARCHIVING: "archiving",
            RecordState.ARCHIVED: "archived",
        }
        for run in self.share.in_flight:
            for number in range(run.first, run.last + 1):
                record = self.records[number]
                expected = "pending" if run.change is not None else names[run.state]
                assert expected == record.state, (number, run, record)
                assert run.count == record.count, (number, run, record)
                assert run.member == record.holder, (number, run, record)

    @invariant()
    def start_passes_only_what_is_done_with(self) -> None:
        if not hasattr(self, "share"):
            return
        for number in range(self.log_start, self.share.start_offset):
            record = self.records[number]
            assert record.state in FINAL or not record.in_log, (number, record)

    @invariant()
    def runs_are_few_and_in_order(self) -> None:
        if not hasattr(self, "share"):
            return
        runs = list(self.share.in_flight)
        for before, after in pairwise(runs):
            assert before.last < after.first
            alike = (before.batch, before.state, before.count, before.member, before.deadline) == (
                after.batch,
                after.state,
                after.count,
                after.member,
                after.deadline,
            )
            assert not alike or before.last + 1 < after.first or before.change or after.change, "cut without need"
        if runs:
            assert self.share.start_offset == runs[0].first
            assert not runs[0].is_final, "the start stands still before what is done with"
            assert runs[-1].last < self.share.end_offset
        assert self.share.start_offset <= self.share.end_offset
        locked = [run.deadline for run in runs if run.state is RecordState.ACQUIRED and run.change is None]
        assert self.share.wake_at <= min(locked, default=math.inf), "a lock ends before it looks"


ShareModel.TestCase.settings = settings(max_examples=examples(120), stateful_step_count=30, deadline=None)
TestShareModel = ShareModel.TestCase
