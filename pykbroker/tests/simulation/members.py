"""Small worlds of members over copies: consumers of one group, whose coordinator moves between brokers that each have a copy of its partition.

A member asks one thing after the other, and again where it hears nothing. It leaves, or crashes, and another comes in its place; a commit
that it has begun may arrive any time later, when the group goes on without it. (What a broker answers that does not know yet that another
leads, as in Apache Kafka what was committed under it, does not reach a member.) At every moment holds:

- no two of them use a partition, and what an epoch or generation gives to one it gives to nobody else;
- an epoch or generation that somebody was told stays: who was heard of within the session is known to each coordinator, and epochs rise;
- nobody's commit is taken once another uses the partition, but in the case that ``ModernMember.may_commit`` has, and committed offsets never go
  back otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, ClassVar, Final, NamedTuple

from pykbroker.controller.topics import NewTopic
from pykbroker.handlers import (
    consumer_group_heartbeat,
    heartbeat,
    join_group,
    leave_group,
    offset_commit,
    offset_fetch,
    sync_group,
)
from pykbroker.metadata.names import CONSUMER_OFFSETS
from pykbroker.runtime.waits import Deferred
from pykbroker.simulation.clients.assignors import RANGE, by_range, decode_share, encode_share, subscription
from pykbroker.simulation.machines import TOPIC, Machines
from pykbroker.tests.simulation.copies import ALL_FAULTS, Copies, Event, Violation, play
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.message import Message
from pykbroker.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

_GROUP: Final = "one"
_SESSION_MS: Final = 6000
#: So long that nobody is put out for being slow to give something back.
_REBALANCE_MS: Final = 600_000
_WIDTH: Final = 3
_MEMBERS: Final = 3
#: Each so many-th commit arrives only when another uses the partition.
_SLOW: Final = 3
#: Of requests of each member, in the end.
_ROUNDS: Final = 40
#: The coordinator does not know a member, or knows it in another epoch.
_LOST: Final = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.GROUP_ID_NOT_FOUND,
    }
)
Ask = tuple[Any, Message, int]


class MemberMachines(Machines):
    """With a topic that members share."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(
            topic=CONSUMER_OFFSETS,
            offsets_topic_num_partitions="1",
            group_initial_rebalance_delay_ms="0",
            group_consumer_session_timeout_ms=str(_SESSION_MS),
            group_consumer_min_session_timeout_ms=str(_SESSION_MS),
            group_consumer_heartbeat_interval_ms="2000",
            group_consumer_min_heartbeat_interval_ms="2000",
            **settings,
        )
        self.controller.create_topics([NewTopic(TOPIC, assignments=[(each, [each + 1]) for each in range(_WIDTH)])])
        self.quiet()


class Asked(NamedTuple):
    """A member's request on its way."""

    answer: Deferred[Any]
    ms: int
    #: Whether the broker led when it was asked, and knew it.
    coordinates: bool
    #: Whether it must know the member.
    known: bool
    #: The highest epoch that anybody had been told.
    floor: int


class Member:
    """See the module; of one protocol. ``epoch`` is its generation in the classic one."""

    def __init__(self, group: Grouped, name: str) -> None:
        self.group = group
        self.id = name
        self.epoch = 0
        #: What it uses.
        self.owned: set[int] = set()
        self.asked: Asked | None = None
        #: When it sent what a coordinator last took for a sign of life, and how often since then it has heard nothing.
        self.alive_ms = -_SESSION_MS
        self.doubts = 0

    def is_in(self, now_ms: int) -> bool:
        """Whether each coordinator must think so, too."""
        return now_ms - self.alive_ms < _SESSION_MS

    def request(self) -> Ask:
        """What it asks next."""
        raise NotImplementedError

    def heard(self, response: Any, asked: Asked) -> None:
        """The answer without an error."""
        raise NotImplementedError

    def refused(self, code: int, response: Any) -> None:
        """The answer with one."""
        raise NotImplementedError

    def leaving(self) -> Ask:
        """What it says when it goes."""
        raise NotImplementedError

    def may_commit(self, commit: Commit) -> bool:
        """Whether its commit may be taken though another uses the partition."""
        return False

    def alive(self, ms: int) -> None:
        """A coordinator has heard of it, and it of the coordinator."""
        self.alive_ms, self.doubts = ms, 0

    def use(self, partitions: set[int]) -> None:
        """Use these, and no others."""
        added = partitions - self.owned
        self.owned = partitions
        self.group.used(self, added)

    def lose(self) -> None:
        """Use nothing."""
        self.owned = set()
        self.alive(-_SESSION_MS)


