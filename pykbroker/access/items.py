"""Checks of the items of a request: denied items are removed, the rest is handled, and the answer has both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from pykbroker.access.checks import (
    ERROR_OF,
    WEIGHT,
    WEIGHT_OF_A_DENIAL,
    CheckedRequest,
    Proceed,
    later,
    may_do_to_cluster,
    with_refused,
)
from pykbroker.access.rows import Row
from pykbroker.handlers.in_slices import in_slices, kept
from pykbroker.security.operations import OPERATION_NAMES

if TYPE_CHECKING:
    from pykbroker.handlers.contract import Answer
    from pykbroker.runtime.slices import Work

#: Items of a request that are checked at once. One with more and with records was copied when it was decoded (``requests/large.py``),
#: so that it may be handled in a later turn.
_AT_ONCE = 400


@dataclass(eq=False)
class EachOf:
    """Checks that the client may do an operation on each resource in the list ``items``: its elements, or their field ``name``.

    - ``ids_since``: from this version on topics are named by id; the handler refuses unknown ids.
    - ``unless``: this operation on the cluster permits all items.
    - ``goes_on``: the handler is called even if no item is left.
    - ``only``: selects the items to check; the handler refuses the others.
    - ``unique``: items that are named more than once stay in the request, since the handler refuses duplicates.
    - ``worded``: the error has a message, as in Kafka.
    - ``answers``: denied items are answered by the handler's own answer to a refused request, which has them in this list; for
      APIs whose answers have more than the request's items.
    """

    acts = True

    items: str
    resource_type: int
    operation: int
    _: KW_ONLY
    name: str | None = None
    ids_since: int | None = None
    unless: int | None = None
    goes_on: bool = False
    only: Callable[[Any], bool] | None = None
    unique: bool = False
    worded: bool = False
    answers: str | None = None
    rows: tuple[Row, ...] = field(init=False)

    def __post_init__(self) -> None:
        which = f"each of `{self.items}`"
        if self.unless is not None:
            which += f", unless {OPERATION_NAMES[self.unless]} on the cluster"
        self.rows = (Row(self.resource_type, (self.operation,), which, ERROR_OF[self.resource_type], "the item"),)

    def __call__(self, checked: CheckedRequest, proceed: Proceed) -> Answer:
        if self.unless is not None and may_do_to_cluster(checked, self.unless, tells=False):
            return proceed()
        named: list[Any] = getattr(checked.request, self.items) or []
        if len(named) > _AT_ONCE:
            return in_slices(checked.broker, checked.ctx, self._of_many(checked, proceed, named))
        denied = [item for item in named if not self._may(checked, item)]
        if not denied:
            return proceed()
        return in_slices(checked.broker, checked.ctx, self._answered(checked, proceed, named, denied))

    def _of_many(self, checked: CheckedRequest, proceed: Proceed, named: list[Any]) -> Work[Any]:
        denied = []
        for item in named:
            if self._may(checked, item):
                yield WEIGHT
            else:
                denied.append(item)
                yield WEIGHT_OF_A_DENIAL
        if not denied:
            return proceed()
        return (yield from self._answered(checked, proceed, named, denied))

    def _answered(self, checked: CheckedRequest, proceed: Proceed, named: list[Any], denied: list[Any]) -> Work[Any]:
        """The answer to the items that are left, joined with the refusal of the others."""
        if self.unique:
            denied = yield from self._named_once(denied, named)
            if not denied:
                return proceed()
        code, only = ERROR_OF[self.resource_type], {self.items: denied}
        if self.answers is not None:
            refused, items = (yield from checked.refusal(code, only=only)), self.answers
        else:
            refused, items = yield from checked.mirrored(code, worded=self.worded, only=only)
        taken_out = set(map(id, denied))
        left = yield from kept(named, lambda item: id(item) not in taken_out)
        if not left and not self.goes_on:
            return refused
        setattr(checked.request, self.items, left)
        return with_refused(proceed(), refused, items)

    def _may(self, checked: CheckedRequest, item: Any) -> bool:
        if self.only is not None and not self.only(item):
            return True
        name: str | None = item if self.name is None else checked.topic_name(item, self.name, self.ids_since)
        if name is None:
            return True
        allowed = checked.may(self.operation, self.resource_type, name)
        if allowed and self.ids_since is not None:
            checked.authorizer.grant_by_id(checked.ctx, self.operation, self.resource_type, item.topic_id, name)
        return allowed

    def _named_once(self, denied: list[Any], named: list[Any]) -> Generator[float, None, list[Any]]:
        name = attrgetter(cast("str", self.name))
        times = Counter(map(name, named))
        return (yield from kept(denied, lambda item: times[name(item)] == 1))


class AllOf:
    """The client may do an operation on every resource of a list; otherwise the whole request is refused."""

    acts = True

    def __init__(self, items: str, resource_type: int, operation: int) -> None:
        self._items = items
        self._resource_type = resource_type
        self._operation = operation
        which = f"all of `{items}`"
        self.rows = (Row(resource_type, (operation,), which, ERROR_OF[resource_type], "the whole request"),)

    def __call__(self, checked: CheckedRequest, proceed: Proceed) -> Answer:
        names = getattr(checked.request, self._items) or ()
        return in_slices(checked.broker, checked.ctx, self._of(checked, proceed, names)) if names else proceed()

    def _of(self, checked: CheckedRequest, proceed: Proceed, names: Iterable[str]) -> Work[Any]:
        is_denied = False
        for name in names:
            if checked.may(self._operation, self._resource_type, name):
                yield WEIGHT
            else:
                is_denied = True
                yield WEIGHT_OF_A_DENIAL
        return (yield from checked.refusal(ERROR_OF[self._resource_type])) if is_denied else proceed()


class OnlyPermitted:
    """A list in the answer keeps only resources on which the client may do an operation. The operation ``unless`` on the cluster
    permits all. ``within`` is a list whose elements have that list.
    """

    acts = True

    def __init__(
        self,
        items: str,
        resource_type: int,
        operation: int,
        name: str,
        *,
        within: str | None = None,
        unless: int | None = None,
    ) -> None:
        self._items = items
        self._resource_type = resource_type
        self._operation = operation
        self._name = name
        self._within = within
        self._unless = unless
        which = f"each of `{items}` of the answer"
        if unless is not None:
            which += f", unless {OPERATION_NAMES[unless]} on the cluster"
        self.rows = (Row(resource_type, (operation,), which, None, "left out"),)

    def __call__(self, checked: CheckedRequest, proceed: Proceed) -> Answer:
        if self._unless is not None and may_do_to_cluster(checked, self._unless, tells=False):
            return proceed()

        return later(checked, proceed(), self._permitted)

    def _permitted(self, checked: CheckedRequest, response: Any) -> Work[Any]:
        for each in [response] if self._within is None else getattr(response, self._within):
            items = yield from kept(getattr(each, self._items), partial(self._may, checked), WEIGHT)
            setattr(each, self._items, items)
            yield WEIGHT
        return response

    def _may(self, checked: CheckedRequest, item: Any) -> bool:
        return checked.may(self._operation, self._resource_type, getattr(item, self._name), tells=False)
