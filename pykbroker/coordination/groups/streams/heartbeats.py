"""StreamsGroupHeartbeat: a member joins, heartbeats, brings its topology, and receives its tasks (KIP-1071)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress, count
from operator import attrgetter, ne
from typing import TYPE_CHECKING, NamedTuple

from pykbroker.coordination.groups.assigning import Assigning
from pykbroker.coordination.groups.consumer.metadata_hash import metadata_hash
from pykbroker.coordination.groups.group import Find, find_of_kind
from pykbroker.coordination.groups.member_group import check_instance
from pykbroker.coordination.groups.streams import answers
from pykbroker.coordination.groups.streams.checking import (
    check_epoch,
    check_released,
    check_tasks,
)
from pykbroker.coordination.groups.streams.configuring import ConfiguredTopology, StreamsStatus, configure, counts_of
from pykbroker.coordination.groups.streams.group import NO_OFFSETS, GroupFacts, StreamsGroup, TaskOffsets
from pykbroker.coordination.groups.streams.member import StreamsMember, StreamsMemberState
from pykbroker.coordination.groups.streams.preparing import Prepared, encoded_before
from pykbroker.coordination.groups.streams.reconciling import TaskGoal, reconcile
from pykbroker.coordination.groups.streams.records import (
    assignment_record,
    epoch_record,
    member_record,
    member_tombstones,
    target_record,
    topology_record,
)
from pykbroker.coordination.groups.streams.targets import assign
from pykbroker.coordination.groups.streams.tasks import NO_TARGET, Task, TaskTuple, tasks_of
from pykbroker.coordination.groups.streams.topology import Topology, topology_of
from pykbroker.coordination.outcome import CoordinatorRecord, Outcome
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.streams_group_heartbeat import (
    Status,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    TaskOffset,
)

if TYPE_CHECKING:
    from pykbroker.controller.topics import NewTopic
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.context import RequestContext

log = logging.getLogger(__name__)


class StreamsAnswer(NamedTuple):
    """The response, and the internal topics that the application misses."""

    response: StreamsGroupHeartbeatResponse
    missing: list[NewTopic]


@dataclass(slots=True)
class StreamsHeartbeat:
    """One request, and what is decided for it so far."""

    context: RequestContext
    request: StreamsGroupHeartbeatRequest
    reply: Deferred[StreamsAnswer]
    find: Find
    records: list[CoordinatorRecord] = field(default_factory=list)
    statuses: list[Status] = field(default_factory=list)
    #: What a thread does after this one: a large group's target.
    effects: list[Assigning] = field(default_factory=list)
    #: The static member that this one replaces.
    former: StreamsMember | None = None
    #: What was made of a large topology before.
    prepared: Prepared | None = None

    def beat(self, group: StreamsGroup, *, is_new: bool = False) -> Outcome:
        """Join or heartbeat. Raises KafkaError GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH,
        UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID, INVALID_REQUEST, STREAMS_INVALID_TOPOLOGY and UNKNOWN_SERVER_ERROR; and NotEncoded.
        """
        if self.request.member_epoch == 0:
            self._check_room(group)
        before = self._before(group)
        stated = self._stated(before)
        reassigns = self._record_member(before, stated)
        topology = self._topology(group)
        self.statuses += answers.stale_topology(group, stated)
        found, configured = self._configured(group, topology)
        offsets = self._offsets(group)
        facts = self._facts(group, found, configured, reassigns)
        delay_ms = self._initial_delay_ms(group)
        epoch, target = self._target(group, stated, facts, configured, offsets, delayed=delay_ms > 0)
        after = self._reconciled(group, stated, epoch, target)
        if after != stated:
            encoded = encoded_before(self.prepared, after)
            self.records.append(assignment_record(group.group_id, after, encoded))
        if self.request.member_epoch == 0:  # nothing is to be encoded any more: the step is not decided again
            self._log_joining(group)
        endpoint_epoch = _endpoint_epoch(group, before, after)
        answer = self._answer(group, before, after, configured, endpoint_epoch)
        answer.status = self._all_statuses(group, after, configured, facts)
        if is_new:  # Kafka keeps these with the group, which is there only after its first records
            offsets, endpoint_epoch = NO_OFFSETS, 0
        else:
            answer.endpoint_information_epoch = endpoint_epoch
        settle = _Settling(
            self, configured, offsets, endpoint_epoch, delay_ms, moved=after if after != stated else None, is_new=is_new
        )
        missing = configured.missing if configured.fault is not None else []
        return Outcome(
            self.records,
            [(self.reply, StreamsAnswer(answer, missing))],
            then=partial(settle, group.group_id),
            effects=self.effects,
        )

    # The member

    def _log_joining(self, group: StreamsGroup) -> None:
        member_id, instance_id = self.request.member_id, self.request.instance_id
        if instance_id is None:
            log.info("Streams group %s: member %s joins", group.group_id, member_id)
        else:
            log.info("Streams group %s: static member %s joins as %s", group.group_id, instance_id, member_id)

    def _check_room(self, group: StreamsGroup) -> None:
        """Raises KafkaError GROUP_MAX_SIZE_REACHED; a static member that comes back takes the place of itself."""
        if group.static_member(self.request.instance_id) is None:
            group.check_room(self.request.member_id, group.settings.max_size)

    def _before(self, group: StreamsGroup) -> StreamsMember:
        """The member as it is known, or a new one."""
        request = self.request
        joins = request.member_epoch == 0
        if request.instance_id is not None:
            return self._static_before(group, request.instance_id) if joins else self._known_static(group)
        if joins:
            return group.members.get(request.member_id) or StreamsMember(request.member_id)
        member = group.member(request.member_id)
        check_epoch(group, member, request)
        return member

    def _known_static(self, group: StreamsGroup) -> StreamsMember:
        instance_id = self.request.instance_id or ""
        member = group.known_instance(instance_id)
        check_instance(member, self.request.member_id, instance_id)
        check_epoch(group, member, self.request)
        return member

    def _static_before(self, group: StreamsGroup, instance_id: str) -> StreamsMember:
        """A static member joins: one that has left for now is replaced, and its tasks are inherited."""
        request = self.request
        former = group.static_member(instance_id)
        if former is None:
            return group.members.get(request.member_id) or StreamsMember(request.member_id)
        check_released(former, request.member_id, instance_id)
        member = replace(former, member_id=request.member_id, epoch=0, previous_epoch=0)
        self.former = former
        target = group.target_of(former.member_id)
        self.records += [
            *member_tombstones(group.group_id, former.member_id),
            member_record(group.group_id, member),
            target_record(group.group_id, member.member_id, target, encoded_before(self.prepared, target)),
            assignment_record(group.group_id, member, encoded_before(self.prepared, member)),
        ]
        return member

    def _stated(self, member: StreamsMember) -> StreamsMember:
        """The member with the fields of the request; fields that the request omits stay."""
        request = self.request
        endpoint = request.user_endpoint
        kept_endpoint = None if request.member_epoch == 0 else member.user_endpoint
        timeout_ms = request.rebalance_timeout_ms
        return replace(
            member,
            instance_id=member.instance_id if request.instance_id is None else request.instance_id,
            rack_id=member.rack_id if request.rack_id is None else request.rack_id,
            rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
            topology_epoch=member.topology_epoch if request.topology is None else request.topology.epoch,
            client_id=self.context.client_id or "",
            client_host=f"/{self.context.client_host}",
            process_id=member.process_id if request.process_id is None else request.process_id,
            client_tags=member.client_tags
            if request.client_tags is None
            else {each.key: each.value for each in request.client_tags},
            user_endpoint=kept_endpoint if endpoint is None else (endpoint.host, endpoint.port),
        )

    def _record_member(self, before: StreamsMember, stated: StreamsMember) -> bool:
        """Write down what is new about the member; whether tasks are assigned anew for it."""
        if stated == before:
            return False
        self.records.append(member_record(self.request.group_id, stated))
        if self.request.instance_id is None:
            return True
        return (before.topology_epoch, before.rack_id, before.client_tags, before.process_id) != (
            stated.topology_epoch,
            stated.rack_id,
            stated.client_tags,
            stated.process_id,
        )

    # The application

    def _topology(self, group: StreamsGroup) -> Topology:
        """The group's topology, which the first member brings."""
        known, named = group.topology, self.request.topology
        if named is None:
            if known is None:
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
            return known
        prepared = self.prepared
        before = None if prepared is None or prepared.known is not known else prepared.topology()
        brought = before or topology_of(named)
        if known is None:
            self.records.append(topology_record(group.group_id, brought))
            return brought
        is_same = prepared.is_same if prepared is not None and before is not None else known == brought
        if known.epoch <= brought.epoch and not is_same:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Topology updates are not supported yet.")
        return known

    def _configured(self, group: StreamsGroup, topology: Topology) -> tuple[int, ConfiguredTopology]:
        """The hash of the topics, and the topology with their partitions; both are kept until topics change."""
        configured = group.configured
        if configured is not None and not group.metadata_is_stale:
            return group.facts.metadata_hash, configured
        found = metadata_hash(topology.required, group.around.image)
        if configured is None or found != group.facts.metadata_hash:
            image = group.around.image
            before = None if self.prepared is None else self.prepared.configuration(topology, image)
            configured = before or configure(topology, counts_of(topology, image))
        return found, configured

    def _offsets(self, group: StreamsGroup) -> TaskOffsets:
        """The offsets of the member's tasks, with those that it reports now. Raises KafkaError INVALID_REQUEST."""
        request = self.request
        known, known_ends = group.offsets.get(request.member_id, NO_OFFSETS)
        return (
            known if request.task_offsets is None else _reported(request.task_offsets),
            known_ends if request.task_end_offsets is None else _reported(request.task_end_offsets),
        )

    def _facts(self, group: StreamsGroup, found: int, configured: ConfiguredTopology, reassigns: bool) -> GroupFacts:
        """The group epoch with what it stands for; it is raised if tasks are to be assigned anew."""
        request, facts = self.request, group.facts
        validated = -1
        if configured.is_ready and configured.tasks is not None:
            validated = configured.topology.epoch
            for named in (request.active_tasks, request.standby_tasks, request.warmup_tasks):
                check_tasks(configured.tasks, named)
        configs = group.settings.assignment_configs_of(group.own_configs)
        wanted = replace(facts, metadata_hash=found, validated_epoch=validated, assignment_configs=configs)
        if wanted == facts and not reassigns:
            return facts
        wanted = replace(wanted, epoch=facts.epoch + 1)
        self.records.append(epoch_record(group.group_id, wanted))
        log.info("Streams group %s: bumped group epoch to %d", group.group_id, wanted.epoch)
        return wanted

    # The assignment

    def _initial_delay_ms(self, group: StreamsGroup) -> int:
        """For how long the first assignment waits; 0 if it does not."""
        delay_ms = group.settings.initial_delay_of(group.own_configs)
        return delay_ms if group.deadlines.waits_for_members or (group.is_empty and delay_ms > 0) else 0

    def _target(
        self,
        group: StreamsGroup,
        stated: StreamsMember,
        facts: GroupFacts,
        configured: ConfiguredTopology,
        offsets: TaskOffsets,
        *,
        delayed: bool,
    ) -> tuple[int, TaskTuple]:
        """The epoch of the target assignment, and the member's part in it."""
        if delayed:
            self._delayed("initial rebalance delay")
            return group.target_epoch, NO_TARGET
        former = stated if self.former is None else self.former
        if group.may_assign(facts.epoch):
            members = {each.member_id: each for each in group.members.values() if each is not self.former}
            members[stated.member_id] = stated
            reported: Mapping[str, TaskOffsets] = {**group.offsets, stated.member_id: offsets}
            found = assign(group, facts.epoch, members, configured, facts.assignment_configs, reported, self.former)
            if not isinstance(found, Assigning):
                records, given = found
                self.records += records
                return facts.epoch, given[stated.member_id]
            self.effects.append(found)
        elif group.target_epoch < facts.epoch and not group.is_assigning:
            self._delayed("assignment interval")
        return group.target_epoch, group.target_of(former.member_id)

    def _delayed(self, setting: str) -> None:
        detail = f"Assignment delayed due to the configured {setting}."
        self.statuses.append(answers.status(StreamsStatus.ASSIGNMENT_DELAYED, detail))

    def _reconciled(self, group: StreamsGroup, stated: StreamsMember, epoch: int, target: TaskTuple) -> StreamsMember:
        """The member a step further towards its target."""
        if stated.is_reconciled_to(epoch):
            return stated
        request = self.request
        reported = None
        if None not in (request.active_tasks, request.standby_tasks, request.warmup_tasks):
            reported = TaskTuple(
                tasks_of(request.active_tasks or ()),
                tasks_of(request.standby_tasks or ()),
                tasks_of(request.warmup_tasks or ()),
            )
        return reconcile(stated, TaskGoal(epoch, target, group, reported))

    # The answer

    def _answer(
        self,
        group: StreamsGroup,
        before: StreamsMember,
        after: StreamsMember,
        configured: ConfiguredTopology,
        endpoint_epoch: int,
    ) -> StreamsGroupHeartbeatResponse:
        settings, own = group.settings, group.own_configs
        response = StreamsGroupHeartbeatResponse(
            member_id=after.member_id,
            member_epoch=after.epoch,
            heartbeat_interval_ms=settings.heartbeat_of(own),
            task_offset_interval_ms=settings.task_offset_interval_of(own),
            acceptable_recovery_lag=settings.recovery_lag_of(own),
        )
        if self.request.member_epoch == 0 or after.assigned != before.assigned:
            response.active_tasks, response.standby_tasks, response.warmup_tasks = map(answers.task_ids, after.assigned)
        if endpoint_epoch != self.request.endpoint_information_epoch:
            gone = (after.member_id, None if self.former is None else self.former.member_id)
            others = [each for each in group.members.values() if each.member_id not in gone]
            response.partitions_by_user_endpoint = answers.endpoint_partitions(
                [*others, after], configured, group.around.image
            )
        return response

    def _all_statuses(
        self, group: StreamsGroup, after: StreamsMember, configured: ConfiguredTopology, facts: GroupFacts
    ) -> list[Status]:
        own = after.member_id if self.request.shutdown_application else None
        requested_by = own if group.shutdown_requested_by is None else group.shutdown_requested_by
        return [
            *self.statuses,
            *answers.topic_fault(configured),
            *answers.shutdown(requested_by),
            *answers.missing_tags(after, dict(facts.assignment_configs), self.context.api_version),
        ]


