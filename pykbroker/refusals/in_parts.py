"""Refusals of large requests: the answer is built for a part of the request after the other, so that nobody waits for all of it.

A part is a copy of the request with some of its items. An item whose own list does not fit, such as a topic with many partitions, is
in several parts, with a part of the list in each, and its answers are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

from pykbroker.refusals import shapes
from pykbroker.refusals.shapes import once
from pykbroker.wire.message import WireStruct

#: Items of a part, at every level, and its weight (``runtime/slices.py``).
_AT_ONCE = 100
_WEIGHT = 100.0


def refused(request: Any, refuse: Callable[[Any], Any]) -> Generator[float, None, Any]:
    """The answer ``refuse(request)``, built of the answers to the request's parts. ``refuse`` answers each item by itself."""
    divided_parts = parts(request)
    answer = refuse(next(divided_parts)[0])
    for part, divided in divided_parts:
        yield _WEIGHT
        join(answer, refuse(part), divided)
    return answer


def parts(request: Any) -> Iterator[tuple[Any, int]]:
    """The parts of a request, at least one, and at how many levels the first items go on with the last ones of the part before."""
    dividing = _Dividing(request)
    for _ in dividing.walk(request, 0):
        yield dividing.path[0], dividing.divided
        dividing.begin()
    if dividing.size or not dividing.began:
        yield dividing.path[0], dividing.divided


def join(answer: Any, more: Any, divided: int) -> None:
    """Add an answer to that of the part before."""
    for name in _lists(type(answer)):
        new = getattr(more, name)
        if not new:
            continue
        mine = getattr(answer, name)
        if divided and mine and _same(mine[-1], new[0]):
            join(mine[-1], new[0], divided - 1)
            new = new[1:]
        mine += new


class _Dividing:
    """The part that is being made: ``path`` is its copy of the request, and within that of the item that is being divided."""

    def __init__(self, request: Any) -> None:
        self.path = [_without_lists(request)]
        self.sources = [request]
        #: The lists in which the divided items are.
        self.names: list[str] = []
        self.size = 0
        self.divided = 0
        self.began = False

    def begin(self) -> None:
        """Begin the next part, in which the divided items go on."""
        self.size, self.divided, self.began = 0, len(self.path) - 1, True
        self.path = [_without_lists(source) for source in self.sources]
        for name, outer, inner in zip(self.names, self.path, self.path[1:], strict=False):
            getattr(outer, name).append(inner)

    def walk(self, source: Any, depth: int) -> Iterator[None]:
        """Copy the items of ``source``; stops where the part is full."""
        for name in _lists(type(source)):
            for item in getattr(source, name) or ():
                if self.size >= _AT_ONCE:
                    yield
                self.size += 1
                into = getattr(self.path[depth], name)
                size = _size(item)
                if self.size + size <= _AT_ONCE:
                    self.size += size
                    into.append(item)
                    continue
                copied = _without_lists(item)
                into.append(copied)
                self.path.append(copied)
                self.sources.append(item)
                self.names.append(name)
                yield from self.walk(item, depth + 1)
                self.path.pop()
                self.sources.pop()
                self.names.pop()


def _size(item: Any) -> int:
    """The number of things in an item's own lists; more than a part has if these have lists."""
    if not isinstance(item, WireStruct):
        return 0
    size = 0
    for name in _lists(type(item)):
        inner = getattr(item, name)
        if inner:
            has_lists = isinstance(inner[0], WireStruct) and _lists(type(inner[0]))
            size += _AT_ONCE if has_lists else len(inner)
    return size


def _without_lists(struct: Any) -> Any:
    kind: type[Any] = type(struct)
    copied: Any = object.__new__(kind)
    for name in kind.__slots__:
        setattr(copied, name, getattr(struct, name))
    for name in _lists(kind):
        if getattr(copied, name):
            setattr(copied, name, [])
    return copied


def _same(one: Any, other: Any) -> bool:
    names = shapes.identity(type(one)).values() if isinstance(one, WireStruct) else ()
    return bool(names) and all(getattr(one, name) == getattr(other, name) for name in names)


@once
def _lists(kind: type[WireStruct]) -> tuple[str, ...]:
    """The lists of a class, by name."""
    return tuple(field.name for field in shapes.fields(kind) if field.many)
