"""Error answers for any API, with the error where clients expect it, built from the message classes.

An answer mirrors the request: each element with an error field is the counterpart of an element of the request and has its
names. If only a part fails, the rest is handled, and the two answers are merged. A request and its answer may have hundreds of
thousands of items: what walks them yields weights (``runtime/slices.py``).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from pykbroker.refusals import shapes
from pykbroker.refusals.naming import Names, Wanted, around, item_names, own_names
from pykbroker.wire.apis import response_class
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.message import WireStruct
from pykbroker.wire.primitives import ZERO_UUID

if TYPE_CHECKING:
    from pykbroker.refusals.shapes import Site
    from pykbroker.wire.message import Message

T = TypeVar("T")

#: Weights with a result at the end, and without.
Work = Generator[float, None, T]
Steps = Generator[float, None, None]

#: The weight of an item, and of a look at one.
_WEIGHT = 0.8
_WEIGHT_OF_LITTLE = 0.05

_C = ErrorCode
#: Errors of a request as a whole, if the answer has a field for them.
_WHOLE = {
    code
    for code in ErrorCode
    if code.name.endswith(("SESSION_EPOCH", "SESSION_ID_NOT_FOUND", "SESSION_TOPIC_ID_ERROR"))
} | {
    *(_C.COORDINATOR_LOAD_IN_PROGRESS, _C.COORDINATOR_NOT_AVAILABLE, _C.NOT_COORDINATOR, _C.NOT_CONTROLLER),
    *(_C.GROUP_AUTHORIZATION_FAILED, _C.GROUP_ID_NOT_FOUND, _C.INVALID_GROUP_ID, _C.CLUSTER_AUTHORIZATION_FAILED),
    *(_C.UNSUPPORTED_VERSION, _C.INVALID_REQUEST, _C.REBOOTSTRAP_REQUIRED),
}


class PlacedRefusal(NamedTuple):
    """An error, and of what: ``wanted`` is None where it is all of a request. ``at`` asks for a level."""

    code: ErrorCode
    at: str | None = None
    wanted: Wanted | None = None


def site_for(refusal: PlacedRefusal, request: Any, version: int) -> Work[Site | None]:
    """Where the answer to a request says an error; None where only the handler knows what an answer is about."""
    kind = response_class(request.API_KEY)
    usable: list[Site] = []
    for site in _carried(kind, version):
        reaches = not site.path or (yield from _reaches(request, around(request), kind, site.path, refusal.wanted))
        usable += [site] if reaches else []
    if refusal.at is not None:
        # What was asked for; a version without that place says it in another.
        return next((site for site in usable if site.level == refusal.at), usable[0] if usable else None)
    if refusal.wanted is None and refusal.code in _WHOLE:
        return usable[-1] if usable else None
    return usable[0] if usable else None


def of_the_whole(request: Any, version: int, code: ErrorCode) -> Message | None:
    """The answer that says an error of all that a request asks for, as far up as there is a place, and no words; None where
    there is none. At once: large requests are divided before (``in_parts.py``).
    """
    kind = response_class(request.API_KEY)
    usable = [
        site
        for site in _carried(kind, version)
        if not site.path or at_once(_reaches(request, around(request), kind, site.path, None))
    ]
    return at_once(built(request, usable[-1]._replace(worded=False), PlacedRefusal(code))) if usable else None


def at_once(work: Work[T]) -> T:
    """The result of work that is small."""
    while True:
        try:
            next(work)
        except StopIteration as ended:
            return cast("T", ended.value)


def deepest_site(request: Any, version: int) -> Site:
    """The deepest place of an answer for an error, whatever the request names."""
    kind = response_class(request.API_KEY)
    return next(_carried(kind, version))


def _carried(kind: type[Message], version: int) -> Iterator[Site]:
    for site in shapes.error_sites(kind):
        if shapes.carries_error(kind, site, version):
            yield site._replace(worded=shapes.carries_message(kind, site, version))


def _reaches(
    source: Any, names: Names, kind: type[WireStruct], path: tuple[str, ...], wanted: Wanted | None
) -> Work[bool]:
    """Whether an answer has an element at the end of ``path`` for something that is meant."""
    struct = shapes.field(kind, path[0]).struct
    assert struct is not None
    for counterpart in _counterparts(source, names, struct):
        yield _WEIGHT
        if counterpart is None:
            continue
        item, around_item = counterpart
        if len(path) == 1:
            if wanted is None or wanted(around_item):
                return True
        elif (yield from _reaches(item, around_item, struct, path[1:], wanted)):
            return True
    return False


# ---- a new answer ------------------------------------------------------------------------------------------------------


def built(request: Any, site: Site, refusal: PlacedRefusal) -> Work[Message]:
    """An answer that says the error of whatever of the request is meant, and of nothing else."""
    kind = response_class(request.API_KEY)
    answer: Message = kind() if site.path else shapes.plain(kind)
    yield from _fill(answer, request, around(request), site.path, site, refusal)
    return answer


def _fill(target: Any, source: Any, names: Names, path: tuple[str, ...], site: Site, refusal: PlacedRefusal) -> Steps:
    if not path:
        say(target, site, refusal.code)
        return
    struct = shapes.field(type(target), path[0]).struct
    assert struct is not None
    for counterpart in _counterparts(source, names, struct):
        yield _WEIGHT
        if counterpart is None:
            continue
        item, around_item = counterpart
        leaf = len(path) == 1
        if leaf and refusal.wanted is not None and not refusal.wanted(around_item):
            continue
        made = shapes.plain(struct)
        for role, name in shapes.identity(struct).items():
            if role in around_item:
                setattr(made, name, _copied(around_item[role], struct))
        yield from _fill(made, item, around_item, path[1:], site, refusal)
        if leaf or getattr(made, path[1]):
            getattr(target, path[0]).append(made)


def _counterparts(source: Any, names: Names, struct: type[WireStruct]) -> Iterator[tuple[Any, Names] | None]:
    """The items of a request that an answer's elements of a class speak of; None for one that was looked at in vain."""
    if not isinstance(source, WireStruct):
        return
    fields = shapes.parts(type(source))
    mine = set(shapes.identity(struct))
    any_found = False
    for field in fields:
        theirs = {field.role} if field.struct is None else set(shapes.identity(field.struct))
        if mine & theirs:
            for item in getattr(source, field.name) or ():
                any_found = True
                yield item, item_names(field, item, names)
    if any_found:
        return
    for field in fields:  # one level further down, as the topics of a log directory
        if field.struct is not None:
            for item in getattr(source, field.name) or ():
                yield None
                for counterpart in _counterparts(item, own_names(item, names), struct):
                    any_found = any_found or counterpart is not None
                    yield counterpart
    if not any_found and not mine:  # told apart by their order alone
        for each in shapes.fields(type(source)):
            if each.many and each.struct is not None:
                for item in getattr(source, each.name) or ():
                    yield item, own_names(item, names)


