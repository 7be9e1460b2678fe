"""Checks of a request as a whole: on the cluster, or on its one resource."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pykbroker.access.checks import ERROR_OF, CheckedRequest, Proceed, may_do_to_cluster, needs
from pykbroker.access.rows import Row
from pykbroker.handlers.in_slices import in_slices
from pykbroker.security.resources import CLUSTER

if TYPE_CHECKING:
    from pykbroker.handlers.contract import Answer
    from pykbroker.runtime.slices import Steps, Work

_ALWAYS = range(0x8000)


class OfCluster:
    """The client may do an operation on the cluster, or ``other`` (checked first, without a log line). With ``says_what`` the
    answer's message names the missing operation.
    """

    acts = True

    def __init__(
        self, operation: int, *, other: int | None = None, versions: range = _ALWAYS, says_what: bool = True
    ) -> None:
        self._operation = operation
        self._other = other
        self._versions = versions
        self._says_what = says_what
        operations = (operation,) if other is None else (operation, other)
        self.rows = (Row(CLUSTER, operations, _in_versions("", versions), ERROR_OF[CLUSTER], "the whole request"),)

    def __call__(self, checked: CheckedRequest, proceed: Proceed) -> Answer:
        if (
            checked.ctx.api_version not in self._versions
            or (self._other is not None and may_do_to_cluster(checked, self._other, tells=False))
            or may_do_to_cluster(checked, self._operation)
        ):
            return proceed()
        return checked.refused(ERROR_OF[CLUSTER], needs(checked, self._operation) if self._says_what else None)


class OfOne:
    """The client may do an operation on the resource in a field. ``unless`` recognizes requests that the handler refuses
    regardless, before any authorization.
    """

    acts = True

    def __init__(
        self,
        resource_type: int,
        operation: int,
        field: str,
        *,
        unless: Callable[[Any, int], bool] | None = None,
        versions: range = _ALWAYS,
    ) -> None:
        self._resource_type = resource_type
        self._operation = operation
        self._field = field
        self._unless = unless
        self._versions = versions
        which = _in_versions(f"`{field}`", versions)
        self.rows = (Row(resource_type, (operation,), which, ERROR_OF[resource_type], "the whole request"),)

    def __call__(self, checked: CheckedRequest, proceed: Proceed) -> Answer:
        name = getattr(checked.request, self._field)
        version = checked.ctx.api_version
        if (
            name is None
            or version not in self._versions
            or (self._unless is not None and self._unless(checked.request, version))
            or checked.may(self._operation, self._resource_type, name)
        ):
            return proceed()
        return checked.refused(ERROR_OF[self._resource_type])


class Stated:
    """Validation before any authorization, by the handler's ``check``, which may close the connection."""

    acts = True

    rows: tuple[Row, ...] = ()

    def __init__(self, check: Callable[[Any], Steps]) -> None:
        self._check = check

    def __call__(self, checked: CheckedRequest, proceed: Proceed) -> Answer:
        return in_slices(checked.broker, checked.ctx, self._of(checked, proceed))

    def _of(self, checked: CheckedRequest, proceed: Proceed) -> Work[Any]:
        yield from self._check(checked.request)
        return proceed()


def _in_versions(what: str, versions: range) -> str:
    if versions == _ALWAYS:
        return what
    said = f"from version {versions.start}" if versions.start else f"up to version {versions[-1]}"
    return f"{what}, {said}" if what else said
