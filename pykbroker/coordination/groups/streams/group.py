"""A streams group's members, epochs, topology and tasks (KIP-1071).

The log holds it, and only ``replaying`` changes it, but for what Kafka keeps in memory, too: the offsets that members report, their
endpoints' epoch, and a requested shutdown. Epochs are those of a consumer group. Source of the rules: Apache Kafka 4.4.0's
StreamsGroup.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import Enum
from itertools import compress, repeat
from operator import eq
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.member_group import MemberGroup, take
from pykbroker.coordination.groups.streams.deadlines import StreamsDeadlines
from pykbroker.coordination.groups.streams.member import StreamsMember, StreamsMemberState
from pykbroker.coordination.groups.streams.settings import StreamsSettings
from pykbroker.coordination.groups.streams.tasks import NO_TARGET, Task, TaskTuple
from pykbroker.coordination.groups.surroundings import Surroundings
from pykbroker.coordination.outcome import Outcome

if TYPE_CHECKING:
    from pykbroker.coordination.groups.streams.configuring import ConfiguredTopology
    from pykbroker.coordination.groups.streams.topology import Topology

_FIRST_EPOCH = 1

#: The offsets of a member's state by task, and the ends of the logs that it is restored from.
TaskOffsets = tuple[Mapping[Task, int], Mapping[Task, int]]
NO_OFFSETS: TaskOffsets = ({}, {})


class StreamsGroupState(Enum):
    """Values are the names that clients are shown."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """What the record of a group's epoch has."""

    epoch: int = _FIRST_EPOCH
    metadata_hash: int = 0
    #: The epoch of the topology whose topics all exist; -1 if some do not.
    validated_epoch: int = -1
    assignment_configs: Mapping[str, str] = field(default_factory=dict)
    #: Of the descriptions that a plug-in of Kafka stores and refuses; kept as they are.
    stored_description_epoch: int = -1
    failed_description_epoch: int = -1


class StreamsGroup(MemberGroup[StreamsMember]):
    """See the module."""

    __slots__ = (
        "_running",
        "_standby",
        "_static",
        "_warmup",
        "configured",
        "deadlines",
        "endpoint_epoch",
        "facts",
        "is_dead",
        "metadata_is_stale",
        "offsets",
        "shutdown_requested_by",
        "target_epoch",
        "target_timestamp_ms",
        "targets",
        "topology",
    )

    type_name = "streams"
    protocol_type = "streams"
    empty_since_ms = None

    def __init__(self, group_id: str, around: Surroundings) -> None:
        super().__init__(group_id, around)
        self.facts = GroupFacts()
        self.target_epoch = _FIRST_EPOCH
        #: When the target was computed, epoch milliseconds; 0 before the first.
        self.target_timestamp_ms = 0
        self.targets: dict[str, TaskTuple] = {}
        self.topology: Topology | None = None
        #: With the topics at the time of the metadata hash; None before the first heartbeat.
        self.configured: ConfiguredTopology | None = None
        self.metadata_is_stale = True
        self.offsets: dict[str, TaskOffsets] = {}
        self.endpoint_epoch = 0
        self.shutdown_requested_by: str | None = None
        self.is_dead = False
        self.deadlines = StreamsDeadlines(around.clock)
        self._static: dict[str, str] = {}
        #: The process of each active task, and the processes of standby and warm-up tasks.
        self._running: dict[Task, str] = {}
        self._standby: Counter[tuple[Task, str]] = Counter()
        self._warmup: Counter[tuple[Task, str]] = Counter()

    # Questions

    @property
    def state(self) -> StreamsGroupState:
        """The state that clients are shown."""
        if self.is_dead:
            return StreamsGroupState.DEAD
        if not self.members:
            return StreamsGroupState.EMPTY
        if self.topology is None or self.topology.epoch != self.facts.validated_epoch:
            return StreamsGroupState.NOT_READY
        if self.facts.epoch > self.target_epoch:
            return StreamsGroupState.ASSIGNING
        if all(member.is_reconciled_to(self.target_epoch) for member in self.members.values()):
            return StreamsGroupState.STABLE
        return StreamsGroupState.RECONCILING

    @property
    def settings(self) -> StreamsSettings:
        """The broker's settings of streams groups."""
        return self.around.settings.of(StreamsSettings)

    def target_of(self, member_id: str) -> TaskTuple:
        """The target assignment of a member."""
        return self.targets.get(member_id, NO_TARGET)

    def subscribes(self, topic: str) -> bool:
        """Whether the application reads this topic."""
        return bool(self.members) and self.topology is not None and self.topology.reader_of(topic) is not None

    # The processes that have tasks (``TaskHolders``)

    def running(self, tasks: AbstractSet[Task], process_id: str | None = None) -> AbstractSet[Task]:
        """Those that are active for a process, or for any, or that it has yet to give up."""
        if process_id is None:
            return tasks & self._running.keys()
        return {*compress(tasks, map(eq, map(self._running.get, tasks), repeat(process_id)))}

    def standing_by(self, tasks: AbstractSet[Task], process_id: str) -> AbstractSet[Task]:
        """Those that a process has as standby tasks, or has yet to give up."""
        return {*compress(tasks, map(self._standby.__contains__, zip(tasks, repeat(process_id), strict=False)))}

    def warming_up(self, tasks: AbstractSet[Task], process_id: str) -> AbstractSet[Task]:
        """The same of warm-up tasks."""
        return {*compress(tasks, map(self._warmup.__contains__, zip(tasks, repeat(process_id), strict=False)))}

    # Changes; called by ``replaying`` alone

    def put(self, member: StreamsMember) -> None:
        """Add or replace a member."""
        self._forget(self.members.get(member.member_id))
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self._static[member.instance_id] = member.member_id
        process = member.process_id
        for tasks in (member.assigned, member.revoking):
            self._running.update(dict.fromkeys(tasks.active, process))
            self._standby.update((task, process) for task in tasks.standby)
            self._warmup.update((task, process) for task in tasks.warmup)

    def remove(self, member_id: str) -> None:
        """Remove a member."""
        member = self.members.pop(member_id, None)
        self._forget(member)
        instance_id = None if member is None else member.instance_id
        if instance_id is not None and self._static.get(instance_id) == member_id:
            del self._static[instance_id]
        self.offsets.pop(member_id, None)
        self.deadlines.forget(member_id)
        if not self.members:
            self.shutdown_requested_by = None

    def _forget(self, member: StreamsMember | None) -> None:
        if member is None:
            return
        process = member.process_id
        for tasks in (member.assigned, member.revoking):
            own = self.running(tasks.active.keys(), process)
            deque(map(self._running.pop, own), maxlen=0)
            take(self._standby, [(task, process) for task in tasks.standby])
            take(self._warmup, [(task, process) for task in tasks.warmup])

    # Life in the shard

    @property
    def wake_at(self) -> float:
        """When to call ``tick``, in monotonic seconds."""
        return math.inf if self.is_dead else self.deadlines.wake_at

    def loaded(self) -> Outcome:
        """The log has been replayed: every member's session begins anew."""
        session_ms = self.settings.session_of(self.own_configs)
        for member in self.members.values():
            self.deadlines.restart_session(member.member_id, session_ms)
            if member.state is StreamsMemberState.UNREVOKED_TASKS:
                self.deadlines.expect_revocation(member)
        return Outcome()

    def die(self) -> None:
        """See ``Group``."""
        self.is_dead = True
