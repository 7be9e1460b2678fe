"""Numbers for the parts of states, and the one state that stands for all that differ in names alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from pykbroker.tests.replication.keys import Common, Part, epochs_of, renamed
from pykbroker.tests.replication.model import NODES, ModelCluster
from pykbroker.tests.replication.names import PERMUTED, Names, names_by_rank
from pykbroker.tests.replication.states import common_of, part_of

K = TypeVar("K")
V = TypeVar("V")

#: For each of PERMUTED the places where the first, second and third broker was before.
_PLACES: Final = [
    tuple(next(node - 1 for node in NODES if names.nodes[node] == new) for new in NODES) for names in PERMUTED
]
#: For each place those of PERMUTED that make its broker the first.
_FIRST: Final = [[order for order, places in enumerate(_PLACES) if places[0] == place] for place in range(len(NODES))]


class Remembered(dict[K, V]):
    """What a function says of each key, asked once."""

    def __init__(self, function: Callable[[K], V]) -> None:
        self._function = function

    def __missing__(self, key: K) -> V:
        value = self[key] = self._function(key)
        return value


class Numbers:
    """Each part, and what is common, has a number; what is looked at of it is in lists."""

    def __init__(self) -> None:
        self.keys: list[Any] = []
        #: Of each 64 bits, which are the same in all processes.
        self.digests: list[int] = []
        self._by_digest: dict[int, int] = {}
        #: Of a part: its fetches, each with its number and its leader's place, and those whose answer it ignores, with their leader epochs.
        self.fetches: list[tuple[tuple[int, int], ...]] = []
        self.ignored: list[tuple[tuple[int, int, int], ...]] = []
        #: The leader epoch that a part is in; None of a broker that is not alive. Of what is common the newest.
        self.leader_epochs: list[int | None] = []
        self.messages: list[Any] = []
        self._numbers: dict[Any, int] = {}
        self._message_numbers: dict[Any, int] = {}
        #: What keys are made of, once, since many have the same.
        self._shared: dict[Any, Any] = {}
        #: The epochs that each names, as bits, and by these, where they have gaps, each number without.
        self._epochs: list[int] = []
        self._epochs_of_fields: dict[Any, int] = {}
        self._ranked = Remembered(self._by_rank)
        #: Each number with the names of PERMUTED.
        self._permuted = [Remembered(self._renamed(names)) for names in PERMUTED]
        #: By this the first is found: it is equal where parts differ in names of nodes alone, and least of leaders.
        self._ranks = Remembered(self._rank)

    def common(self, cluster: ModelCluster) -> int:
        """The number of what is common; how many records may still be appended is left out."""
        key = common_of(cluster)
        return self.of(key._replace(left=(0, *key.left[1:])))

    def part(self, cluster: ModelCluster, node: int) -> int:
        """The number of a broker's part."""
        return self.of(part_of(cluster, node))

    def of(self, key: Part | Common) -> int:
        """The number of a part, or of what is common."""
        number = self._numbers.get(key)
        return self._add(key) if number is None else number

    def message(self, message: Any) -> int:
        """The number of a message."""
        return self._message_numbers.get(message) or self._add_message(message)

    def _add_message(self, message: Any) -> int:
        self.messages.append(message)
        number = self._message_numbers[message] = len(self.messages)
        return number

    def _add(self, key: Part | Common) -> int:
        key = key._make(self._shared.setdefault(each, each) for each in key)
        number = self._numbers[key] = len(self.keys)
        self.keys.append(key)
        digest = hash(key)
        assert self._by_digest.setdefault(digest, number) == number
        self.digests.append(digest)
        self._epochs.append(epochs_of(key, self._epochs_of_fields))
        fetches = self._fetches(key) if isinstance(key, Part) else []
        self.fetches.append(tuple([(message, leader) for message, leader, _, _ in fetches]))
        self.ignored.append(
            tuple([(message, leader, epoch) for message, leader, epoch, is_ignored in fetches if is_ignored])
        )
        self.leader_epochs.append(key.leader_epoch)
        return number

    def _fetches(self, part: Part) -> list[tuple[int, int, int, bool]]:
        """Of each its number, its leader's place, its leader epoch and whether its answer will be ignored."""
        known = part.leader_epoch
        return [
            (self.message(fetch), leader - 1, epoch, known is None or broker != part.broker or known > epoch)
            for fetch in part.fetches
            for broker, leader, (epoch, *_) in [fetch]
        ]

    # -- names --------------------------------------------------------------------------------------------------------

    def named(self, common: int, parts: Iterable[int]) -> tuple[int, ...]:
        """The state that stands for all that differ from this in names alone: epochs have no gaps, and the names of nodes are those that make
        the first part, a leader's if there is one, the least, or else all of it.
        """
        one, two, three = parts
        epochs, ranks = self._epochs, self._ranks
        ranked = self._ranked[epochs[common] | epochs[one] | epochs[two] | epochs[three]]
        if ranked is not None:
            common, one, two, three = ranked[common], ranked[one], ranked[two], ranked[three]
        them = one, two, three
        sort = ranks[one], ranks[two], ranks[three]
        least = min(sort)
        place = sort.index(least)
        orders = _FIRST[place]
        if sort.count(least) > 1:
            orders = [order for order, (first, _, _) in enumerate(_PLACES) if sort[first] == least]
        else:
            a, b = orders
            part, other = self._permuted[a][them[place]], self._permuted[b][them[place]]
            if part != other:
                return self._in_order(a if self.digests[part] < self.digests[other] else b, common, them)
        return min((self._in_order(order, common, them) for order in orders), key=self._digests_of)

    def _digests_of(self, state: tuple[int, ...]) -> list[int]:
        return [self.digests[number] for number in state]

    def _in_order(self, order: int, common: int, parts: tuple[int, int, int]) -> tuple[int, ...]:
        permuted = self._permuted[order]
        one, two, three = _PLACES[order]
        return permuted[common], permuted[parts[one]], permuted[parts[two]], permuted[parts[three]]

    def _renamed(self, names: Names) -> Callable[[int], int]:
        done: dict[Any, Any] = {}
        return lambda number: self.of(renamed(self.keys[number], names, done))

    def _by_rank(self, bits: int) -> Remembered[int, int] | None:
        names = names_by_rank(bits)
        return None if names is None else Remembered(self._renamed(names))

    def _rank(self, part: int) -> int:
        key = self.keys[part]
        alike = min(self.digests[self._permuted[order][part]] for order in _FIRST[key.node - 1])
        return ((0 if key.leading else 1 if key.alive else 2) << 64) + alike