class ModernMember(Member):
    """Of the protocol of KIP-848."""

    #: What a coordinator knows that it uses, and what it tells.
    _known: frozenset[int] | None = None
    _telling: frozenset[int] = frozenset()

    def request(self) -> Ask:
        request = ConsumerGroupHeartbeatRequest(_GROUP, self.id, self.epoch)
        self._telling = frozenset(self.owned)
        if not self.epoch or self.doubts or self._known != self._telling:
            topic_id = self.group.machines.image.topics[TOPIC].id
            request.rebalance_timeout_ms = _REBALANCE_MS
            request.subscribed_topic_names = [TOPIC]
            request.topic_partitions = [TopicPartitions(topic_id, sorted(self.owned))] if self.owned else []
        return consumer_group_heartbeat, request, 1

    def heard(self, response: Any, asked: Asked) -> None:
        self.group.told(self, response.member_epoch, self.epoch or asked.floor)
        self.epoch, self._known = response.member_epoch, self._telling
        self.alive(asked.ms)
        if response.assignment is not None:
            self.use({index for each in response.assignment.topic_partitions for index in each.partitions})

    def refused(self, code: int, response: Any) -> None:
        if code in _LOST:
            self.epoch = 0
            self.lose()

    def may_commit(self, commit: Commit) -> bool:
        """As in Apache Kafka, where it has given the partition back and still has other partitions to give back: it keeps its epoch."""
        return commit.epoch == self.epoch and commit not in self.group.expelled

    def leaving(self) -> Ask:
        return consumer_group_heartbeat, ConsumerGroupHeartbeatRequest(_GROUP, self.id, -1), 1


class ClassicMember(Member):
    """Of the classic protocol; it lets go of everything before it joins again."""

    def __init__(self, group: Grouped, name: str) -> None:
        super().__init__(group, name)
        self.id = ""
        self._step = "join"
        self._others: list[str] = []
        #: When it first asked to join: a repeat may be no sign of life.
        self._joining_ms: int | None = None

    def is_in(self, now_ms: int) -> bool:
        return self._step == "in" and super().is_in(now_ms)

    def request(self) -> Ask:
        if self._step == "in":
            return heartbeat, HeartbeatRequest(_GROUP, self.epoch, self.id), 4
        if self._step == "join":
            self._joining_ms = self._joining_ms or self.group.now_ms
            protocol = JoinGroupRequestProtocol(RANGE, subscription([TOPIC], [], -1))
            joining = JoinGroupRequest(_GROUP, _SESSION_MS, _REBALANCE_MS, self.id, None, "consumer", [protocol])
            return join_group, joining, 9
        share = by_range(self._others, [(TOPIC, index) for index in range(_WIDTH)]) if self._others else {}
        given = [SyncGroupRequestAssignment(member, encode_share(some)) for member, some in share.items()]
        return sync_group, SyncGroupRequest(_GROUP, self.epoch, self.id, None, "consumer", RANGE, given), 5

    def heard(self, response: Any, asked: Asked) -> None:
        if self._step == "in":
            self.alive(asked.ms)
        elif self._step == "join":
            self.id, self.epoch = response.member_id, response.generation_id
            self._others = [each.member_id for each in response.members]
            self._step = "sync"
        else:
            self.group.told(self, self.epoch, asked.floor)
            self._step = "in"
            self.alive(self._joining_ms or 0)  # nor is it to ask for the assignment
            self._joining_ms = None
            self.use({index for _, index in decode_share(response.assignment)})

    def refused(self, code: int, response: Any) -> None:
        if code == ErrorCode.MEMBER_ID_REQUIRED:
            self.id = response.member_id
        elif code in _LOST or code == ErrorCode.REBALANCE_IN_PROGRESS:
            self._step, self._joining_ms = "join", None
            self.lose()
            if code == ErrorCode.UNKNOWN_MEMBER_ID:
                self.id = ""

    def leaving(self) -> Ask:
        return leave_group, LeaveGroupRequest(_GROUP, members=[MemberIdentity(self.id)]), 5


class Commit(NamedTuple):
    """A member's commit that has not arrived yet."""

    member: Member
    epoch: int
    member_id: str
    partition: int
    number: int
    #: The number of the event at which it was begun.
    begun: int

    def __repr__(self) -> str:
        return f"{self.member_id}'s commit {self.number} of {self.partition} in epoch {self.epoch}"

    @property
    def ask(self) -> Ask:
        """The request."""
        place = OffsetCommitRequestPartition(self.partition, self.number)
        topics = [OffsetCommitRequestTopic(TOPIC, partitions=[place])]
        return offset_commit, OffsetCommitRequest(_GROUP, self.epoch, self.member_id, topics=topics), 9