@dataclass(slots=True)
class _Settling:
    """The records are replayed: note the state that is not in the log."""

    beat: StreamsHeartbeat
    configured: ConfiguredTopology
    offsets: TaskOffsets
    endpoint_epoch: int
    delay_ms: int
    #: The member, if its assignment changed.
    moved: StreamsMember | None
    is_new: bool

    def __call__(self, group_id: str) -> Outcome:
        request = self.beat.request
        group = find_of_kind(self.beat.find, group_id, StreamsGroup)
        if group is None:
            return Outcome()
        group.configured = self.configured
        group.metadata_is_stale = False
        group.endpoint_epoch = self.endpoint_epoch
        if self.offsets != NO_OFFSETS:
            group.offsets[request.member_id] = self.offsets
        if request.shutdown_application and not self.is_new and group.shutdown_requested_by is None:
            group.shutdown_requested_by = request.member_id
        deadlines = group.deadlines
        deadlines.restart_session(request.member_id, group.settings.session_of(group.own_configs))
        if self.moved is not None and self.moved.state is StreamsMemberState.UNREVOKED_TASKS:
            deadlines.expect_revocation(self.moved)
        elif self.moved is not None:
            deadlines.revoked(request.member_id)
        if self.delay_ms > 0:
            deadlines.begin_initial_delay(self.delay_ms)
        return Outcome()


def _endpoint_epoch(group: StreamsGroup, before: StreamsMember, after: StreamsMember) -> int:
    """It rises when an instance gets another endpoint, or one with an endpoint other tasks."""
    changed = before.user_endpoint != after.user_endpoint
    moved = after.assigned != before.assigned and after.user_endpoint is not None
    return group.endpoint_epoch + (changed or moved)


def _reported(offsets: list[TaskOffset]) -> dict[Task, int]:
    """By task. Raises KafkaError INVALID_REQUEST for the first one that is named again."""
    tasks = [*map(attrgetter("subtopology_id", "partition"), offsets)]
    found: dict[Task, int] = dict(zip(tasks, map(attrgetter("offset"), offsets), strict=True))
    if len(found) < len(tasks):
        firsts = dict(zip(reversed(tasks), range(len(tasks) - 1, -1, -1), strict=True))
        subtopology, partition = next(compress(tasks, map(ne, map(firsts.__getitem__, tasks), count())))
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"Task offsets contain a duplicate entry for subtopology {subtopology} and partition {partition}.",
        )
    return found