def _copied(value: Any, struct: type[WireStruct]) -> Any:
    """A client quota's entity is a list of elements of a class that the answer has another of."""
    if not isinstance(value, list):
        return value
    inner = shapes.entity_class(struct)
    return [inner(**{name: getattr(each, name) for name in ("entity_type", "entity_name")}) for each in value]


def say(target: Any, site: Site, code: ErrorCode) -> None:
    """Put the error where it belongs, with Kafka's own words where there is room for them."""
    setattr(target, site.field, int(code))
    if site.worded:
        target.error_message = code.default_message


# ---- an answer that is there -------------------------------------------------------------------------------------------


def overwrite(answer: Any, site: Site, refusal: PlacedRefusal) -> Steps:
    """Let an answer say the error of what is meant, in place of what it says."""
    return _overwrite(answer, {}, site.path, site, refusal)


def _overwrite(target: Any, names: Names, path: tuple[str, ...], site: Site, refusal: PlacedRefusal) -> Steps:
    if not path:
        say(target, site, refusal.code)
        return
    elements = getattr(target, path[0])
    for position, each in enumerate(elements):
        yield _WEIGHT
        inner = own_names(each, names)
        if len(path) > 1:
            yield from _overwrite(each, inner, path[1:], site, refusal)
        elif refusal.wanted is None or refusal.wanted(inner):
            failed = shapes.plain(type(each))
            for name in shapes.identity(type(each)).values():
                setattr(failed, name, getattr(each, name))
            say(failed, site, refusal.code)
            elements[position] = failed


