"""The error codes in an answer, by the structure of its class (``refusals/shapes.py``)."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from pykbroker.metadata.encoded_once import EncodedOnce
from pykbroker.refusals.shapes import error_sites, once
from pykbroker.wire.message import Message

#: So many parts of one answer are looked at: one about ten thousand partitions must not cost as much again.
_MOST_PARTS: Final = 1000


#: What tells errors in a part of an answer: fields of its own, and lists of parts in it. (A tuple, taken apart with each answer.)
_Place = tuple[tuple[str, ...], tuple[tuple[str, Any], ...]]


def count_errors(response: Any, errors: Counter[int]) -> None:
    """Count the error codes of an answer, 0 for parts that tell none."""
    place = _whole(type(response))
    if place is not None and not _count(place, (response,), errors):
        errors[0] += 1


def _count(place: _Place, parts: Any, errors: Counter[int]) -> bool:
    """Returns whether there was anything to count."""
    fields, lists = place
    for field in fields:
        for each in parts:
            errors[getattr(each, field)] += 1
    found = bool(fields)
    for name, inner in lists:
        # One part in one is what most answers are.
        within = getattr(parts[0], name) if len(parts) == 1 else _together(parts, name)
        if within and _count(inner, within if len(within) <= _MOST_PARTS else within[:_MOST_PARTS], errors):
            found = True
    return found


def _together(parts: Any, name: str) -> list[Any]:
    return [each for part in parts for each in (getattr(part, name) or ())[:_MOST_PARTS]]


@once
def _whole(kind: type[Any]) -> _Place | None:
    """None for what is no answer. One that is kept for all who ask alike has no errors, else it would not be kept."""
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
