"""What the values of a state are, and so what they are with new names: ``row(node, leader_epoch)`` is a node with a leader epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pykbroker.tests.replication.names import Names

#: A value with new names.
Kind = Callable[[Any, Names], Any]


def plain(value: Any, _: Names) -> Any:
    """What has no names."""
    return value


def node(value: int, names: Names) -> int:
    """A node, or -1."""
    return names.nodes[value]


def leader_epoch(value: int, names: Names) -> int:
    """A leader epoch, or -1."""
    return names.leader_epochs[value]


def partition_epoch(value: int, names: Names) -> int:
    """A partition epoch."""
    return names.partition_epochs[value]


def broker(value: tuple[int, int], names: Names) -> tuple[int, int]:
    """A node with one of its broker epochs."""
    return names.nodes[value[0]], names.broker_epochs[value[0]][value[1]]


def row(*kinds: Kind) -> Kind:
    """A value of each kind; the last may be missing, or all."""

    def renamed(values: tuple[Any, ...], names: Names) -> tuple[Any, ...]:
        return tuple([kind(value, names) for kind, value in zip(kinds, values, strict=False)])

    return renamed


def some(kind: Kind) -> Kind:
    """Any number of one kind, in their order."""

    def renamed(values: tuple[Any, ...], names: Names) -> tuple[Any, ...]:
        return tuple([kind(value, names) for value in values]) if values else values

    return renamed


def unordered(kind: Kind) -> Kind:
    """Any number of one kind, sorted."""

    def renamed(values: tuple[Any, ...], names: Names) -> tuple[Any, ...]:
        return tuple(sorted([kind(value, names) for value in values])) if values else values

    return renamed