class Grouped(Copies):
    """See the module."""

    machines: MemberMachines
    protocols: ClassVar[dict[str, Callable[[Grouped, str], Member]]] = {
        "classic": ClassicMember,
        "consumer": ModernMember,
    }

    def __init__(self, machines: MemberMachines, protocol: str, **bounds: Any) -> None:
        super().__init__(machines, **bounds)
        self._new = self.protocols[protocol]
        self._named = 0
        self.members = [self._another() for _ in range(_MEMBERS)]
        self.late: list[Commit] = []
        #: Those whose member used the partition, as far as it knew, when another was given it.
        self.expelled: list[Commit] = []
        self._number = 0
        #: The highest epoch that anybody was told, and who was given a partition in one.
        self.epoch = -1
        self.given: dict[tuple[int, int], str] = {}
        #: By partition: who began to use it, and at which event.
        self._uses: dict[int, list[tuple[int, str]]] = {index: [] for index in range(_WIDTH)}
        #: By partition, the highest offset that anybody was told, and what is asked.
        self.offsets = [-1] * _WIDTH
        #: By partition, to what a commit may take it back that is taken though another uses the partition.
        self._undone: dict[int, int] = {}
        self._commits: list[tuple[Commit, list[str], Deferred[Any]]] = []
        self._looks: list[tuple[Sequence[int], Deferred[Any]]] = []
        #: How often a commit was taken, and a partition was.
        self.taken = self.uses = 0

    def _another(self) -> Member:
        self._named += 1
        return self._new(self, f"m{self._named}")

    @property
    def now_ms(self) -> int:
        """The time of all machines."""
        return self.machines.clock.now_ms()

    # -- what is possible -------------------------------------------------------------------------------------------------

    def events(self) -> Iterator[Event]:
        """What members do is what an append is elsewhere."""
        for event in super().events():
            if event[0] != "produce":
                yield event
        living = [node for node in self.machines.ids if self.machines.replica(node) is not None]
        likely = [self.machines.state.leader] * 5 if self.machines.state.leader in living else []
        busy = [commit.member for commit in self.late]
        for number, member in enumerate(self.members):
            name = "beat" if member.asked is None else "again"
            yield from ((name, number, node) for node in (*living, *likely))
            if member not in busy:
                yield from (("commit", number, index) for index in sorted(member.owned))
            if self.faults:
                yield "crash", number
                yield from (("leave", number, node) for node in living)
        for number, commit in enumerate(self.late):
            if commit.number % _SLOW or self._others_since(commit):
                yield from (("deliver", number, node) for node in (*living, *likely))
        yield from (("ask", node) for node in living)

    # -- what happens -----------------------------------------------------------------------------------------------------

    def _coordinates(self, node: int) -> bool:
        """Whether a broker leads, and knows it."""
        replica, state = self.machines.replica(node), self.machines.state
        return replica is not None and (replica.leader, replica.leader_epoch) == (node, state.leader_epoch)

    def _on_beat(self, number: int, node: int) -> None:
        member = self.members[number]
        coordinates, floor, now_ms = self._coordinates(node), self.epoch, self.now_ms
        known = coordinates and member.is_in(now_ms) and member.doubts <= 1  # what was asked once may be asked again
        answer = self.machines.ask(node, *member.request())
        member.asked = Asked(answer, now_ms, coordinates, known, floor)
        self._hear(member, at_once=True)

    def _on_again(self, number: int, node: int) -> None:
        """The member hears nothing, and asks again: what it asked is done or not."""
        self.members[number].asked = None
        self.members[number].doubts += 1
        self._on_beat(number, node)

    def _hear(self, member: Member, *, at_once: bool = False) -> None:
        asked = member.asked
        if asked is None or not asked.answer.done:
            return
        member.asked = None
        error = asked.answer.error
        response = None if isinstance(error, KafkaError) else asked.answer.value
        code = error.code if isinstance(error, KafkaError) else response.error_code
        if code in _LOST and asked.known:
            raise Violation(f"{member.id} is told {ErrorCode(code).name} in epoch {member.epoch}, and was heard of")
        if code and asked.coordinates:
            member.doubts += not at_once  # else it is refused, and nothing is done
            member.refused(code, response)
        elif asked.coordinates:
            member.heard(response, asked)
        else:
            member.doubts += 1

    def _on_commit(self, number: int, index: int) -> None:
        member = self.members[number]
        self._number += 1
        self.late.append(Commit(member, member.epoch, member.id, index, self._number, len(self.path)))

    def _on_deliver(self, number: int, node: int) -> None:
        commit = self.late.pop(number)
        others = self._others_since(commit)
        if others and commit.member.may_commit(commit):
            others = []
            self._undone[commit.partition] = min(commit.number, self._undone.get(commit.partition, commit.number))
        self._commits.append((commit, others, self.machines.ask(node, *commit.ask)))

    def _on_crash(self, number: int) -> None:
        """Another comes in its place; what it has begun to commit is on its way."""
        self.members[number] = self._another()

    def _on_leave(self, number: int, node: int) -> None:
        self.machines.ask(node, *self.members[number].leaving())
        self._on_crash(number)

    def _on_ask(self, node: int) -> None:
        floor = list(self.offsets) if self._coordinates(node) else [-1] * _WIDTH
        self._looks.append((floor, self._look_up(node)))

    def _look_up(self, node: int) -> Deferred[Any]:
        request = OffsetFetchRequest(_GROUP, [OffsetFetchRequestTopic(TOPIC, [*range(_WIDTH)])])
        return self.machines.ask(node, offset_fetch, request, 5)

    # -- what must hold ---------------------------------------------------------------------------------------------------

    def told(self, member: Member, epoch: int, floor: int) -> None:
        """A coordinator tells a member its epoch, where ``floor`` was told before."""
        if epoch < floor:
            raise Violation(f"{member.id} is told epoch {epoch}, and {floor} was told before")
        self.epoch = max(self.epoch, epoch)

    def used(self, member: Member, added: set[int]) -> None:
        """A coordinator has given a member what it uses, some of it new; if that came in time: an answer may wait for longer than a session."""
        for index in sorted(member.owned):
            owner = self.given.setdefault((member.epoch, index), member.id)
            if owner != member.id:
                raise Violation(f"{owner} and {member.id} are given {index} in epoch {member.epoch}")
        for index in sorted(added) if member.is_in(self.now_ms) else ():
            self.expelled += [each for each in self.late if each.partition == index and index in each.member.owned]
            self._uses[index].append((len(self.path), member.id))
            self.uses += 1
            for other in self.members:
                if other is not member and index in other.owned and other.is_in(self.now_ms):
                    raise Violation(f"{member.id} uses {index}, which {other.id} has not given back")

    def look(self) -> None:
        for member in self.members:
            self._hear(member)
        super().look()
        for each in [each for each in self._commits if each[2].done]:
            self._commits.remove(each)
            self._look_at_commit(*each)
        for floor, answer in [each for each in self._looks if each[1].done]:
            self._looks.remove((floor, answer))
            if answer.error is None:
                self._look_at_offsets(answer.value, floor)

    def _look_at_commit(self, commit: Commit, others: list[str], answer: Deferred[Any]) -> None:
        if answer.value.topics[0].partitions[0].error_code:
            return
        if others:
            raise Violation(f"{commit} is taken, and {others} used the partition before it arrived")
        self.taken += 1
        self.offsets[commit.partition] = max(self.offsets[commit.partition], commit.number)

    def _others_since(self, commit: Commit) -> list[str]:
        """Who was given the partition since a commit was begun."""
        return [name for at, name in self._uses[commit.partition] if at > commit.begun and name != commit.member_id]

    def _look_at_offsets(self, response: Any, floor: Sequence[int]) -> None:
        if response.error_code:
            return
        found = [each.committed_offset for each in response.topics[0].partitions]
        least = [min(each, self._undone.get(index, each)) for index, each in enumerate(floor)]
        if any(number < each for number, each in zip(found, least, strict=True)):
            raise Violation(f"{found} is committed, and {floor} was before it was asked for")
        self.offsets = [*map(max, self.offsets, found)]

    def finish(self) -> None:
        """All come to use all of it, and commit."""
        super().finish()
        for _ in range(_ROUNDS):
            for number, member in enumerate(self.members):
                ask = self._on_beat if member.asked is None else self._on_again
                ask(number, self.machines.state.leader)
            self.machines.flow()
            self.machines.pass_time(500)
            self.look()
        users = sorted(index for member in self.members for index in member.owned)
        if users != [*range(_WIDTH)]:
            raise Violation(f"{[(each.id, each.owned) for each in self.members]} at the quiet end, after {self.path}")
        self.late.clear()
        taken = self.taken
        for number, member in enumerate(self.members):
            for index in sorted(member.owned):
                self._on_commit(number, index)
                self._on_deliver(0, self.machines.state.leader)
        self._on_ask(self.machines.state.leader)
        self.machines.flow()
        self.look()
        if self.taken != taken + _WIDTH:
            raise Violation(f"members cannot commit at the quiet end, after {self.path}")
        if self._commits or self._looks:
            raise Violation(f"nobody answers {len(self._commits) + len(self._looks)} requests, after {self.path}")


def grouped_world(protocol: str, seed: int, steps: int = 200) -> Grouped:
    """One course of events out of a seed, to its quiet end. Raises Violation."""
    rng = Random(seed)
    world = Grouped(MemberMachines(seed=seed), protocol, records=0, faults=rng.randint(1, 8), kinds=ALL_FAULTS)
    play(world, rng, steps, faults=0.05)
    return world
