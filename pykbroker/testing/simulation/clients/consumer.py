"""A consumer of the classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, and what it reads in between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pykbroker.testing.simulation.clients import assignors
from pykbroker.testing.simulation.clients.client import COORDINATOR_ERRORS, GROUP, RETRY_MS, Client, Refused
from pykbroker.testing.simulation.clients.positions import Positions
from pykbroker.testing.simulation.clients.transactions import Membership
from pykbroker.testing.simulation.network import Disconnected
from pykbroker.testing.simulation.process import Steps
from wire.errors import ErrorCode
from wire.messages.heartbeat import HeartbeatRequest
from wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

if TYPE_CHECKING:
    from pykbroker.testing.simulation.clients.client import TopicPartition
    from pykbroker.testing.simulation.clients.reading import Found
    from pykbroker.testing.simulation.history import History
    from pykbroker.testing.simulation.world import World

SESSION_MS = 6_000
_REBALANCE_MS = 10_000
_HEARTBEAT_MS = 2_000
_COMMIT_EVERY = 3
_METADATA_EVERY = 8


class MembershipLost(Exception):
    """The group does not know this member any more."""


class ClassicConsumer(Client):
    """A member of ``group``, with one of the assignors of ``assignors``; with ``instance_id`` a static one."""

    def __init__(
        self,
        world: World,
        history: History,
        name: str,
        group: str,
        topics: list[str],
        *,
        assignor: str = assignors.RANGE,
        instance_id: str | None = None,
    ) -> None:
        super().__init__(world, history, name)
        self.group = group
        self.positions = Positions(self, group)
        #: Set to make it leave the group and end.
        self.leaving = False
        self._topics = topics
        self._assignor = assignor
        self._instance_id = instance_id
        self._member_id = ""
        self._generation = -1
        self._owned: list[TopicPartition] = []
        self._leads = False
        self._partitions: list[TopicPartition] = []
        #: What the heartbeats found: a rebalance, or that the member is lost; None while the member is not in the group.
        self._found: ErrorCode | None = None
        self._polls = 0
        self.spawn(self._run())
        self.spawn(self._beat())

    @property
    def membership(self) -> Membership:
        """Who it is in its group."""
        return Membership(self.group, self._generation, self._member_id, self._instance_id)

    @property
    def _in_group(self) -> bool:
        return self._found is not None

    def _run(self) -> Steps[None]:
        while not self.leaving:
            try:
                yield from self._rebalance()
                while self._found is ErrorCode.NONE and not self.leaving:
                    yield from self._poll()
                if self._found is ErrorCode.UNKNOWN_MEMBER_ID:
                    raise MembershipLost
            except MembershipLost:
                self.history.count("lost membership")
                self._forget()
            except Disconnected:
                yield from self.pause(RETRY_MS)
            except Refused:  # a topic was deleted: the next assignment is without it
                self._found = ErrorCode.REBALANCE_IN_PROGRESS
                yield from self.pause(RETRY_MS)
        yield from self._leave()

    def _forget(self) -> None:
        self._member_id, self._generation, self._found = "", -1, None
        self._own([])

    def _own(self, partitions: list[TopicPartition]) -> None:
        self._owned = partitions
        self.positions.keep(partitions)

    # In and out

    def _rebalance(self) -> Steps[None]:
        if self._assignor == assignors.RANGE:
            yield from self.revoke()
            self._own([])
        self._found = None
        joined = yield from self._join()
        self._generation, self._leads = joined.generation_id, joined.leader == self._member_id
        self._found = ErrorCode.NONE
        share = yield from self._sync(joined)
        self.history.count("assignment")
        self.history.assigned(self.group, self._generation, self._instance_id or self._member_id, share)
        given_up = [where for where in self._owned if where not in share]
        if given_up:
            yield from self.revoke()
            self._found = ErrorCode.REBALANCE_IN_PROGRESS  # so that they can be given to others
        added = [where for where in share if where not in self._owned]
        self._own(share)
        code = yield from self.positions.load(added)
        if code:
            raise MembershipLost

    def revoke(self) -> Steps[None]:
        """Finish what was begun with the partitions that are about to be lost."""
        if self._owned and self._found is not None:
            try:
                yield from self.commit()
            except (MembershipLost, Disconnected):
                self.history.count("commit failed")

    def _join(self) -> Steps[JoinGroupResponse]:
        while True:
            metadata = assignors.subscription(self._topics, self._owned, self._generation)
            request = JoinGroupRequest(
                self.group,
                SESSION_MS,
                _REBALANCE_MS,
                self._member_id,
                self._instance_id,
                "consumer",
                [JoinGroupRequestProtocol(self._assignor, metadata)],
            )
            try:
                answer: JoinGroupResponse = yield from self.ask_coordinator(GROUP, self.group, request, 9)
            except Disconnected:
                yield from self.pause(RETRY_MS)
                continue
            code = ErrorCode(answer.error_code)
            if code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
                self._member_id = answer.member_id
            if code is ErrorCode.NONE:
                return answer
            if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
                self._forget()
            if code is not ErrorCode.MEMBER_ID_REQUIRED:
                self._look_again(code)
                yield from self.pause(RETRY_MS)

    def _sync(self, joined: JoinGroupResponse) -> Steps[list[TopicPartition]]:
        assignments: list[SyncGroupRequestAssignment] = []
        if self._leads:
            self._partitions = yield from self.partitions(self._topics)
            if not joined.skip_assignment:
                metadata = {each.member_id: each.metadata for each in joined.members}
                share = (
                    assignors.by_range(list(metadata), self._partitions)
                    if self._assignor == assignors.RANGE
                    else assignors.cooperatively(metadata, self._partitions)
                )
                assignments = [SyncGroupRequestAssignment(m, assignors.encode_share(s)) for m, s in share.items()]
        request = SyncGroupRequest(
            self.group,
            self._generation,
            self._member_id,
            self._instance_id,
            "consumer",
            joined.protocol_name,
            assignments,
        )
        answer = yield from self._member_request(request, 5)
        return assignors.decode_share(answer.assignment)

    def _leave(self) -> Steps[None]:
        yield from self.revoke()
        self._found = None
        request = LeaveGroupRequest(self.group, members=[MemberIdentity(self._member_id, self._instance_id)])
        while self._member_id:
            try:
                answer = yield from self.ask_coordinator(GROUP, self.group, request, 5)
            except Disconnected:
                yield from self.pause(RETRY_MS)
                continue
            if answer.error_code not in COORDINATOR_ERRORS:
                return
            self.forget_coordinator(GROUP, self.group)

    def _member_request(self, request: SyncGroupRequest, version: int) -> Steps[Any]:
        """A good answer. Raises Disconnected, and MembershipLost; a rebalance makes it join again by Disconnected too."""
        answer = yield from self.ask_coordinator(GROUP, self.group, request, version)
        self._check(ErrorCode(answer.error_code))
        if answer.error_code:
            raise Disconnected
        return answer

    def _look_again(self, code: ErrorCode) -> None:
        if code in COORDINATOR_ERRORS:
            self.forget_coordinator(GROUP, self.group)

    def _check(self, code: ErrorCode) -> None:
        """Note what an answer says of the membership. Raises MembershipLost."""
        self._look_again(code)
        if code is ErrorCode.REBALANCE_IN_PROGRESS:
            self._found = code
        elif code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.FENCED_INSTANCE_ID):
            self.history.count(code.name)
            raise MembershipLost

    def _beat(self) -> Steps[None]:
        while True:
            yield from self.pause(_HEARTBEAT_MS)
            if not self._in_group:
                continue
            member = self.membership
            try:
                answer = yield from self.ask_coordinator(GROUP, self.group, HeartbeatRequest(*member), 4)
                if member == self.membership:
                    self._check(ErrorCode(answer.error_code))
            except Disconnected:
                continue
            except MembershipLost:
                self._found = ErrorCode.UNKNOWN_MEMBER_ID

    # In between

    def _poll(self) -> Steps[None]:
        self._polls += 1
        if self._leads and self._polls % _METADATA_EVERY == 0:
            partitions = yield from self.partitions(self._topics)
            if partitions != self._partitions:
                self._found = ErrorCode.REBALANCE_IN_PROGRESS
                return
        if not self.positions.offsets:
            yield from self.pause(500)
            return
        found = yield from self.positions.fetch()
        yield from self.process({where: records for where, records in found.items() if where in self._owned})

    def process(self, found: dict[TopicPartition, list[Found]]) -> Steps[None]:
        """Do what is to be done with records, and commit now and then."""
        for records in found.values():
            for record in records:
                self.history.consumed(self.group, record.value)
        if self._polls % _COMMIT_EVERY == 0:
            yield from self.commit()

    def commit(self) -> Steps[None]:
        """Commit the positions. Raises Disconnected and MembershipLost."""
        offsets = dict(self.positions.offsets)
        topics: dict[str, list[OffsetCommitRequestPartition]] = {}
        for (topic, index), offset in offsets.items():
            topics.setdefault(topic, []).append(OffsetCommitRequestPartition(index, offset))
        request = OffsetCommitRequest(
            self.group,
            self._generation,
            self._member_id,
            self._instance_id,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=found) for topic, found in topics.items()],
        )
        answer = yield from self.ask_coordinator(GROUP, self.group, request, 9)
        codes = {ErrorCode(each.error_code) for topic in answer.topics for each in topic.partitions}
        for code in codes:
            self._check(code)
        if codes == {ErrorCode.NONE}:
            self.history.committed(self.group, offsets)
