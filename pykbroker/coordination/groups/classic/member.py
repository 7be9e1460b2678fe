"""One member of a classic group."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from pykbroker.runtime.waits import Deferred
from pykbroker.wire.internal.group_metadata import MemberMetadata
from pykbroker.wire.messages.join_group import JoinGroupResponse
from pykbroker.wire.messages.sync_group import SyncGroupResponse

#: (name, metadata) of the assignment protocols that a member offers, in order of preference.
Protocols = list[tuple[str, bytes]]


@dataclass(slots=True, eq=False)
class Member:
    """Identity, timeouts in milliseconds, offered protocols, assignment, and the request that waits."""

    member_id: str
    instance_id: str | None
    client_id: str
    #: With a slash before the address, as in Kafka.
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    #: True until its first generation: it cannot heartbeat before it knows its id.
    is_new: bool = False
    #: The JoinGroup or SyncGroup that waits.
    joining: Deferred[JoinGroupResponse] | None = field(default=None, repr=False)
    syncing: Deferred[SyncGroupResponse] | None = field(default=None, repr=False)
    #: The end of its session without a heartbeat, in monotonic seconds.
    deadline: float = math.inf

    @property
    def waits_patiently(self) -> bool:
        """Whether its session cannot time out now: a request of it waits, and it knows its id."""
        return not self.is_new and (self.joining is not None or self.syncing is not None)

    def metadata(self, protocol: str | None) -> bytes:
        """Its metadata for the protocol of this name. Raises KeyError if it does not offer it."""
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        raise KeyError(protocol)

    def vote(self, candidates: set[str]) -> str:
        """The candidate that it prefers. Every member offers all candidates, so there is one."""
        return next(name for name, _ in self.protocols if name in candidates)


def restored_member(stored: MemberMetadata, protocol: str | None, known: Member | None) -> Member:
    """A member out of its group's record. A ``known`` member that offers the recorded protocol is kept, with its other
    protocols and its waiting request, which are in no record.
    """
    offered = (protocol or "", stored.subscription)
    member = known if known is not None and offered in known.protocols else None
    if member is None:
        member = Member(stored.member_id, stored.group_instance_id, "", "", 0, 0, [offered])
    member.client_id = stored.client_id
    member.client_host = stored.client_host
    member.session_timeout_ms = stored.session_timeout
    # Records of version 0 do not have it.
    member.rebalance_timeout_ms = stored.rebalance_timeout if stored.rebalance_timeout >= 0 else stored.session_timeout
    member.assignment = stored.assignment
    return member
