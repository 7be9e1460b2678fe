"""Three replicas of one partition on the bare machines, with a controller: all that may happen to them, one event after the other.

Logs are lists of (leader epoch, value); an event is a name with its arguments. ``events`` says which are possible, ``apply`` lets one
happen, and ``check`` raises Violation where a rule of replication is broken. What the shells do between the machines is here as short
as it can be said, in the same order.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any, NamedTuple

from pykbroker.replication.altering import Altering, AlterRequest
from pykbroker.replication.following import FetchPlace, FollowerStep, Following
from pykbroker.replication.isr import CommittedIsr, Isr, ProposedIsr
from pykbroker.replication.leading import Leading
from pykbroker.storage.log.epochs import LeaderEpochs
from pykbroker.wire.errors import ErrorCode

NODES = (1, 2, 3)
LAG_MS = 10
#: As the high watermark of an answer: what is committed when it is received.
LATEST = 1 << 30
#: The kinds of faults, but for an unclean election.
FAULTS = ("elections", "crashes", "duplicates", "lags", "lost", "late")
Batch = tuple[int, int]
Event = tuple[str, *tuple[int, ...]]


def _copied(machine: Any) -> Any:
    """A copy of all that it refers to; faster than copy.deepcopy."""
    return pickle.loads(pickle.dumps(machine, 5))


class Violation(AssertionError):
    """A rule of replication is broken."""


class PartitionState(NamedTuple):
    """The partition in the controller's records."""

    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    #: The epochs of living brokers.
    brokers: tuple[tuple[int, int], ...]


class FetchAnswer(NamedTuple):
    """A leader's answer to a follower."""

    asked: FetchPlace
    code: int
    diverging: tuple[int, int] | None = None
    batches: tuple[Batch, ...] = ()
    high_watermark: int = -1
    start: int = 0
    end: int = 0


class Bounds(NamedTuple):
    """How much may happen."""

    appends: int = 3
    elections: int = 2
    crashes: int = 1
    duplicates: int = 1
    lags: int = 1
    lost: int = 1
    min_in_sync: int = 1
    unclean: int = 0
    #: Fetches while the answer to an earlier one is late.
    late: int = 1_000
    #: Whether a follower fetches by itself, as soon as it can, as its fetcher does; else at any time later, too.
    eager: bool = False
    #: All of these but the appends together.
    faults: int = 1_000


def with_faults(records: int, faults: int) -> Bounds:
    """Faults of any kind; followers fetch as their fetcher does."""
    kinds = dict.fromkeys(FAULTS, faults)
    return Bounds(appends=records, **kinds, min_in_sync=2, eager=True, faults=faults)


class ReplicaOfModel:
    """One broker with its replica; ``seen`` is the number of metadata records that it has applied."""

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.batches: list[Batch] = []
        self.epochs = LeaderEpochs()
        self.high_watermark = 0
        self.broker_epoch = 1
        self.alive = True
        self.seen = 0
        self.leading: Leading | None = None
        self.following: Following | None = None
        self.altering: Altering[int, ProposedIsr] = Altering()
        self.living: dict[int, int] = {}
        self.fetches: dict[int, int] = {}

    # what Following sees of the log

    @property
    def log_end_offset(self) -> int:
        return len(self.batches)

    @property
    def latest_epoch(self) -> int:
        return self.epochs.latest

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        return self.epochs.end_offset(epoch, len(self.batches))

    # what Leading sees of the metadata

    def epoch_of(self, broker_id: int) -> int | None:
        return self.living.get(broker_id)

    def truncate(self, offset: int) -> None:
        del self.batches[offset:]
        self.epochs.truncate_end(offset)
        self.high_watermark = min(self.high_watermark, offset)

    def append(self, batch: Batch) -> None:
        if batch[0] != self.epochs.latest:
            self.epochs.assign(batch[0], len(self.batches))
        self.batches.append(batch)

    def key(self) -> tuple[object, ...]:
        leading, following = self.leading, self.following
        return (
            tuple(self.batches),
            tuple(self.epochs.entries()),
            self.high_watermark,
            self.broker_epoch,
            self.alive,
            self.seen,
            leading
            and (
                leading.isr.committed,
                leading.isr.proposed,
                leading.isr.partition_epoch,
                leading.epoch_start,
                tuple(
                    (each, p.log_end, p.leader_end, p.caught_up_ms, p.fetched_ms, p.broker_epoch)
                    for each, p in leading.followers.items()
                ),
            ),
            following and (following.offset, following.leader_epoch, following.last_fetched_epoch, following.stopped),
            self.altering._sent,
            tuple(self.altering._waiting.values()),
        )


