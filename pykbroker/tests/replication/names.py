"""Names of nodes and epochs in states of the model: nothing depends on them but by comparing them, so they may be others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import permutations
from typing import Final, NamedTuple

from pykbroker.tests.replication.model import NODES

#: The places of leader epochs, of partition epochs and of each broker's epochs among the bits of epochs.
_LEADER, _PARTITION, _BROKERS, _WIDTH = 0, 16, 64, 8


class Same(dict[int, int]):
    """Each name stays as it is, and those that were asked for are known afterwards."""

    def __missing__(self, name: int) -> int:
        self[name] = name
        return name


class Names(NamedTuple):
    """New names by old ones; each broker's epochs have their own."""

    nodes: Mapping[int, int]
    leader_epochs: Mapping[int, int]
    partition_epochs: Mapping[int, int]
    broker_epochs: Mapping[int, Mapping[int, int]]

    def bits(self) -> int:
        """The epochs that have names here, a bit for each."""
        bits = _bits(_LEADER, _PARTITION, self.leader_epochs) | _bits(_PARTITION, _BROKERS, self.partition_epochs)
        for node, epochs in self.broker_epochs.items():
            first = _BROKERS + _WIDTH * node
            bits |= _bits(first, first + _WIDTH, epochs)
        return bits


def same_names(nodes: Mapping[int, int] | None = None) -> Names:
    """The names that there are, but for ``nodes``."""
    return Names(nodes or Same(), Same(), Same(), {node: Same() for node in NODES})


def names_by_rank(bits: int) -> Names | None:
    """Names without gaps, in the same order, for the epochs that have bits; None where these are their names."""
    leader_epochs, partition_epochs = _ranks(bits, _LEADER, _PARTITION), _ranks(bits, _PARTITION, _BROKERS)
    firsts = {node: _BROKERS + _WIDTH * node for node in NODES}
    brokers = {node: _ranks(bits, first, first + _WIDTH) for node, first in firsts.items()}
    if all(old == new for each in (leader_epochs, partition_epochs, *brokers.values()) for old, new in each.items()):
        return None
    return Names(Same(), leader_epochs, partition_epochs, brokers)


def _bits(first: int, end: int, epochs: Iterable[int]) -> int:
    assert all(first + epoch < end for epoch in epochs)
    return sum(1 << first + epoch for epoch in epochs if epoch >= 0)


def _ranks(bits: int, first: int, end: int) -> dict[int, int]:
    """Each epoch's place among all, from 1; -1 stays."""
    there = [epoch for epoch in range(end - first) if bits >> first + epoch & 1]
    return {epoch: rank for rank, epoch in enumerate(there, 1)} | {-1: -1}


#: All orders of the nodes, as their names.
PERMUTED: Final = [same_names(dict(zip(NODES, order, strict=True)) | {-1: -1}) for order in permutations(NODES)]