def merge(answer: Any, failed: Any, path: tuple[str, ...]) -> Steps:
    """Add to an answer what another says of what the first does not speak of; where both do, the second holds."""
    if not path:
        return
    elements = getattr(answer, path[0])
    places = _Places()
    for position, each in enumerate(elements):
        places.add(position, each)
        yield _WEIGHT
    for each in getattr(failed, path[0]):
        yield _WEIGHT
        found = yield from places.of(each)
        if found is None:
            places.add(len(elements), each)
            elements.append(each)
        elif len(path) == 1:
            elements[found] = _with_names_of(elements[found], each)
        else:
            yield from merge(elements[found], each, path[1:])


class _Places:
    """Where the elements of an answer are, by what they say of themselves, without looking at each: there may be thousands."""

    def __init__(self) -> None:
        #: By the fields that elements say: what they say, and where they are.
        self._elements: dict[tuple[str, ...], list[tuple[dict[str, Any], int]]] = {}
        #: The places of those by some of these fields, once they were asked for.
        self._places: dict[tuple[tuple[str, ...], tuple[str, ...]], dict[tuple[Any, ...], int]] = {}

    def add(self, position: int, element: Any) -> None:
        said = _said(element)
        names = tuple(said)
        self._elements.setdefault(names, []).append((said, position))
        for (theirs, shared), places in self._places.items():
            if theirs == names:
                places.setdefault(_values(said, shared), position)

    def of(self, element: Any) -> Work[int | None]:
        """The place of the first element that speaks of the same: what both say of themselves is equal, and they say something."""
        said = _said(element)
        found: list[int] = []
        for names in self._elements:
            shared = tuple(name for name in names if name in said)
            places = (yield from self._by(names, shared)) if shared else {}
            place = places.get(_values(said, shared))
            if place is not None:
                found.append(place)
        return min(found, default=None)

    def _by(self, names: tuple[str, ...], shared: tuple[str, ...]) -> Work[dict[tuple[Any, ...], int]]:
        places = self._places.get((names, shared))
        if places is None:
            places = {}
            for said, position in self._elements[names]:
                places.setdefault(_values(said, shared), position)
                yield _WEIGHT_OF_LITTLE
            self._places[names, shared] = places
        return places


def _said(element: Any) -> dict[str, Any]:
    """What an element says of itself, by field."""
    every = ((name, getattr(element, name)) for name in shapes.identity(type(element)).values())
    return {name: value for name, value in every if value not in (None, "", ZERO_UUID)}


def _values(said: dict[str, Any], names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple([_key(said[name]) for name in names])


def _key(value: Any) -> Any:
    """A client quota's entity is a list."""
    return tuple([(each.entity_type, each.entity_name) for each in value]) if isinstance(value, list) else value


def _with_names_of(existing: Any, failed: Any) -> Any:
    for name in shapes.identity(type(failed)).values():
        setattr(failed, name, getattr(existing, name))
    return failed


# ---- what is left of a request -----------------------------------------------------------------------------------------


def take_out(request: Any, wanted: Wanted) -> Work[bool]:
    """Take what is meant out of a request. Says whether anything is left that is to be carried out."""
    return _take_out(request, around(request), wanted)


def _take_out(struct: Any, names: Names, wanted: Wanted) -> Work[bool]:
    left = False
    for field in shapes.parts(type(struct)):
        items = getattr(struct, field.name)
        if not items:
            continue
        kept = []
        for item in items:
            yield _WEIGHT
            inner = item_names(field, item, names)
            has_parts = isinstance(item, WireStruct) and any(
                getattr(item, each.name) for each in shapes.parts(type(item))
            )
            if (yield from _take_out(item, inner, wanted)) if has_parts else not wanted(inner):
                kept.append(item)
        setattr(struct, field.name, kept)
        left = left or bool(kept)
    return left
