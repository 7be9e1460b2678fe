"""The deadlines of a consumer group's members. A member is fenced if one passes:

session   no heartbeat within the session timeout
revoking  partitions not revoked within the rebalance timeout, at the same epoch
joining   a classic member that must rejoin has not
syncing   a classic member that joined has sent no SyncGroup
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pykbroker.coordination.groups.consumer.member import ConsumerMember, MemberState

if TYPE_CHECKING:
    from pykbroker.runtime.clock import Clock

log = logging.getLogger(__name__)

_RETRY_S = 0.5  # the coordinator runtime's, in Kafka


@dataclass(slots=True)
class _Watch:
    """Monotonic seconds; ``epoch`` is the member's when it was asked to revoke."""

    session: float = math.inf
    revoking: float = math.inf
    joining: float = math.inf
    syncing: float = math.inf
    epoch: int = 0

    @property
    def earliest(self) -> float:
        return min(self.session, self.revoking, self.joining, self.syncing)


class MemberDeadlines:
    """By member id. ``wake_at`` is no later than the earliest."""

    __slots__ = ("_clock", "_watched", "wake_at")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._watched: dict[str, _Watch] = {}
        self.wake_at = math.inf

    def restart_session(self, member_id: str, session_timeout_ms: int) -> None:
        """Restart the member's session timeout."""
        watch = self._watched.get(member_id) or self._watch(member_id)
        now = self._clock.monotonic()
        watch.session = deadline = now + session_timeout_ms / 1000  # as ``_in`` has it; here for each heartbeat
        if deadline < self.wake_at:  # noqa: PLR1730 - min() is a call more
            self.wake_at = deadline

    def watch_revocation(self, member: ConsumerMember) -> None:
        """Set the deadline of a member that has partitions to revoke; clear it if it has none."""
        watch = self._watch(member.member_id)
        if member.classic is None and member.state is MemberState.UNREVOKED_PARTITIONS:
            watch.revoking = self._in(member.rebalance_timeout_ms)
            watch.epoch = member.epoch
        else:
            watch.revoking = math.inf

    def expect_join(self, member_id: str, timeout_ms: int) -> None:
        """A classic member was told to rejoin: set its deadline, unless it is set."""
        watch = self._watch(member_id)
        if watch.joining == math.inf:
            watch.joining = self._in(timeout_ms)

    def expect_sync(self, member_id: str, timeout_ms: int) -> None:
        """A classic member has joined: set the deadline of its SyncGroup."""
        watch = self._watch(member_id)
        watch.joining = math.inf
        watch.syncing = self._in(timeout_ms)

    def synced(self, member_id: str) -> None:
        """A classic member has sent SyncGroup."""
        self._watch(member_id).syncing = math.inf

    def forget(self, member_id: str) -> None:
        """The member is gone."""
        self._watched.pop(member_id, None)

    def due(self, members: dict[str, ConsumerMember]) -> list[str]:
        """The members of which a deadline has passed. Members that remain (the log could not be written) are due again a
        little later.
        """
        now = self._clock.monotonic()
        over = []
        for member_id, watch in list(self._watched.items()):
            if watch.earliest <= now:
                reason = _reason(watch, now, members.get(member_id))
                if member_id not in members:
                    del self._watched[member_id]
                elif reason:
                    log.info("Member %s is fenced: %s", member_id, reason)
                    watch.session = now + _RETRY_S
                    watch.revoking = watch.joining = watch.syncing = math.inf
                    over.append(member_id)
        self.wake_at = min((watch.earliest for watch in self._watched.values()), default=math.inf)
        return over

    def _watch(self, member_id: str) -> _Watch:
        watch = self._watched.get(member_id)
        if watch is None:
            watch = self._watched[member_id] = _Watch()
        return watch

    def _in(self, timeout_ms: int) -> float:
        deadline = self._clock.monotonic() + timeout_ms / 1000
        self.wake_at = min(self.wake_at, deadline)
        return deadline


def _reason(watch: _Watch, now: float, member: ConsumerMember | None) -> str:
    """The reason to fence a member; empty if there is none."""
    if watch.session <= now:
        return "its session expired"
    if watch.joining <= now:
        return "it did not join again within its rebalance timeout"
    if watch.syncing <= now:
        return "it did not sync within its rebalance timeout"
    watch.revoking = math.inf
    moved_on = member is None or member.epoch != watch.epoch
    return "" if moved_on else f"it did not leave epoch {watch.epoch} within its rebalance timeout"
