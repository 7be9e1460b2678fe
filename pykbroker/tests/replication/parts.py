"""What events make of the parts of states, by their numbers: the machines run once for each part and event, however many states have it.

An event happens to one broker, with what is common to all; the others are told what it changes of that. The machines are rebuilt from the
part alone, so nothing that matters is outside of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from pykbroker.tests.replication.model import LAG_MS, Bounds, ModelCluster, Violation
from pykbroker.tests.replication.numbering import Numbers
from pykbroker.tests.replication.rebuilding import cluster_of, fetch_of
from pykbroker.tests.replication.states import is_ignored, settle

#: What does not happen to one broker, with its own messages.
_ELSEWHERE: Final = frozenset({"answer", "elect", "elect_unclean", "lag"})


class Happened(NamedTuple):
    """What becomes of what is common, and of a part; ``appended`` is 1 where a record was."""

    common: int
    part: int
    appended: int = 0


class Turn(NamedTuple):
    """What may happen to a broker. ``received`` is its part after the only answer on its way to it, where that waits for the next fetch."""

    happened: tuple[Happened, ...]
    received: int | None


class Parts:
    """See the module.

    With ``patient`` an answer that nothing can overtake waits until the next fetch is answered, and is received right before: nobody else
    notices any of it until then. That it is received is looked at wherever it might be.
    """

    def __init__(self, bounds: Bounds, *, patient: bool) -> None:
        self.numbers = Numbers()
        self._bounds = bounds
        self._patient = patient
        self._turns: dict[tuple[int, int, int], Turn] = {}
        self._answered: dict[tuple[int, int, int], tuple[int, int, int]] = {}
        self._changed: dict[tuple[Any, ...], int] = {}
        self._later: dict[tuple[int, int], Happened] = {}
        self._elected: dict[int, tuple[list[int], list[int]]] = {}

    def turn(self, common: int, part: int, may_append: int) -> Turn:
        """What may happen to a broker, but answers to its fetches: these happen to leaders."""
        turn = self._turns.get((common, part, may_append))
        if turn is None:
            turn = self._turns[common, part, may_append] = self._turn(common, part, may_append)
        return turn

    def _turn(self, common: int, part: int, may_append: int) -> Turn:
        cluster = self._cluster(common, part, may_append)
        waits = self._patient and _may_wait(cluster)
        happened: list[Happened] = []
        received = None
        for event in cluster.events():
            if event[0] in _ELSEWHERE:
                continue
            cluster = self._cluster(common, part, may_append)
            self._look(part, event, cluster.apply, event)
            appended = may_append - cluster.left["appends"]
            after = self._settled(cluster, part)._replace(appended=appended)
            if waits and event[0] == "receive":
                received = after.part
            else:
                happened.append(after)
        return Turn(tuple(happened), received)

    def answered(self, common: int, leader: int, fetch: int) -> tuple[int, int, int]:
        """What becomes of what is common and of a leader's part, and its answer to a fetch."""
        found = self._answered.get((common, leader, fetch))
        if found is None:
            cluster = self._cluster(common, leader)
            cluster.fetches.append(self._fetch(fetch))
            event = "answer", len(cluster.fetches) - 1
            self._look(leader, event, cluster.apply, event)
            answer = self.numbers.message(cluster.answers.pop())
            after = self._settled(cluster, leader)
            found = self._answered[common, leader, fetch] = after.common, after.part, answer
        return found

    def with_answer(self, common: int, part: int, fetch: int, answer: int | None) -> int:
        """A part, one of whose fetches was answered; or is not, since nobody will, and it would ignore the answer."""
        shared = self.numbers.keys[common]
        key = shared.left, shared.leader_epoch, part, fetch, answer
        found = self._changed.get(key)
        if found is None:
            cluster = self._cluster(common, part)
            cluster.fetches.remove(self._fetch(fetch))
            if answer is not None:
                cluster.answers.append(self.numbers.messages[answer - 1])
            found = self._changed[key] = self._settled(cluster, part).part
        return found

    def told(self, before: int, common: int, part: int) -> int:
        """A part, when what is common changes."""
        keys = self.numbers.keys
        news = keys[before].state != keys[common].state
        found = self._changed.get((common, part, news))
        if found is None:
            cluster = self._cluster(common, part, told=news)
            self._look(part, "news", cluster.check)
            found = self._changed[common, part, news] = self._settled(cluster, part).part
        return found

    def later(self, common: int, part: int) -> Happened:
        """What becomes of what is common, and of a part, when followers lag."""
        found = self._later.get((common, part))
        if found is None:
            cluster = self._cluster(common, part)
            cluster.now_ms += LAG_MS + 1
            self._look(part, "lag", cluster.go_on)
            found = self._later[common, part] = self._settled(cluster, part)
        return found

    def elected(self, common: int) -> tuple[list[int], list[int]]:
        """What becomes of what is common when the controller elects a leader; and when followers lag, before the brokers notice."""
        found = self._elected.get(common)
        if found is None:
            found = self._elected[common] = [], []
            for event in self._cluster(common).events():
                cluster = self._cluster(common)
                cluster.apply(event)
                found[event[0] == "lag"].append(self.numbers.common(cluster))
        return found

    def without_ignored(self, common: int, parts: list[int]) -> None:
        """Let fetches go whose answers are ignored, to brokers that refuse them."""
        numbers = self.numbers
        for place, part in enumerate(parts):
            for fetch, leader, epoch in numbers.ignored[part]:
                known = numbers.leader_epochs[parts[leader]]
                if (numbers.leader_epochs[common] if known is None else known) > epoch:
                    parts[place] = self.with_answer(common, parts[place], fetch, None)

    def _fetch(self, number: int) -> Any:
        return fetch_of(self.numbers.messages[number - 1])

    def _cluster(
        self, common: int, part: int | None = None, may_append: int = 0, *, told: bool = False
    ) -> ModelCluster:
        keys = self.numbers.keys
        cluster = cluster_of(self._bounds, keys[common], None if part is None else keys[part], told=told)
        cluster.left["appends"] = may_append
        return cluster

    def _settled(self, cluster: ModelCluster, part: int) -> Happened:
        """The numbers of what is common, and of a broker's part."""
        settle(cluster)
        return Happened(self.numbers.common(cluster), self.numbers.part(cluster, self.numbers.keys[part].node))

    def _look(self, part: int, event: object, happen: Callable[..., None], *arguments: object) -> None:
        try:
            happen(*arguments)
        except Violation as violation:
            raise Violation(f"{violation}, after {event} of {self.numbers.keys[part]}") from None


def _may_wait(cluster: ModelCluster) -> bool:
    """Whether its broker follows, in the epoch that is the last, and has one answer on its way, and nothing else can happen to it."""
    if not cluster.bounds.eager or cluster.may_any("crashes", "elections", "unclean", "duplicates", "late"):
        return False
    (replica,) = cluster.replicas.values()
    return (
        replica.following is not None
        and replica.seen == len(cluster.records)
        and len(cluster.answers) == 1
        and all(is_ignored(replica, epoch, place.leader_epoch) for _, epoch, _, place in cluster.fetches)
    )
