"""The deadlines of a streams group: its members' sessions, the tasks that they give up, and the wait for the first assignment.

A member is fenced if its session ends, or if it does not give up its tasks within the rebalance timeout, at the same epoch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pykbroker.coordination.groups.streams.member import StreamsMember
    from pykbroker.runtime.clock import Clock

_RETRY_S = 0.5  # the coordinator runtime's, in Kafka


@dataclass(slots=True)
class _StreamsWatch:
    """Monotonic seconds; ``epoch`` is the member's when it was told to give up tasks."""

    session: float = math.inf
    revoking: float = math.inf
    epoch: int = 0

    @property
    def earliest(self) -> float:
        return min(self.session, self.revoking)


class StreamsDeadlines:
    """By member id. ``wake_at`` is no later than the earliest."""

    __slots__ = ("_clock", "_watched", "initial_delay", "wake_at")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._watched: dict[str, _StreamsWatch] = {}
        self.wake_at = math.inf
        #: When the first assignment is computed; infinity if nothing waits for it.
        self.initial_delay = math.inf

    def restart_session(self, member_id: str, timeout_ms: int) -> None:
        """Restart the member's session timeout."""
        self._watch(member_id).session = self._in(timeout_ms)

    def expect_revocation(self, member: StreamsMember) -> None:
        """The member was told to give up tasks."""
        watch = self._watch(member.member_id)
        watch.revoking = self._in(member.rebalance_timeout_ms)
        watch.epoch = member.epoch

    def revoked(self, member_id: str) -> None:
        """The member has no tasks to give up."""
        if member_id in self._watched:
            self._watched[member_id].revoking = math.inf

    @property
    def waits_for_members(self) -> bool:
        """Whether the first assignment waits for further members."""
        return self.initial_delay < math.inf

    def begin_initial_delay(self, delay_ms: int) -> None:
        """The group waits for further members, unless it does already."""
        if self.initial_delay == math.inf:
            self.initial_delay = self._in(delay_ms)

    def initial_delay_is_over(self) -> bool:
        """Whether the wait for the first assignment ends now; it ends once."""
        if self._clock.monotonic() < self.initial_delay:
            return False
        self.initial_delay = math.inf
        return True

    def forget(self, member_id: str) -> None:
        """The member is gone."""
        self._watched.pop(member_id, None)

    def due(self, members: Mapping[str, StreamsMember]) -> list[tuple[StreamsMember, str]]:
        """The members of which a deadline has passed, and which. Members that remain (the log could not be written) are due again
        a little later.
        """
        now = self._clock.monotonic()
        over: list[tuple[StreamsMember, str]] = []
        for member_id, watch in list(self._watched.items()):
            member = members.get(member_id)
            if member is None:
                del self._watched[member_id]
            elif watch.session <= now:
                over.append((member, "the member session expired."))
            elif watch.revoking <= now and watch.epoch == member.epoch:
                over.append(
                    (
                        member,
                        f"it failed to transition from epoch {member.epoch} within {member.rebalance_timeout_ms}ms.",
                    )
                )
            elif watch.revoking <= now:
                watch.revoking = math.inf
        for member, _ in over:
            self._watched[member.member_id] = _StreamsWatch(session=now + _RETRY_S)
        earliest = min((watch.earliest for watch in self._watched.values()), default=math.inf)
        self.wake_at = min(earliest, self.initial_delay)
        return over

    def _watch(self, member_id: str) -> _StreamsWatch:
        return self._watched.setdefault(member_id, _StreamsWatch())

    def _in(self, milliseconds: int) -> float:
        deadline = self._clock.monotonic() + milliseconds / 1000
        self.wake_at = min(self.wake_at, deadline)
        return deadline
