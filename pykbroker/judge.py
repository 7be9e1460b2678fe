"""What became of records: lost, doubled, torn, out of order, each with its places. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

#: What a program promises: what may not happen to a record.
GUARANTEES: Final = {
    "at-most-once": ("doubled",),
    "at-least-once": ("lost",),
    "exactly-once": ("lost", "doubled", "torn"),
}
#: How many findings of a kind are told.
_FIELDS: Final = 5


class Misjudged(AssertionError):
    """What was written is not what was promised; the text has every finding with its places, which are in ``places``, too."""

    def __init__(self, text: str, places: Sequence[str] = ()) -> None:
        super().__init__(text)
        self.places = tuple(places)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Something written: what it is, of which key, and where (``orders-0@7``)."""

    identity: Hashable
    key: Hashable
    place: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What happened to one identity: ``kind`` is lost, doubled, torn, out of order, read too early (it is from what was aborted, or is in an
    open transaction), or unasked (nothing was read that it is from).
    """

    kind: str
    identity: Hashable
    places: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kind}: {self.identity!r} ({', '.join(self.places)})"


def findings(
    read: Sequence[Occurrence],
    written: Sequence[Sequence[Occurrence]],
    guarantee: str,
    *,
    in_order: bool = False,
    uncommitted: Callable[[], Iterable[Occurrence]] = tuple,
) -> list[Finding]:
    """Compare what a program had to read with what it has written, to one place or to several. ``in_order`` asks that what is of one
    key is written first in the order in which it stands. ``uncommitted`` gives what stands where the program reads and is not
    committed; it is asked for where something was written that is from nothing committed. Raises ValueError for an unknown guarantee.
    """
    if guarantee not in GUARANTEES:
        raise ValueError(f"{guarantee!r} is no guarantee; there are {', '.join(GUARANTEES)}")
    forbidden = GUARANTEES[guarantee]
    by_target = [_places(each) for each in written]
    found = []
    for item in {each.identity: each for each in read}.values():
        counts = [len(places.get(item.identity, ())) for places in by_target]
        everywhere = tuple(place for places in by_target for place in places.get(item.identity, ()))
        if not any(counts):
            found.append(Finding("lost", item.identity, (item.place,)))
        elif not all(counts):
            found.append(Finding("torn" if "torn" in forbidden else "lost", item.identity, (item.place, *everywhere)))
        if any(count > 1 for count in counts):
            found.append(Finding("doubled", item.identity, (item.place, *everywhere)))
    known = {each.identity for each in read}
    unasked = [
        Finding("unasked", identity, tuple(places))
        for target in by_target
        for identity, places in target.items()
        if identity not in known
    ]
    wrong = [each for each in found if each.kind in forbidden] + (_early(unasked, uncommitted()) if unasked else [])
    return wrong + ([each for target in written for each in _disorder(read, target)] if in_order else [])


def _early(unasked: Iterable[Finding], uncommitted: Iterable[Occurrence]) -> list[Finding]:
    """The same, and of each whether it was read before it was committed."""
    places = _places(uncommitted)
    return [
        Finding("read too early", each.identity, (*places[each.identity], *each.places))
        if each.identity in places
        else each
        for each in unasked
    ]


def _places(written: Iterable[Occurrence]) -> dict[Hashable, list[str]]:
    places: dict[Hashable, list[str]] = {}
    for each in written:
        places.setdefault(each.identity, []).append(each.place)
    return places


def _disorder(read: Sequence[Occurrence], written: Sequence[Occurrence]) -> Iterable[Finding]:
    """What is written for the first time after something of its key that stands behind it."""
    ranks: dict[Hashable, tuple[Hashable, int]] = {}
    for number, each in enumerate(read):
        ranks.setdefault(each.identity, (each.key, number))
    latest: dict[Hashable, tuple[int, str]] = {}
    seen = set()
    for each in written:
        if each.identity in seen or each.identity not in ranks:
            continue
        seen.add(each.identity)
        key, rank = ranks[each.identity]
        before, place = latest.get(key, (-1, ""))
        if rank < before:
            yield Finding("out of order", each.identity, (each.place, f"after {place}"))
        else:
            latest[key] = rank, each.place


def check(found: Sequence[Finding], guarantee: str) -> None:
    """Raise Misjudged if there are findings."""
    if not found:
        return
    lines, places = [], []
    for kind in dict.fromkeys(each.kind for each in found):
        same = [each for each in found if each.kind == kind]
        lines += [str(each) for each in same[:_FIELDS]]
        places += [place for each in same[:_FIELDS] for place in each.places]
        if len(same) > _FIELDS:
            lines.append(f"and {len(same) - _FIELDS} more {kind}")
    raise Misjudged(f"not {guarantee}:\n" + "\n".join(lines), places)


def judge_records(
    source: Iterable[Any],
    targets: Iterable[Iterable[Any]],
    effects: Iterable[Hashable] | None,
    guarantee: str,
    identity: Callable[[Any], Hashable],
    key: Callable[[Any], Hashable],
    *,
    in_order: bool,
    uncommitted: Callable[[], Iterable[Any]],
) -> None:
    """Hold the records of ``targets``, and what was done outside of Kafka, against those of ``source``, of which ``uncommitted`` gives what is
    not committed. Raises Misjudged, and ValueError for an unknown guarantee.
    """
    written = [of_records(target, identity, key) for target in targets]
    if effects is not None:
        written.append(of_effects(effects))
    read = of_records(source, identity, key)
    early = lambda: of_records(uncommitted(), identity, key)  # noqa: E731 - it is asked for only where it says more
    check(findings(read, written, guarantee, in_order=in_order, uncommitted=early), guarantee)


def of_records(
    records: Iterable[Any], identity: Callable[[Any], Hashable], key: Callable[[Any], Hashable]
) -> list[Occurrence]:
    """Records as what was written."""
    return [Occurrence(identity(each), key(each), f"{each.topic}-{each.partition}@{each.offset}") for each in records]


def of_effects(effects: Iterable[Hashable]) -> list[Occurrence]:
    """What a program has done outside of Kafka, in its order, by identity."""
    return [Occurrence(each, None, f"effect {number}") for number, each in enumerate(effects)]