class ModelCluster:
    """See the module; of other brokers than ``nodes`` it has nothing."""

    def __init__(self, bounds: Bounds, nodes: Iterable[int] = NODES) -> None:
        self.bounds = bounds
        self.left = bounds._asdict()
        self.now_ms = 0
        self.next_value = 0
        living = tuple((node, 1) for node in NODES)
        self.records = [PartitionState(1, 1, 1, NODES, living)]
        self.replicas = {node: ReplicaOfModel(node) for node in nodes}
        #: Under way: a follower's fetch to a node, its answer, a node's proposal to the controller, the answer.
        self.fetches: list[tuple[int, int, int, FetchPlace]] = []
        self.answers: list[tuple[int, int, FetchAnswer]] = []
        self.proposals: list[tuple[int, int, AlterRequest[int, ProposedIsr]]] = []
        self.alter_answers: list[tuple[int, int, int, CommittedIsr | int]] = []
        #: What anybody saw committed: the batch of each offset.
        self.committed: list[Batch] = []
        for node in self.replicas:
            self.apply_metadata(node)
        self.go_on()

    def fork(self) -> ModelCluster:
        fork: ModelCluster = _copied(self)
        return fork

    def key(self) -> tuple[object, ...]:
        """All that there is, by its names."""
        return (
            tuple(self.committed),
            tuple(min(each, self.left["faults"]) for what, each in self.left.items() if what != "appends"),
            self.left["appends"],
            self.now_ms,
            tuple(self.records),
            tuple(each.key() for each in self.replicas.values()),
            tuple(self.fetches),
            tuple(self.answers),
            tuple((*each[:2], each[2].number, each[2].changes[0]) for each in self.proposals),
            tuple(self.alter_answers),
        )

    # -- events -------------------------------------------------------------------------------------------------------

    def events(self) -> Iterator[Event]:
        left = self.left
        state = self.records[-1]
        living = dict(state.brokers)
        for node, replica in self.replicas.items():
            if not replica.alive:
                yield "restart", node
                continue
            if replica.seen < len(self.records):
                yield "metadata", node
            if replica.leading is not None:
                if left["appends"]:
                    yield "append", node
                yield from self._changes_of_isr(node, replica)
            if self._fetches_now(replica):
                yield "fetch", node
            if self._may("crashes"):
                heirs = [each for each in state.isr if each != node and each in living] if state.leader == node else []
                yield from [("crash", node, heir) for heir in heirs] or [("crash", node)]
        for number in range(len(self.fetches)):
            yield "answer", number
        for number, (node, epoch, _) in enumerate(self.answers):
            if self.replicas[node].alive and self.replicas[node].broker_epoch == epoch:
                yield "receive", number
                if self._may("duplicates"):
                    yield "receive_again", number
        for number in range(len(self.proposals)):
            yield "alter", number
            if self._may("lost"):
                yield "alter_lost", number
        for number, (node, epoch, *_) in enumerate(self.alter_answers):
            if self.replicas[node].alive and self.replicas[node].broker_epoch == epoch:
                yield "altered", number
                if self._may("duplicates"):
                    yield "altered_again", number
        if self._may("elections"):
            for node in state.isr:
                if node != state.leader and node in living:
                    yield "elect", node
        if self._may("unclean") and not set(state.isr) & set(living):
            for node in living:
                yield "elect_unclean", node
        if self._may("lags"):
            yield ("lag",)

    def _fetches_now(self, replica: ReplicaOfModel) -> bool:
        """Whether a replica has a place to fetch from, and has not asked in this leader epoch: older fetches may be late."""
        if replica.following is None or replica.following.place is None:
            return False
        epochs = replica.broker_epoch, replica.following.leader_epoch
        asked = any((each[1], each[3].leader_epoch) == epochs for each in self.fetches if each[0] == replica.node_id)
        return not asked and (not self._is_late(replica) or self._may("late"))

    def _is_late(self, replica: ReplicaOfModel) -> bool:
        """Whether an answer of this leader epoch is on its way to this incarnation."""
        assert replica.following is not None
        epochs = replica.broker_epoch, replica.following.leader_epoch
        return any(
            (each[1], each[2].asked.leader_epoch) == epochs for each in self.answers if each[0] == replica.node_id
        )

    def _changes_of_isr(self, node: int, replica: ReplicaOfModel) -> Iterator[Event]:
        """Tried with a copy of the ISR, since to propose changes it."""
        leading = replica.leading
        assert leading is not None
        if leading.isr.proposed is None:
            isr = leading.isr
            leading.isr = copy(isr)
            expands = leading.expansion(replica.high_watermark, self.now_ms) is not None
            leading.isr = copy(isr)
            shrinks = leading.shrinking(len(replica.batches), self.now_ms) is not None
            leading.isr = isr
            if expands:
                yield "expand", node
            if shrinks:
                yield "shrink", node

    def apply(self, event: Event) -> None:
        name, *arguments = event
        getattr(self, f"_on_{name}")(*arguments)
        self.go_on()

    def go_on(self) -> None:
        """Let everybody do what it does by itself, and look at it."""
        for node, replica in self.replicas.items():
            if self.bounds.eager and replica.alive and self._fetches_now(replica) and not self._is_late(replica):
                self._on_fetch(node)
            self._advance(replica)
        self.check()

    def _spend(self, what: str) -> None:
        self.left[what] -= 1
        if what != "appends":
            self.left["faults"] -= 1

    def _may(self, what: str) -> bool:
        """Whether one more of these faults may happen."""
        return self.left[what] > 0 and self.left["faults"] > 0

    def may_any(self, *faults: str) -> bool:
        """Whether one more of any of these faults may happen."""
        return any(map(self._may, faults))

    # the leader

    def _on_append(self, node: int) -> None:
        self._spend("appends")
        replica = self.replicas[node]
        leading = replica.leading
        assert leading is not None
        first = len(replica.batches)
        replica.append((leading.isr.leader_epoch, self.next_value))
        self.next_value += 1
        leading.appended(first, first + 1, 1)

    def _advance(self, replica: ReplicaOfModel) -> None:
        leading = replica.leading
        if not replica.alive or leading is None:
            return
        mark = leading.high_watermark(len(replica.batches), self.now_ms)
        if mark > replica.high_watermark:
            replica.high_watermark = mark
            for offset in range(mark):
                if offset < len(self.committed):
                    if self.committed[offset] != replica.batches[offset]:
                        raise Violation(f"{offset} was {self.committed[offset]}, and is {replica.batches[offset]}")
                else:
                    self.committed.append(replica.batches[offset])

    def _on_answer(self, number: int) -> None:
        follower, broker_epoch, leader, place = self.fetches.pop(number)
        answer = self._answer(self.replicas[leader], follower, broker_epoch, place)
        self.answers.append((follower, broker_epoch, answer))

    def _answer(self, replica: ReplicaOfModel, follower: int, broker_epoch: int, place: FetchPlace) -> FetchAnswer:
        leading = replica.leading
        if not replica.alive or leading is None:
            return FetchAnswer(place, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        refusal = self._refusal(leading, place)
        if refusal:
            return FetchAnswer(place, refusal)
        end = len(replica.batches)
        if place.last_fetched_epoch >= 0:
            epoch, epoch_end = replica.end_offset_for_epoch(place.last_fetched_epoch)
            if epoch < 0:
                return FetchAnswer(place, ErrorCode.OFFSET_OUT_OF_RANGE, start=0, end=end)
            if epoch < place.last_fetched_epoch or epoch_end < place.offset:
                return FetchAnswer(place, 0, (epoch, epoch_end))
        if place.offset > end:
            return FetchAnswer(place, ErrorCode.OFFSET_OUT_OF_RANGE, start=0, end=end)
        if not leading.fetched(follower, broker_epoch, place.offset, 0, end, self.now_ms):
            return FetchAnswer(place, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        batches = tuple(replica.batches[place.offset : place.offset + 1])
        return FetchAnswer(place, 0, None, batches, replica.high_watermark)

    def _refusal(self, leading: Leading, place: FetchPlace) -> int:
        epoch = leading.isr.leader_epoch
        if place.leader_epoch < epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH if place.leader_epoch > epoch else ErrorCode.NONE

    # the follower

    def _on_fetch(self, node: int) -> None:
        replica = self.replicas[node]
        assert replica.following is not None
        assert replica.following.place is not None
        if self._is_late(replica):
            self._spend("late")
        leader = self.records[replica.seen - 1].leader
        self.fetches.append((node, replica.broker_epoch, leader, replica.following.place))

    def _on_receive(self, number: int) -> None:
        node, _, answer = self.answers.pop(number)
        self._receive(node, answer)

    def _on_receive_again(self, number: int) -> None:
        self._spend("duplicates")
        node, _, answer = self.answers[number]
        self._receive(node, answer)

    def _receive(self, node: int, answer: FetchAnswer) -> None:
        replica = self.replicas[node]
        following = replica.following
        if following is None:
            return
        decision = following.answered(answer.asked, answer.code, answer.diverging)
        if decision.step is FollowerStep.ASK_OFFSETS:
            decision = following.leader_has(answer.asked, answer.start, answer.end)
        if decision.step is FollowerStep.APPEND:
            for batch in answer.batches:
                if batch[0] <= answer.asked.leader_epoch:
                    replica.append(batch)
            following.appended()
            mark = len(self.committed) if answer.high_watermark == LATEST else answer.high_watermark
            replica.high_watermark = max(replica.high_watermark, min(mark, len(replica.batches)))
        elif decision.step in (FollowerStep.TRUNCATE, FollowerStep.START_OVER):
            replica.truncate(decision.offset)
            following.moved()

    # the ISR

    def _on_expand(self, node: int) -> None:
        replica = self.replicas[node]
        assert replica.leading is not None
        self._submit(replica, replica.leading.expansion(replica.high_watermark, self.now_ms))

    def _on_shrink(self, node: int) -> None:
        replica = self.replicas[node]
        assert replica.leading is not None
        self._submit(replica, replica.leading.shrinking(len(replica.batches), self.now_ms))

    def _submit(self, replica: ReplicaOfModel, change: ProposedIsr | None) -> None:
        assert change is not None
        replica.altering.submit(0, change)
        self._send(replica)

    def _send(self, replica: ReplicaOfModel) -> None:
        request = replica.altering.next_request()
        if request is not None:
            self.proposals.append((replica.node_id, replica.broker_epoch, request))

    def _on_alter(self, number: int) -> None:
        """The controller's part: compare and set."""
        node, broker_epoch, request = self.proposals.pop(number)
        answer = self._decide(node, broker_epoch, request.changes[0])
        self.alter_answers.append((node, broker_epoch, request.number, answer))

    def _on_alter_lost(self, number: int) -> None:
        """The controller decides, and the answer is lost with the connection."""
        self._spend("lost")
        node, broker_epoch, request = self.proposals.pop(number)
        self._decide(node, broker_epoch, request.changes[0])
        replica = self.replicas[node]
        if replica.alive and replica.broker_epoch == broker_epoch:
            replica.altering.failed(request.number)
            self._send(replica)

    def _decide(self, node: int, broker_epoch: int, change: ProposedIsr) -> CommittedIsr | int:
        state = self.records[-1]
        living = dict(state.brokers)
        if living.get(node) != broker_epoch or node != state.leader:
            return ErrorCode.INVALID_REQUEST
        if change.leader_epoch != state.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if change.partition_epoch != state.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION
        if any(living.get(each.broker_id) != each.broker_epoch for each in change.members if each.broker_epoch != -1):
            return ErrorCode.INELIGIBLE_REPLICA
        members = tuple(each.broker_id for each in change.members)
        self._record(isr=members)
        return CommittedIsr(state.leader_epoch, self.records[-1].partition_epoch, members)

    def _record(self, **changes: object) -> None:
        state = self.records[-1]
        self.records.append(state._replace(partition_epoch=state.partition_epoch + 1)._replace(**changes))  # type: ignore[arg-type]

    def _on_altered(self, number: int) -> None:
        self._altered(*self.alter_answers.pop(number))

    def _on_altered_again(self, number: int) -> None:
        self._spend("duplicates")
        self._altered(*self.alter_answers[number])

    def _altered(self, node: int, _epoch: int, number: int, answer: CommittedIsr | int) -> None:
        replica = self.replicas[node]
        for _, sent, told in replica.altering.answered(number, {0: answer}):
            leading = replica.leading
            if leading is None:
                continue
            if isinstance(told, CommittedIsr):
                leading.isr.granted(sent, told)
            elif leading.isr.refused(sent, told):
                replica.altering.submit(0, sent)
        self._send(replica)

    # the controller

    def _elect(self, leader: int, isr: tuple[int, ...]) -> None:
        self._record(leader=leader, leader_epoch=self.records[-1].leader_epoch + 1, isr=isr)

    def _on_elect(self, node: int) -> None:
        self._spend("elections")
        self._elect(node, self.records[-1].isr)

    def _on_elect_unclean(self, node: int) -> None:
        self._spend("unclean")
        self.committed.clear()
        self._elect(node, (node,))

    def _on_crash(self, node: int, heir: int = -1) -> None:
        """The process ends, and the controller fences it; ``heir`` leads what it led. Where others are in sync, its disk is lost, too."""
        self._spend("crashes")
        replica = self.replicas[node]
        replica.alive = False
        replica.leading = replica.following = None
        replica.altering = Altering()
        state = self.records[-1]
        isr = tuple(each for each in state.isr if each != node)
        if isr:
            replica.truncate(0)
        else:
            isr = state.isr
        leader = state.leader
        epoch = state.leader_epoch
        if leader == node:
            leader = heir
            epoch += 1
        brokers = tuple(each for each in state.brokers if each[0] != node)
        self._record(leader=leader, leader_epoch=epoch, isr=isr, brokers=brokers)

    def _on_restart(self, node: int) -> None:
        """It registers with a new broker epoch and has the metadata up to that; it leads again if it is all that is in sync."""
        replica = self.replicas[node]
        replica.alive = True
        replica.broker_epoch += 1
        replica.high_watermark = 0
        state = self.records[-1]
        brokers = (*state.brokers, (node, replica.broker_epoch))
        if state.leader == -1 and node in state.isr:
            self._record(leader=node, leader_epoch=state.leader_epoch + 1, brokers=brokers)
        else:
            self._record(brokers=brokers)
        replica.seen = len(self.records) - 1
        self.apply_metadata(node)

    def _on_lag(self) -> None:
        self._spend("lags")
        self.now_ms += LAG_MS + 1

    def _on_metadata(self, node: int) -> None:
        self.apply_metadata(node)

    def apply_metadata(self, node: int) -> None:
        """Let a broker take the next record of the metadata."""
        replica = self.replicas[node]
        state = self.records[replica.seen]
        replica.seen += 1
        replica.living = dict(state.brokers)
        leading, following = replica.leading, replica.following
        if state.leader == node:
            if leading is not None and leading.isr.leader_epoch == state.leader_epoch:
                leading.published(NODES, state.partition_epoch, state.isr, self.now_ms)
                return
            replica.following = None
            end = len(replica.batches)
            replica.epochs.assign(state.leader_epoch, end)
            replica.leading = Leading(
                node,
                Isr(state.leader_epoch, state.partition_epoch, state.isr),
                NODES,
                replica,
                replica.fetches,
                epoch_start=end,
                min_in_sync=self.bounds.min_in_sync,
                lag_ms=LAG_MS,
                now_ms=self.now_ms,
            )
        elif following is None or following.leader_epoch != state.leader_epoch:
            replica.leading = None
            replica.following = None
            if state.leader != -1:
                replica.following = following = Following(state.leader_epoch, replica)
                decision = following.begin()
                if decision is not None:
                    replica.truncate(decision.offset)
                    following.moved()

    # -- what always holds --------------------------------------------------------------------------------------------

    def check(self) -> None:
        committed = self.committed
        state = self.records[-1]
        for node, replica in self.replicas.items():
            if replica.high_watermark > len(replica.batches):
                raise Violation(f"the high watermark of {node} is beyond its log")
            if node in state.isr and replica.batches[: len(committed)] != committed:
                raise Violation(f"{node} is in sync, and lacks something of {committed}: {replica.batches}")
            leading = replica.leading
            knows = leading is not None and replica.seen == len(self.records)
            if leading is not None and knows and not set(state.isr) <= leading.isr.maximal:
                raise Violation(f"the ISR {state.isr} is more than {node} counts on: {leading.isr.maximal}")
            if [epoch for epoch, _ in replica.batches] != sorted(epoch for epoch, _ in replica.batches):
                raise Violation(f"epochs fall in the log of {node}")
            mark = replica.high_watermark
            if not leading and replica.batches[:mark] != committed[:mark] and not self.bounds.unclean:
                raise Violation(f"{node} shows {replica.batches[:mark]}, committed is {committed[:mark]}")
