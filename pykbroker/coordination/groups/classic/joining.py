"""JoinGroup: which member is admitted, under which id, and whether the group rebalances.

Each state handles a known member as follows:

    PREPARING_REBALANCE   it waits for the others
    COMPLETING_REBALANCE  the generation once more if nothing changed (its answer was lost), else a new rebalance
    STABLE                the same for a follower; a leader that joins wants a new assignment, so a new rebalance
    EMPTY                 UNKNOWN_MEMBER_ID: it was removed

A JoinGroup or SyncGroup that is answered at once does not restart the member's session timeout: Heartbeat, OffsetCommit and the
completion of a rebalance do.
"""

from __future__ import annotations

from functools import partial
from random import Random
from uuid import UUID

from pykbroker.coordination.groups.classic.answers import joined, not_assigned, not_joined
from pykbroker.coordination.groups.classic.group import ClassicGroup, ClassicGroupState
from pykbroker.coordination.groups.classic.member import Member, Protocols
from pykbroker.coordination.outcome import Outcome
from pykbroker.runtime.waits import Deferred
from pykbroker.security.context import RequestContext
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

KNOWN_ID_SINCE = 4  # KIP-394: a dynamic member is given an id first and must rejoin with it
_SKIP_ASSIGNMENT_SINCE = 9  # KIP-814: a returning static leader is told to skip the assignment


class Joining:
    """One JoinGroup request."""

    __slots__ = ("_random", "context", "protocols", "reply", "request")

    def __init__(
        self, context: RequestContext, request: JoinGroupRequest, reply: Deferred[JoinGroupResponse], random: Random
    ) -> None:
        self.context = context
        self.request = request
        self.reply = reply
        self.protocols: Protocols = [(protocol.name, protocol.metadata) for protocol in request.protocols]
        self._random = random

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self.protocols}

    @property
    def reason(self) -> str:
        return self.request.reason or "not provided"

    def new_member_id(self) -> str:
        """Client or instance id and a random UUID, as Kafka's coordinator makes them."""
        name = self.request.group_instance_id
        if name is None:
            name = self.context.client_id or ""
        return f"{name}-{UUID(int=self._random.getrandbits(128), version=4)}"

    def rebalance_timeout_ms(self) -> int:
        """The rebalance timeout; version 0 has no such field, so it is the session timeout."""
        stated = self.request.rebalance_timeout_ms
        return stated if self.context.api_version > 0 else self.request.session_timeout_ms

    def refused(self, code: ErrorCode, out: Outcome, member_id: str | None = None) -> Outcome:
        """Reply with an error, to the member id of the request or to ``member_id``."""
        shown = self.request.member_id if member_id is None else member_id
        out.reply(self.reply, not_joined(code, shown))
        return out


def join(group: ClassicGroup, joining: Joining) -> Outcome:
    """Handle one JoinGroup. The reply comes at once or at the end of the rebalance."""
    out = Outcome()
    request = joining.request
    if not group.accepts(request.member_id):
        group.members.remove(request.member_id)
        group.complete_if_joined(out)
        return joining.refused(ErrorCode.GROUP_MAX_SIZE_REACHED, out, member_id="")
    if group.state is ClassicGroupState.DEAD:
        return joining.refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, out)
    if not group.supports(request.protocol_type, joining.names):
        return joining.refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, out)
    if request.member_id == "":
        _join_unknown(group, joining, out)
    elif request.member_id in group.members.pending and request.group_instance_id is None:
        _add(group, joining, request.member_id, out)
    else:
        _join_known(group, joining, out)
    return out


def _join_unknown(group: ClassicGroup, joining: Joining, out: Outcome) -> None:
    """A member without an id: new, or a static one that restarted."""
    member_id = joining.new_member_id()
    static_id = group.members.static_id(joining.request.group_instance_id)
    if static_id is not None:
        _replace_static(group, joining, static_id, member_id, out)
    elif joining.request.group_instance_id is None and joining.context.api_version >= KNOWN_ID_SINCE:
        group.deadlines.give_out(group.members, member_id, joining.request.session_timeout_ms)
        joining.refused(ErrorCode.MEMBER_ID_REQUIRED, out, member_id)
    else:
        _add(group, joining, member_id, out)


