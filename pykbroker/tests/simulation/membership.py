"""Members of a group of a story, who come, are troubled, and are replaced when they go."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from pykbroker.metadata.image import GROUP_RESOURCE
from pykbroker.tests.kit.metadata import alteration

if TYPE_CHECKING:
    from pykbroker.simulation.history import History
    from pykbroker.simulation.world import World

#: No more come than so many.
_MOST = 4


class Member(Protocol):
    """A client that is a member until it is told to leave."""

    leaving: bool

    def stall(self, ms: int) -> None: ...

    def crash(self) -> None: ...


M = TypeVar("M", bound=Member)


class Membership(Generic[M]):
    """See the module. What befalls members is drawn from the world's seed and ``name``."""

    #: Whose members they are in what is counted, and what befalls one, as often as it is named.
    kind: ClassVar[str]
    troubles: ClassVar[tuple[str, ...]]

    def __init__(self, world: World, history: History, name: str, group: str, members: int) -> None:
        self._world = world
        self._history = history
        self._draw = Random(f"{world.seed}/{name}")
        self._group = group
        self._count = members
        self._named = 0
        self.members: list[M] = []

    def member(self, number: int) -> M:
        """A new one, the ``number``th."""
        raise NotImplementedError

    def join(self, **settings: str) -> None:
        """The group has its settings, and the members come."""
        wait = self._world.server.running.controller.alter_configs(
            [alteration(GROUP_RESOURCE, self._group, **settings)], broker_id=1
        )
        self._world.run(1000, until=lambda: wait.done)
        for _ in range(self._count):
            self._add()

    def _add(self) -> None:
        self._named += 1
        self.members.append(self.member(self._named))

    def trouble(self) -> None:
        """Something befalls one member, or none."""
        member = self._draw.choice(self.members)
        what = self._draw.choice(self.troubles)
        self._history.count(f"{self.kind} member: {what}")
        if what == "stall":
            member.stall(self._draw.randint(1000, 10_000))
        elif what == "come" and len(self.members) < _MOST:
            self._add()
        elif what in ("crash", "leave"):
            if what == "crash":
                member.crash()
            else:
                member.leaving = True
            self.members.remove(member)
            self._add()
