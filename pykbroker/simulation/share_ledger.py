"""What members of a share group were given and what they said of it: which of them may have a record, and what may become of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pykbroker.share_partitions.states import Acknowledge

if TYPE_CHECKING:
    from pykbroker.simulation.history import History
    from pykbroker.simulation.network import Link
    from pykbroker.simulation.process import Machine
    from pykbroker.simulation.world import World

#: A topic id and an index.
Where = tuple[bytes, int]

#: What takes a record out of the group's way, if it is carried out.
ENDS = frozenset({Acknowledge.ACCEPT, Acknowledge.REJECT, Acknowledge.GAP})


class RequestTime(NamedTuple):
    """When a member requested for records, and of which process: its answer may be read long after that has died."""

    ms: int
    life: int


class _Held(NamedTuple):
    """A delivery: the lock began when the request was sent, or later."""

    member: Machine
    link: Link | None
    requested: RequestTime
    received_ms: int
    times: int


class ShareLedger:
    """See the module. ``lock_ms`` and ``deliveries`` are the group's settings; ``life`` counts the processes that served it."""

    def __init__(self, world: World, history: History, lock_ms: int, deliveries: int) -> None:
        self.history = history
        self.life = 0
        #: Whether members release and reject no more, but for what nobody can process.
        self.quiet = False
        #: What was said of each offset, whether or not it was answered.
        self.said: dict[Where, dict[int, set[Acknowledge]]] = {}
        self._world = world
        self._lock_ms = lock_ms
        self._deliveries = deliveries
        #: Offsets that the group has answered to be done with, and when.
        self._over: dict[Where, dict[int, tuple[Acknowledge, int]]] = {}
        #: Offsets whose release was answered: the count of that delivery, and when. It is written, so it outlives every life.
        self._released: dict[Where, dict[int, tuple[int, int]]] = {}
        #: The count of each member's latest delivery.
        self._counts: dict[tuple[Machine, Where, int], int] = {}
        self._last: dict[tuple[Where, int], _Held] = {}
        #: Of those, what their members have not said anything of yet.
        self._holds: set[tuple[Where, int]] = set()
        world.server.died.append(self._died)

    def _died(self, manner: str) -> None:
        self.life += 1

    def request_time(self) -> RequestTime:
        """A member is about to ask for records."""
        return RequestTime(self._world.now_ms, self.life)

    def delivered(
        self, member: Machine, link: Link | None, where: Where, offset: int, count: int, requested: RequestTime
    ) -> None:
        """A member was given a record, for the ``count``-th time as the broker says."""
        now_ms, history = self._world.now_ms, self.history
        name = f"{where[0].hex()[-6:]}-{where[1]} {offset}"
        history.count("share delivery")
        if not 1 <= count <= self._deliveries:
            history.wrong(f"{name} is delivered for the {count}th time")
        over = self._over.get(where, {}).get(offset)
        if over is not None and over[1] <= requested.ms:
            history.wrong(f"{now_ms}: {name} is delivered again, after {over[0].name} was answered at {over[1]}")
        released = self._released.get(where, {}).get(offset)
        if released is not None and released[1] <= requested.ms and count <= released[0]:
            history.wrong(
                f"{now_ms}: {name} is delivered for the {count}th time, released after {released[0]} at {released[1]}"
            )
        last = self._last.get((where, offset))
        if last is not None and last.requested.life == requested.life and last.received_ms <= requested.ms:
            # The same count may come again: it is not written before the record is released, and a share partition that nobody has
            # a session of for a moment is read anew. While the disk takes nothing, not even a lock that is over is written.
            if count < last.times and self._world.disk.fail is None:
                history.wrong(f"{now_ms}: {name} is delivered for the {count}th time after the {last.times}th")
            holds = (
                (where, offset) in self._holds and last.member.alive and last.link is not None and not last.link.closed
            )
            if holds and last.member is not member and now_ms < last.requested.ms + self._lock_ms:
                history.wrong(
                    f"{now_ms}: {member.name} gets {name}, which {last.member.name} has since {last.requested.ms}"
                )
        if count > 1:
            history.count("share delivery again")
        self._last[where, offset] = _Held(member, link, requested, now_ms, count)
        self._counts[member, where, offset] = count
        self._holds.add((where, offset))

    def saying(self, where: Where, said: list[tuple[int, Acknowledge]]) -> None:
        """A member is about to say what became of records."""
        known = self.said.setdefault(where, {})
        for offset, kind in said:
            self.history.count(f"share acknowledgement: {kind.name}")
            known.setdefault(offset, set()).add(kind)
            if kind is not Acknowledge.RENEW:
                self._holds.discard((where, offset))

    def done(self, member: Machine, where: Where, said: list[tuple[int, Acknowledge]]) -> None:
        """A member was answered that this is carried out. Where records are deleted nothing is done, and after a kill they may be there again."""
        cluster = self._world.server.cluster
        topic = None if cluster is None else cluster.metadata.image.topics_by_id.get(where[0])
        partition = None if cluster is None or topic is None else cluster.partition(topic.name, where[1])
        if partition is None:
            return
        said = [each for each in said if each[0] >= partition.log_start_offset]
        over = self._over.setdefault(where, {})
        over.update((offset, (kind, self._world.now_ms)) for offset, kind in said if kind in ENDS)
        released = self._released.setdefault(where, {})
        for offset, kind in said:
            if kind is Acknowledge.RELEASE:
                released[offset] = (self._counts[member, where, offset], self._world.now_ms)

    def left(self, member: Machine) -> None:
        """A member gives up all that it has."""
        self._holds = {each for each in self._holds if self._last[each].member is not member}

    def may_be_over(self, where: Where, offset: int) -> bool:
        """Whether a member has said of a record what takes it out of the group's way."""
        return bool(self.said.get(where, {}).get(offset, set()) & ENDS)

    def is_accepted(self, where: Where, offset: int) -> bool:
        """Whether a member has accepted a record, or said so and had no answer."""
        return Acknowledge.ACCEPT in self.said.get(where, {}).get(offset, ())
