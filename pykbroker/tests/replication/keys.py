"""What states of the model are of: what the controller has, and the parts of the brokers. Each has its replica, the metadata that it has not
seen, and its messages under way.

Nodes and epochs are compared with each other alone, so states that differ in names are one. A batch is known by its offset and the epoch
of its leader, who appends once at each offset. Of times it counts whether they are longer ago than a replica may lag.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from pykbroker.tests.replication.kinds import (
    Kind,
    broker,
    leader_epoch,
    node,
    partition_epoch,
    plain,
    row,
    some,
    unordered,
)
from pykbroker.tests.replication.names import Names, same_names

Key = tuple[Any, ...]


class Common(NamedTuple):
    """What the controller has, what may still happen (the records first), and what anybody saw committed."""

    left: tuple[int, ...]
    committed: tuple[int, ...]
    state: Key

    @property
    def leader_epoch(self) -> int:
        """The newest."""
        return self.state[1]


class Part(NamedTuple):
    """What one broker has; of one that is not alive its disk alone, and what it has sent."""

    #: The node and its broker epoch.
    broker: tuple[int, int]
    batches: tuple[int, ...]
    epochs: tuple[tuple[int, int], ...]
    fetches: tuple[Key, ...]
    proposals: tuple[Key, ...]
    alive: bool
    high_watermark: int = 0
    #: The leader that it knows, and the metadata that it has not seen.
    leader: int = -1
    unseen: tuple[Key, ...] = ()
    living: Key = ()
    leading: Key = ()
    following: Key = ()
    #: Of Altering: whether it is what Isr proposes, and the change.
    sent: Key = ()
    waiting: Key = ()
    answers: tuple[Key, ...] = ()
    altered: tuple[Key, ...] = ()

    @property
    def node(self) -> int:
        """Whose it is."""
        return self.broker[0]

    @property
    def leader_epoch(self) -> int | None:
        """That it is in; -1 where it knows of no leader, and None where it is not alive."""
        machine = self.leading or self.following
        return machine[0] if machine else -1 if self.alive else None


_log: Final = some(leader_epoch)
_state: Final = row(node, leader_epoch, partition_epoch, unordered(node), unordered(broker))
_change: Final = row(leader_epoch, partition_epoch, unordered(broker))
_altering: Final = row(plain, _change)
_place: Final = row(leader_epoch, plain, leader_epoch)
_leading: Final = row(
    leader_epoch,
    partition_epoch,
    unordered(node),
    unordered(node),
    _change,
    plain,
    unordered(row(broker, plain, plain, plain, plain)),
)
_answer: Final = row(broker, _place, plain, row(leader_epoch, plain), _log, plain, plain, plain)
#: What the fields of Common and Part are.
_KINDS: Final[dict[type, tuple[Kind, ...]]] = {
    Common: (plain, _log, _state),
    Part: (
        broker,
        _log,
        some(row(leader_epoch, plain)),
        unordered(row(broker, node, _place)),
        unordered(row(broker, plain, _change)),
        plain,
        plain,
        node,
        some(_state),
        unordered(broker),
        _leading,
        row(leader_epoch, plain, leader_epoch, plain),
        _altering,
        _altering,
        unordered(_answer),
        unordered(row(plain, leader_epoch, partition_epoch, unordered(node))),
    ),
}


def renamed(key: Any, names: Names, done: dict[Any, Any]) -> Any:
    """A part, or what is common, with these names; ``done`` has the fields that have them already."""
    fields = []
    for field in zip(_KINDS[type(key)], key, strict=True):
        new = done.get(field)
        if new is None:
            kind, value = field
            new = done[field] = kind(value, names)
        fields.append(new)
    return key._make(fields)


def epochs_of(key: Any, done: dict[Any, int]) -> int:
    """The epochs that a part, or what is common, names, as bits; ``done`` has those of fields."""
    bits = 0
    for field in zip(_KINDS[type(key)], key, strict=True):
        if field not in done:
            kind, value = field
            names = same_names()
            kind(value, names)
            done[field] = names.bits()
        bits |= done[field]
    return bits