def _add(group: ClassicGroup, joining: Joining, member_id: str, out: Outcome) -> None:
    request = joining.request
    if not len(group.members):
        group.protocol_type = request.protocol_type
    group.note_added()
    member = Member(
        member_id=member_id,
        instance_id=request.group_instance_id,
        client_id=joining.context.client_id or "",
        client_host=f"/{joining.context.client_host}",
        rebalance_timeout_ms=joining.rebalance_timeout_ms(),
        session_timeout_ms=request.session_timeout_ms,
        protocols=joining.protocols,
        is_new=True,
        joining=joining.reply,
    )
    group.members.add(member)
    group.deadlines.touch(member, group.settings.new_member_join_timeout_ms)
    group.rebalance_or_complete(f"adding member {member_id}; client reason: {joining.reason}", out)


def _join_known(group: ClassicGroup, joining: Joining, out: Outcome) -> None:
    request = joining.request
    try:
        member = group.members.validate(request.member_id, request.group_instance_id)
    except KafkaError as error:
        joining.refused(error.code, out)
        return
    changed = member.protocols != joining.protocols
    leads = group.members.leader == member.member_id
    if (
        group.state is ClassicGroupState.PREPARING_REBALANCE
        or (group.state is ClassicGroupState.COMPLETING_REBALANCE and changed)
        or (group.state is ClassicGroupState.STABLE and (changed or leads))
    ):
        _update(group, joining, member, out)
        group.rebalance_or_complete(f"member {member.member_id} joins again; client reason: {joining.reason}", out)
    elif group.state is ClassicGroupState.EMPTY:
        joining.refused(ErrorCode.UNKNOWN_MEMBER_ID, out)
    else:
        out.reply(joining.reply, joined(group, member))


def _update(group: ClassicGroup, joining: Joining, member: Member, out: Outcome) -> None:
    """Update a member from its JoinGroup, which now waits; an earlier JoinGroup of the member that waits is answered."""
    superseded = not_joined(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
    out.reply(member.joining, superseded)
    group.members.set_protocols(member, joining.protocols)
    group.members.set_joining(member, joining.reply)
    member.rebalance_timeout_ms = joining.rebalance_timeout_ms()
    member.session_timeout_ms = joining.request.session_timeout_ms


def _replace_static(group: ClassicGroup, joining: Joining, old_id: str, new_id: str, out: Outcome) -> None:
    """A static member rejoined under its ``group.instance.id`` with a new member id and replaces the old one, whose waiting
    requests are fenced. If the group is stable and keeps its protocol, there is no rebalance.
    """
    old = group.members[old_id]
    out.reply(old.joining, not_joined(ErrorCode.FENCED_INSTANCE_ID, old_id))
    out.reply(old.syncing, not_assigned(ErrorCode.FENCED_INSTANCE_ID))
    was_leader = group.members.leader
    new = Member(
        member_id=new_id,
        instance_id=old.instance_id,
        client_id=old.client_id,
        client_host=old.client_host,
        rebalance_timeout_ms=joining.rebalance_timeout_ms(),
        session_timeout_ms=joining.request.session_timeout_ms,
        protocols=joining.protocols,
        assignment=old.assignment,
        joining=joining.reply,
    )
    group.members.replace(old_id, new)
    group.deadlines.touch(new)
    if group.state is ClassicGroupState.STABLE and group.members.select_protocol() == group.protocol:
        assignments = {member.member_id: member.assignment for member in group.members}
        out.records.append(group.at_rest(group.generation, assignments))
        out.then = partial(_replaced, group, joining, new, was_leader)
        out.otherwise = partial(_not_replaced, group, joining, old, new)
    elif group.state is ClassicGroupState.COMPLETING_REBALANCE:
        # The leader may be computing an assignment for the old id, which no member would get.
        group.prepare_rebalance(f"static member {new_id} replaced {old_id}; client reason: {joining.reason}", out)
    else:
        group.rebalance_or_complete(
            f"static member {new_id} changes the protocol; client reason: {joining.reason}", out
        )


def _replaced(group: ClassicGroup, joining: Joining, new: Member, was_leader: str | None) -> Outcome:
    out = Outcome()
    group.members.set_joining(new, None)
    if joining.context.api_version >= _SKIP_ASSIGNMENT_SINCE:
        response = joined(group, new, skip_assignment=group.members.leader == new.member_id)
    else:
        # An older client must not consider itself the leader, or it would assign again: its answer has the old id as leader.
        response = joined(group, new)
        response.leader = was_leader or ""
        response.members = []
    out.reply(joining.reply, response)
    return out


def _not_replaced(group: ClassicGroup, joining: Joining, old: Member, new: Member, error: ErrorCode) -> Outcome:
    """The log could not be written: the old member stays."""
    old.joining = old.syncing = None
    group.members.replace(new.member_id, old)
    group.deadlines.touch(old)
    return joining.refused(error, Outcome(), member_id="")
