"""A row of the table of what is asked, as the documentation prints it."""

from __future__ import annotations

from typing import NamedTuple

from pykbroker.wire.errors import ErrorCode


class Row(NamedTuple):
    """What the asker must be allowed to do, and what happens otherwise. ``error`` is None where something is left out
    without a word.
    """

    resource_type: int
    #: Any of these will do.
    operations: tuple[int, ...]
    #: Which resource, and in which versions where not in all.
    which: str
    error: ErrorCode | None
    #: Where the error stands, or what is left out.
    where: str
