"""Members of a classic group made of raw requests, each on a connection of its own."""

from __future__ import annotations

import select
import time

from compat_tests.oracle.connection import Connection
from pykbroker.wire.messages.heartbeat import HeartbeatRequest
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from pykbroker.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse

MEMBER_ID_REQUIRED = 79
JOIN, SYNC, BEAT = 9, 5, 4
_PATIENCE_S = 0.5
_LIMIT_S = 60.0


class GroupMember:
    """One member. ``protocols`` are names with opaque metadata, best first."""

    def __init__(self, bootstrap: str, group: str, protocol_type: str, protocols: dict[str, bytes]) -> None:
        self.connection = Connection(bootstrap)
        self.group = group
        self.protocol_type = protocol_type
        self.protocols = [JoinGroupRequestProtocol(name, metadata) for name, metadata in protocols.items()]
        self.member_id = ""
        self.joined = JoinGroupResponse()
        self._sent = 0

    def ask_join(self) -> JoinGroupResponse:
        """One JoinGroup and its answer."""
        self.send_join()
        return self.take_join()

    def send_join(self) -> None:
        request = JoinGroupRequest(
            self.group, 30_000, 60_000, self.member_id, protocol_type=self.protocol_type, protocols=self.protocols
        )
        self._sent = self.connection.send(request, JOIN)

    def take_join(self) -> JoinGroupResponse:
        self.joined = self.connection.receive(JoinGroupRequest.API_KEY, JOIN, self._sent)
        self.member_id = self.joined.member_id
        return self.joined

    def send_sync(self, assignments: dict[str, bytes]) -> None:
        request = SyncGroupRequest(
            self.group,
            self.joined.generation_id,
            self.member_id,
            protocol_type=self.protocol_type,
            protocol_name=self.joined.protocol_name,
            assignments=[SyncGroupRequestAssignment(to, what) for to, what in assignments.items()],
        )
        self._sent = self.connection.send(request, SYNC)

    def take_sync(self) -> SyncGroupResponse:
        return self.connection.receive(SyncGroupRequest.API_KEY, SYNC, self._sent)

    def beat(self) -> int:
        request = HeartbeatRequest(self.group, self.joined.generation_id, self.member_id)
        return self.connection.ask(request, BEAT).error_code

    def close(self) -> None:
        self.connection.close()


def generation(members: list[GroupMember]) -> list[GroupMember]:
    """Have all join until they are one generation, and share it out: each gets its own id. The leader comes first."""
    for member in members:
        if not member.member_id:
            assert member.ask_join().error_code == MEMBER_ID_REQUIRED
    _join_all(members)
    assert len({member.joined.generation_id for member in members}) == 1
    (leader,) = (member for member in members if member.member_id == member.joined.leader)
    ordered = [leader, *(member for member in members if member is not leader)]
    for member in ordered:
        member.send_sync({each.member_id: each.member_id.encode() for each in members} if member is leader else {})
    for member in ordered:
        synced = member.take_sync()
        assert (synced.error_code, synced.assignment) == (0, member.member_id.encode())
    return ordered


def _join_all(members: list[GroupMember]) -> None:
    """All join. Those who were answered before others came join again, as heartbeats would have told them to."""
    waiting: dict[int, GroupMember] = {}

    def send(to: list[GroupMember]) -> None:
        for member in to:
            member.send_join()
            waiting[member.connection.fileno()] = member

    send(members)
    deadline = time.monotonic() + _LIMIT_S
    while waiting:
        assert time.monotonic() < deadline, f"{len(waiting)} members were not answered"
        poll = select.poll()
        for number in waiting:
            poll.register(number, select.POLLIN)
        ready = poll.poll(_PATIENCE_S * 1000)
        for number, _ in ready:
            assert waiting.pop(number).take_join().error_code == 0
        if not ready:
            send([member for member in members if member not in waiting.values()])
