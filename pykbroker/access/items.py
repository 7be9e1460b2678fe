"""Checks of the items of a request: denied items are removed, the rest is handled, and the answer has both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

from pykbroker.access.checks import ERROR_OF, CheckedRequest, Proceed, may_do_to_cluster, then, with_refused
from pykbroker.access.rows import Row
from pykbroker.handlers.in_slices import WEIGHT_OF_A_PART, in_slices
from pykbroker.security.operations import OPERATION_NAMES

if TYPE_CHECKING:
    from pykbroker.handlers.contract import Answer
    from pykbroker.runtime.slices import Work

#: Items of a request that are checked at once. One with more and with records was copied when it was decoded (``requests/large.py``),
#: so that it may be handled in a later turn.
_AT_ONCE = 400
#: Denied items whose answers are built at once.
_REFUSED_AT_ONCE = 200
#: The weight of a check, and of one that ends in a line of the log.
_WEIGHT = 1
_WEIGHT_OF_A_DENIAL = 5


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
        if denied and self.unique:
            denied = self._named_once(denied, named)
        if not denied:
            return proceed()
        return self._answered(checked, proceed, denied, self._refused(checked, denied))

    def _of_many(self, checked: CheckedRequest, proceed: Proceed, named: list[Any]) -> Work[Any]:
        denied = []
        for item in named:
            if self._may(checked, item):
                yield _WEIGHT
            else:
                denied.append(item)
                yield _WEIGHT_OF_A_DENIAL
        if denied and self.unique:
            denied = self._named_once(denied, named)
        if not denied:
            return proceed()
        refused, items = self._refused(checked, denied[:_REFUSED_AT_ONCE])
        for begin in range(_REFUSED_AT_ONCE, len(denied), _REFUSED_AT_ONCE):
            yield WEIGHT_OF_A_PART
            more, _ = self._refused(checked, denied[begin : begin + _REFUSED_AT_ONCE])
            getattr(refused, items).extend(getattr(more, items))
        yield WEIGHT_OF_A_PART
        return self._answered(checked, proceed, denied, (refused, items))

    def _answered(
        self, checked: CheckedRequest, proceed: Proceed, denied: list[Any], refusal: tuple[Any, str]
    ) -> Answer:
        """The answer to the items that are left, joined with the refusal of the others."""
        refused, items = refusal
        taken_out = {id(item) for item in denied}
        left = [item for item in getattr(checked.request, self.items) if id(item) not in taken_out]
        if not left and not self.goes_on:
            answer: Answer = refused
            return answer
        setattr(checked.request, self.items, left)
        return with_refused(proceed(), refused, items)

    def _refused(self, checked: CheckedRequest, denied: list[Any]) -> tuple[Any, str]:
        code, only = ERROR_OF[self.resource_type], {self.items: denied}
        if self.answers is not None:
            return checked.without(**only).refused(code), self.answers
        return checked.mirrored(code, worded=self.worded, **only)

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

    def _named_once(self, denied: list[Any], named: list[Any]) -> list[Any]:
        assert self.name is not None
        times = Counter(getattr(each, self.name) for each in named)
        return [item for item in denied if times[getattr(item, self.name)] == 1]


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
        denied = [name for name in names if not checked.may(self._operation, self._resource_type, name)]
        return checked.refused(ERROR_OF[self._resource_type]) if denied else proceed()


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

        def permitted(response: Any) -> Any:
            for each in [response] if self._within is None else getattr(response, self._within):
                setattr(each, self._items, [item for item in getattr(each, self._items) if self._may(checked, item)])
            return response

        return then(proceed(), permitted)

    def _may(self, checked: CheckedRequest, item: Any) -> bool:
        return checked.may(self._operation, self._resource_type, getattr(item, self._name), tells=False)
