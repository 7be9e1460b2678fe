"""A shard on a manual clock, its log a list of encoded records: what the coordinator's shell does, without a broker."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import TypeVar

from pykbroker.coordination.groups.classic import requests
from pykbroker.coordination.groups.classic.group import ClassicGroup, ClassicGroupState
from pykbroker.coordination.groups.consumer.regexes import Resolution, resolve
from pykbroker.coordination.groups.patterns import InvalidPattern, compile_pattern
from pykbroker.coordination.groups.records import decode, encode
from pykbroker.coordination.groups.settings import GroupSettings
from pykbroker.coordination.groups.shard import GroupShard
from pykbroker.coordination.groups.surroundings import Surroundings
from pykbroker.coordination.outcome import Decision, EncodedDecision, Outcome, Part
from pykbroker.runtime.clock import ManualClock
from pykbroker.runtime.waits import Deferred
from pykbroker.security.context import RequestContext
from pykbroker.tests.kit.cluster import GROUP
from pykbroker.tests.kit.groups import SUBSCRIBED_TO_T
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.group_metadata import GroupMetadataKey
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from pykbroker.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pykbroker.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from pykbroker.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from pykbroker.wire.records import decode_records

T = TypeVar("T")

SESSION_MS = 10_000
REBALANCE_MS = 60_000


def context(version: int = 9, client_id: str = "client") -> RequestContext:
    return RequestContext(11, version, 1, client_id, "127.0.0.1", "PLAINTEXT", "User:ANONYMOUS")


def _compiles(text: str) -> bool:
    try:
        compile_pattern(text)
    except InvalidPattern:
        return False
    return True


class Harness:
    """Requests in short form; ``log`` is what would be on disk."""

    def __init__(self, **settings: int) -> None:
        self.clock = ManualClock()
        self.random = random.Random(1)
        self.settings = GroupSettings(**settings)
        self.around = Surroundings(self.clock, self.settings, random=self.random)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.shard = GroupShard(self.around)
        #: Set to make the next append fail.
        self.append_error: ErrorCode | None = None
        #: Set to make all appends fail until it is None again.
        self.refusing: ErrorCode | None = None
        #: True from a failed append to the next record of the group: until then the log may be behind.
        self.behind = False

    # The shell

    def decide(self, decided: T | Decision[T] | EncodedDecision[T]) -> Deferred[T]:
        """As ``CoordinatorRuntime.ask`` does it."""
        if isinstance(decided, EncodedDecision):
            return self._encoded(decided)
        if not isinstance(decided, Decision):
            return Deferred.completed(decided)
        answer, outcome = decided
        failure = self.run(outcome)
        if isinstance(answer, Deferred):
            return answer
        return Deferred.completed(answer) if failure is None else Deferred.failed(KafkaError(failure))

    def _encoded(self, decided: EncodedDecision[T]) -> Deferred[T]:
        failure = self.append_error or self.refusing
        self.append_error = None
        if failure is not None:
            self.behind = True
            return Deferred.failed(KafkaError(failure))
        batch = decided.batch.completed(self.clock.now_ms())[1]
        self.log += [(each.key or b"", each.value) for each in decode_records(batch)]
        decided.replay()
        return Deferred.completed(decided.answer)

    def run(self, outcome: Outcome) -> ErrorCode | None:
        """As runtime.py does it; returns the error of an append that nothing of the outcome handles."""
        unhandled: ErrorCode | None = None
        replies: list[tuple[Deferred, object]] = []
        effects: list[Resolution] = []
        step: Outcome | None = outcome
        while step is not None:
            failure = (self.append_error or self.refusing) if step.records else None
            self.append_error = None if step.records else self.append_error
            if failure is not None:
                self.behind = True
            elif any(isinstance(record.key, GroupMetadataKey) for record in step.records):
                self.behind = False
            if failure is None:
                self.log += [encode(record) for record in step.records]
                for key, value in self.log[len(self.log) - len(step.records) :]:
                    record = decode(key, value)
                    assert record is not None
                    self.shard.replay(record)
                replies += step.replies
                effects += step.effects
                step = step.then() if step.then is not None else None
            elif step.otherwise is not None:
                replies += step.replies
                step = step.otherwise(failure)
            else:
                unhandled = failure
                replies += [(waiting, KafkaError(failure)) for waiting, _ in step.replies]
                step = None
        for asked in effects:
            self._resolve(asked)
        for waiting, response in replies:
            if isinstance(response, KafkaError):
                waiting.fail(response)
            else:
                waiting.complete(response)
        return unhandled

    def _resolve(self, asked: Resolution) -> None:
        """Match patterns at once."""
        image = self.around.image
        matched = {
            text: frozenset(compile_pattern(text).those_of(image.topics)) if _compiles(text) else frozenset()
            for text in asked.patterns
        }
        self.run(resolve(self.shard.groups.get(asked.group_id), matched, asked.requester, image.offset))

    def forget(self, parts: Iterator[Part]) -> None:
        """Carry out one part after the other."""
        for part in parts:
            self.run(Outcome(part.records))

    def advance(self, ms: int) -> None:
        """Let time pass, waking the groups at the moments they ask for."""
        end = self.clock.monotonic() + ms / 1000
        while True:
            due = [group for group in self.shard.groups.values() if group.wake_at <= end]
            if not due:
                break
            first = min(due, key=lambda group: group.wake_at)
            self.clock.advance(max(0, math.ceil((first.wake_at - self.clock.monotonic()) * 1000)))
            self.run(self.shard.tick(first.group_id))
        self.clock.advance(round((end - self.clock.monotonic()) * 1000))

    def restart(self) -> None:
        """Forget everything but the log and read it back."""
        self.shard = GroupShard(self.around)
        self.replay()
        for group in list(self.shard.groups.values()):
            self.run(group.loaded())

    def replay(self) -> None:
        """Read the log into the shard."""
        for key, value in self.log:
            record = decode(key, value)
            assert record is not None
            self.shard.replay(record)

    @property
    def group(self) -> ClassicGroup:
        return self.shard.groups[GROUP]

    @property
    def state(self) -> ClassicGroupState:
        return self.group.state

    # Requests

    def join(
        self,
        member_id: str = "",
        *,
        instance_id: str | None = None,
        version: int = 9,
        protocols: dict[str, bytes] | None = None,
        protocol_type: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        group_id: str = GROUP,
        client_id: str = "client",
    ) -> Deferred[JoinGroupResponse]:
        offered = {"range": SUBSCRIBED_TO_T} if protocols is None else protocols
        request = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=name, metadata=data) for name, data in offered.items()],
        )
        return self.decide(requests.join(self.shard, context(version, client_id), request))

    def new_member(self, **options) -> tuple[str, Deferred[JoinGroupResponse]]:
        """The two JoinGroups of a dynamic member that is new: its id, and the second one, which waits."""
        refused = self.join(**options).value
        assert refused.error_code == ErrorCode.MEMBER_ID_REQUIRED, refused
        return refused.member_id, self.join(refused.member_id, **options)

    def sync(
        self,
        member_id: str,
        assignments: dict[str, bytes] | None = None,
        *,
        generation: int | None = None,
        instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
    ) -> Deferred[SyncGroupResponse]:
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.group.generation
            if generation is None and GROUP in self.shard.groups
            else generation or 0,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member_id=to, assignment=data) for to, data in (assignments or {}).items()
            ],
        )
        return self.decide(requests.sync(self.shard, request))

    def heartbeat(self, member_id: str, *, generation: int | None = None, instance_id: str | None = None) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=GROUP,
            generation_id=self.group.generation
            if generation is None and GROUP in self.shard.groups
            else generation or 0,
            member_id=member_id,
            group_instance_id=instance_id,
        )
        try:
            return ErrorCode(requests.heartbeat(self.shard, request).error_code)
        except KafkaError as error:
            return error.code

    def leave(self, *members: str | tuple[str, str | None]) -> LeaveGroupResponse:
        identities = [(member, None) if isinstance(member, str) else member for member in members]
        request = LeaveGroupRequest(
            group_id=GROUP,
            members=[MemberIdentity(member_id=m, group_instance_id=i, reason=None) for m, i in identities],
        )
        return self.decide(requests.leave(self.shard, request)).value

    def commit(
        self,
        offsets: dict[tuple[str, int], int],
        member_id: str = "",
        generation: int = -1,
        *,
        instance_id: str | None = None,
        version: int = 9,
        group_id: str = GROUP,
        metadata: str | None = "",
        retention_ms: int = -1,
        topic_id: bytes = bytes(16),
    ) -> ErrorCode:
        """The error code of the first partition, or of the request."""
        request = OffsetCommitRequest(
            group_id=group_id,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            retention_time_ms=retention_ms,
            topics=[
                OffsetCommitRequestTopic(
                    name=topic,
                    topic_id=topic_id,
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=index, committed_offset=offset, committed_metadata=metadata
                        )
                    ],
                )
                for (topic, index), offset in offsets.items()
            ],
        )
        try:
            answer = self.decide(self.shard.commit(context(version), request))
            return ErrorCode(answer.value.topics[0].partitions[0].error_code)
        except KafkaError as error:
            return error.code

    def committed(self, group_id: str = GROUP) -> dict[tuple[str, int], tuple[int, str]]:
        """Every offset of the group with its metadata."""
        found = self.shard.fetch(OffsetFetchRequestGroup(group_id=group_id, topics=None))
        return {
            (topic.name, partition.partition_index): (partition.committed_offset, partition.metadata or "")
            for topic in found.topics
            for partition in topic.partitions
        }

    def fetch(self, topic: str, index: int, *, topic_id: bytes = bytes(16)) -> int:
        asked = OffsetFetchRequestTopics(name=topic, topic_id=topic_id, partition_indexes=[index])
        found = self.shard.fetch(OffsetFetchRequestGroup(group_id=GROUP, topics=[asked]))
        return found.topics[0].partitions[0].committed_offset

    def delete_offset(self, topic: str, index: int) -> ErrorCode:
        request = OffsetDeleteRequest(
            group_id=GROUP,
            topics=[
                OffsetDeleteRequestTopic(name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=index)])
            ],
        )
        try:
            return ErrorCode(self.decide(self.shard.delete_offsets(request)).value.topics[0].partitions[0].error_code)
        except KafkaError as error:
            return error.code

    def delete_group(self, group_id: str = GROUP) -> ErrorCode:
        try:
            return self.decide(self.shard.delete_group(group_id)).value
        except KafkaError as error:
            return error.code

    # Whole rounds

    def stable(self, members: int = 1, **options) -> list[str]:
        """A stable group of dynamic members; the first of those returned leads. Each is assigned its own id."""
        joins = [self.new_member(**options) for _ in range(members)]
        self.advance(self.settings.initial_rebalance_delay_ms)
        self.settle(dict(joins))
        ids = [member_id for member_id, _ in joins]
        leader = self.group.members.leader
        return [leader, *(i for i in ids if i != leader)]

    def settle(self, joins: dict[str, Deferred[JoinGroupResponse]]) -> None:
        """Finish a rebalance whose joins have been answered."""
        answers = {member_id: reply.value for member_id, reply in joins.items()}
        assert all(answer.error_code == 0 for answer in answers.values()), answers
        leader = next(iter(answers.values())).leader
        assignments = {member.member_id: member.member_id.encode() for member in answers[leader].members}
        syncs = [self.sync(member_id) for member_id in answers if member_id != leader]
        syncs.append(self.sync(leader, assignments))
        assert [sync.value.error_code for sync in syncs] == [0] * len(syncs)
        assert self.state is ClassicGroupState.STABLE
