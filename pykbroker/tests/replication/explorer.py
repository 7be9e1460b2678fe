"""All states within bounds, each as the numbers of its parts: what events make of parts is looked up (``parts``), so the machines seldom run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from mmap import mmap
from multiprocessing import Lock
from typing import Any, Final

from pykbroker.tests.replication.model import NODES, Bounds, ModelCluster
from pykbroker.tests.replication.parts import Parts
from pykbroker.tests.replication.states import settle

#: The records that may still be appended, what is common, and each broker's part.
State = tuple[int, ...]
_MASK: Final = (1 << 64) - 1


class Seen:
    """Which numbers of 64 bits there were, but 0, in eight bytes each; processes that are forked share it."""

    def __init__(self, most: int) -> None:
        self._mask = (1 << (most * 5 // 4).bit_length()) - 1
        self.bytes = mmap(-1, 8 * (self._mask + 1))
        self._slots = memoryview(self.bytes).cast("Q")
        self._lock = Lock()

    def add(self, number: int) -> bool:
        """Whether this number is new."""
        slot = self._find(number, number & self._mask)
        if self._slots[slot] == number:
            return False
        with self._lock:
            slot = self._find(number, slot)
            if self._slots[slot] == number:
                return False
            self._slots[slot] = number
        return True

    def _find(self, number: int, slot: int) -> int:
        """Its slot, or the one where it may be put, from this one."""
        slots, mask = self._slots, self._mask
        while (found := slots[slot]) and found != number:
            slot = slot + 1 & mask
        return slot


class Explorer:
    """See the module; ``patient`` as in Parts. For more states than ``most`` there is no room."""

    def __init__(self, bounds: Bounds, *, patient: bool = True, most: int = 1_000_000) -> None:
        self.states = self.transitions = 0
        self.parts = Parts(bounds, patient=patient)
        self.waiting: list[State] = []
        self.seen = Seen(most)
        self.most = most
        self._add(self.state_of(ModelCluster(bounds)))

    def explore(self) -> Iterator[State]:
        """Go on from each state that waits, and from all that follow. Raises Violation."""
        waiting, add = self.waiting, self._add
        while waiting:
            state = waiting.pop()
            for following in self._following(state):
                self.transitions += 1
                add(following)
            yield state

    def state_of(self, cluster: ModelCluster) -> State:
        """The state that stands for a cluster, which is settled."""
        settle(cluster)
        numbers, appends = self.parts.numbers, cluster.left["appends"]
        parts = [numbers.part(cluster, node) for node in NODES]
        return appends, *numbers.named(numbers.common(cluster), parts)

    def exported(self, state: State) -> tuple[Any, ...]:
        """It with what its numbers stand for."""
        appends, *numbers = state
        return appends, *[self.parts.numbers.keys[number] for number in numbers]

    def imported(self, state: tuple[Any, ...]) -> State:
        """The state that was exported, maybe elsewhere."""
        appends, *keys = state
        return appends, *map(self.parts.numbers.of, keys)

    def passed_over(self, state: State) -> Iterator[State]:
        """This one and those in which answers are received that wait in it."""
        appends, common, *parts = state
        received = [(part, self.parts.turn(common, part, min(appends, 1)).received) for part in parts]
        for them in product(*({part, part if after is None else after} for part, after in received)):
            yield appends, *self.parts.numbers.named(common, them)

    def _add(self, state: State) -> None:
        appends, common, one, two, three = state
        digests = self.parts.numbers.digests
        digest = hash((appends, digests[common], digests[one], digests[two], digests[three])) & _MASK
        if self.seen.add(digest or 1):
            self.states += 1
            assert self.states <= self.most
            self.waiting.append(state)

    def _following(self, state: State) -> Iterator[State]:
        """All that may follow a state."""
        appends, common, *parts = state
        may_append = 1 if appends else 0
        get_turn, fetches = self.parts.turn, self.parts.numbers.fetches
        for place, part in enumerate(parts):
            turn = get_turn(common, part, may_append)
            for after, changed, appended in turn.happened:
                them = parts.copy()
                them[place] = changed
                yield self._after(appends - appended, common, after, them, place, place)
            under_way = fetches[part]
            for fetch in under_way:
                yield self._answered(appends, common, parts, place, part, fetch)
            if turn.received is not None:
                for fetch in fetches[turn.received]:
                    if fetch not in under_way:
                        yield self._answered(appends, common, parts, place, turn.received, fetch)
        elected, lags = self.parts.elected(common)
        for after in elected:
            yield self._after(appends, common, after, parts.copy(), -1, -1)
        for after in lags:
            yield self._lagged(appends, after, parts)

    def _answered(
        self, appends: int, common: int, parts: list[int], place: int, part: int, fetch: tuple[int, int]
    ) -> State:
        """A fetch of a broker, whose part this is, is answered."""
        number, leader = fetch
        after, led, answer = self.parts.answered(common, parts[leader], number)
        them = parts.copy()
        them[leader] = led
        them[place] = self.parts.with_answer(common, part, number, answer)
        return self._after(appends, common, after, them, place, leader)

    def _lagged(self, appends: int, lag: int, parts: list[int]) -> State:
        after, them = lag, []
        for part in parts:
            after, changed, _ = self.parts.later(after, part)
            them.append(changed)
        return self._after(appends, lag, after, them, -1, -1)

    def _after(self, appends: int, before: int, common: int, parts: list[int], one: int, other: int) -> State:
        """The state after an event that changed parts; where it has changed what is common, all but these two places are told."""
        if common != before:
            for place in range(3):
                if place not in (one, other):
                    parts[place] = self.parts.told(before, common, parts[place])
        numbers = self.parts.numbers
        ignored = numbers.ignored
        if ignored[parts[0]] or ignored[parts[1]] or ignored[parts[2]]:
            self.parts.without_ignored(common, parts)
        return appends, *numbers.named(common, parts)
