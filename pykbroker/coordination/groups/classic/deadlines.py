"""The deadlines of a classic group, in monotonic seconds. One that has passed leads to a transition (``ClassicGroup.tick``):

session  no request of a member within its session timeout: the member is removed
id       an id that was answered with MEMBER_ID_REQUIRED (KIP-394) is not used in time: it is forgotten
joining  the time to join is up: those that have joined begin a generation
syncing  members that joined have sent no SyncGroup in time (KAFKA-12890): they are removed

A heartbeat only moves a deadline; the tick at ``wake_at`` finds those that have passed. So a heartbeat costs no timer.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pykbroker.coordination.groups.classic.member import Member
    from pykbroker.coordination.groups.classic.membership import Membership
    from pykbroker.runtime.clock import Clock


class GroupDeadlines:
    """See the module. Those of sessions and ids are kept with the members. ``wake_at`` is no later than the earliest of all."""

    __slots__ = ("_clock", "joining", "syncing", "wake_at")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.joining = math.inf
        self.syncing = math.inf
        self.wake_at = math.inf

    def now(self) -> float:
        return self._clock.monotonic()

    def touch(self, member: Member, timeout_ms: int | None = None) -> None:
        """Restart the member's session timeout."""
        ms = member.session_timeout_ms if timeout_ms is None else timeout_ms
        member.deadline = deadline = self._clock.monotonic() + ms / 1000
        if deadline < self.wake_at:  # noqa: PLR1730 - each heartbeat comes here
            self.wake_at = deadline

    def give_out(self, members: Membership, member_id: str, session_timeout_ms: int) -> None:
        """Remember an id that a client must use within one session timeout."""
        lapses = members.pending[member_id] = self._in(session_timeout_ms)
        self.wake_at = min(self.wake_at, lapses)

    def join_within(self, ms: int) -> None:
        """Set the time to join."""
        self.joining = self._in(ms)
        self.wake_at = min(self.wake_at, self.joining)

    def sync_within(self, ms: int) -> None:
        """Set the time to send SyncGroup."""
        self.syncing = self._in(ms)
        self.wake_at = min(self.wake_at, self.syncing)

    def joined(self) -> None:
        """Nobody is waited for any more."""
        self.joining = math.inf

    def synced(self) -> None:
        """No SyncGroup is waited for any more."""
        self.syncing = math.inf

    def end(self) -> None:
        """The group is dead: nothing wakes it any more."""
        self.joining = self.syncing = self.wake_at = math.inf

    def plan(self, members: Membership) -> None:
        """Set ``wake_at`` to the earliest deadline."""
        sessions = min((member.deadline for member in members), default=math.inf)
        lapses = min(members.pending.values(), default=math.inf)
        self.wake_at = min(sessions, lapses, self.joining, self.syncing)

    def _in(self, ms: int) -> float:
        return self._clock.monotonic() + ms / 1000


def lapsed(members: Membership, now: float) -> list[str]:
    """The ids that were given out and not used in time."""
    return [member_id for member_id, deadline in members.pending.items() if deadline <= now]


def silent(members: Membership, now: float) -> list[Member]:
    """The members whose session has timed out. That of one that waits for an answer begins anew with the answer."""
    found = []
    for member in members:
        if member.deadline <= now:
            if member.waits_patiently:
                member.deadline = math.inf
            else:
                found.append(member)
    return found
