"""A consumer of the classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, and what it reads in between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pykbroker.simulation.clients import assignors
from pykbroker.simulation.clients.client import COORDINATOR_ERRORS, GROUP, RETRY_MS, RequestRefused
from pykbroker.simulation.clients.group_consumer import (
    HEARTBEAT_MS,
    SESSION_MS,
    GroupConsumer,
    MembershipLost,
)
from pykbroker.simulation.network import Disconnected
from pykbroker.simulation.process import Steps
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from pykbroker.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

if TYPE_CHECKING:
    from pykbroker.simulation.clients.client import TopicPartition
    from pykbroker.simulation.history import History
    from pykbroker.simulation.world import World

_REBALANCE_MS = 10_000
_METADATA_EVERY = 8


class ClassicConsumer(GroupConsumer):
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
        super().__init__(world, history, name, group, topics, instance_id)
        self._assignor = assignor
        self._leads = False
        self._partitions: list[TopicPartition] = []
        #: What the heartbeats found: a rebalance, or that the member is lost; None while the member is not in the group.
        self._found: ErrorCode | None = None
        self.spawn(self._run())
        self.spawn(self._beat())

    @property
    def _in_group(self) -> bool:
        return self._found is not None

    @property
    def rebalancing(self) -> bool:
        return self._found is not ErrorCode.NONE

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
            except RequestRefused:  # a topic was deleted: the next assignment is without it
                self._found = ErrorCode.REBALANCE_IN_PROGRESS
                yield from self.pause(RETRY_MS)
        yield from self._leave()

    def _forget(self) -> None:
        self._member_id, self._generation, self._found = "", -1, None
        self._own([])

    # In and out

    def _rebalance(self) -> Steps[None]:
        if self._assignor == assignors.RANGE:
            yield from self.revoke()
            self._own([])
        self._found = None
        was_in = self.holds_still(self.world.now_ms)
        joined = yield from self._join()
        if (
            not was_in
        ):  # a consumer group takes a classic member back under the id that it had (as Kafka's does), with its offsets
            for where in self._owned:
                self.history.set_back_to(self.group, where)
        self._generation, self._leads = joined.generation_id, joined.leader == self._member_id
        self._found = ErrorCode.NONE
        share = yield from self._sync(joined)
        self.history.count("assignment")
        if self.holds_still(self.world.now_ms):  # else it stalled, and the group may have been forgotten meanwhile
            self.history.assigned(self.group, self._generation, self.instance_id or self._member_id, share)
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
                self.instance_id,
                "consumer",
                [JoinGroupRequestProtocol(self._assignor, metadata)],
            )
            sent_ms = self.world.now_ms
            try:
                answer: JoinGroupResponse = yield from self.ask_coordinator(GROUP, self.group, request, 9)
            except Disconnected:
                yield from self.pause(RETRY_MS)
                continue
            code = ErrorCode(answer.error_code)
            if code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
                self._member_id = answer.member_id
            if code is ErrorCode.NONE:
                self.last_heartbeat_ms = sent_ms
                return answer
            if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
                self._forget()
            if code is not ErrorCode.MEMBER_ID_REQUIRED:
                if code in COORDINATOR_ERRORS:
                    self.forget_coordinator(GROUP, self.group)
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
            self.instance_id,
            "consumer",
            joined.protocol_name,
            assignments,
        )
        answer = yield from self._member_request(request, 5)  # in a stable group no sign of life
        return assignors.decode_share(answer.assignment)

    def _leave(self) -> Steps[None]:
        yield from self.revoke()
        self._own([])
        self._found = None
        request = LeaveGroupRequest(self.group, members=[MemberIdentity(self._member_id, self.instance_id)])
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

    def _check(self, code: ErrorCode) -> None:
        if code is ErrorCode.REBALANCE_IN_PROGRESS:
            self._found = code
        super()._check(code)

    def _beat(self) -> Steps[None]:
        while True:
            yield from self.pause(HEARTBEAT_MS)
            if not self._in_group:
                continue
            member, sent_ms = self.membership, self.world.now_ms
            try:
                answer = yield from self.ask_coordinator(GROUP, self.group, HeartbeatRequest(*member), 4)
                if member == self.membership:
                    self._check(ErrorCode(answer.error_code))
                    self.last_heartbeat_ms = sent_ms if answer.error_code == ErrorCode.NONE else self.last_heartbeat_ms
            except Disconnected:
                continue
            except MembershipLost:
                self._found = ErrorCode.UNKNOWN_MEMBER_ID

    # In between

    def _poll(self) -> Steps[None]:
        if self._leads and self._polls % _METADATA_EVERY == 0:
            partitions = yield from self.partitions(self._topics)
            if partitions != self._partitions:
                self._found = ErrorCode.REBALANCE_IN_PROGRESS
                return
        yield from self._read()
