"""A row of the documentation's table of authorizations."""

from __future__ import annotations

from typing import NamedTuple

from pykbroker.wire.errors import ErrorCode


class Row(NamedTuple):
    """A required operation, and the effect of a denial. ``error`` is None if denied items are left out silently."""

    resource_type: int
    #: Alternatives, of which one suffices.
    operations: tuple[int, ...]
    #: The resource, and the versions if not all.
    which: str
    error: ErrorCode | None
    #: The place of the error, or what is left out.
    where: str
