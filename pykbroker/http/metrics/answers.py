"""Counts the error codes in a response, by the structure of its class (``refusals/shapes.py``)."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from pykbroker.metadata.encoded_once import EncodedOnce
from pykbroker.refusals.shapes import error_sites, once
from pykbroker.wire.message import Message

#: Most items of one response that are counted: a response with ten thousand partitions must not cost as much again.
_MOST_PARTS: Final = 1000


#: The error fields and the lists of items of a struct. (A tuple, since it is unpacked for each response.)
_Place = tuple[tuple[str, ...], tuple[tuple[str, Any], ...]]


def count_errors(response: Any, errors: Counter[int]) -> None:
    """Count the error codes of a response; items without errors count as 0."""
    place = _whole(type(response))
    if place is not None and not _count(place, (response,), errors):
        errors[0] += 1


def _count(place: _Place, parts: Any, errors: Counter[int]) -> bool:
    """Count the error codes of equal structs; returns whether there were any."""
    fields, lists = place
    for field in fields:
        for each in parts:
            errors[getattr(each, field)] += 1
    found = bool(fields)
    for name, inner in lists:
        # fast path: most responses have one item in one list
        within = getattr(parts[0], name) if len(parts) == 1 else _together(parts, name)
        if within and _count(inner, within if len(within) <= _MOST_PARTS else within[:_MOST_PARTS], errors):
            found = True
    return found


def _together(parts: Any, name: str) -> list[Any]:
    return [each for part in parts for each in (getattr(part, name) or ())[:_MOST_PARTS]]


@once
def _whole(kind: type[Any]) -> _Place | None:
    """Return the error fields and lists of a message class; None for other classes, such as that of None.

    A response cached for all clients has no errors, or it would not be cached.
    """
    if issubclass(kind, EncodedOnce):
        return (), ()
    if not issubclass(kind, Message):
        return None
    return _place([(site.path, site.field) for site in error_sites(kind)])


def _place(sites: list[tuple[tuple[str, ...], str]]) -> _Place:
    names = dict.fromkeys(path[0] for path, _ in sites if path)
    lists = {name: [(path[1:], field) for path, field in sites if path[:1] == (name,)] for name in names}
    return (
        tuple(field for path, field in sites if not path),
        tuple((name, _place(inner)) for name, inner in lists.items()),
    )
