"""Sliced work that also waits, for a thread or for other work, in one function from its beginning to its end."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, TypeVar

from pykbroker.runtime.waits import Deferred

if TYPE_CHECKING:
    from pykbroker.runtime.slices import Slices, Steps

T = TypeVar("T")

#: Each step yields its weight (``slices.py``), or a wait that is over when the work goes on. A wait that failed is for the work to
#: look at.
WaitingWork = Generator[float | Deferred[Any], None, T]


def carry_out(slices: Slices, work: WaitingWork[T]) -> Deferred[T]:
    """The result of ``work``, which begins in its slice; fails with what it raises."""
    over: Deferred[T] = Deferred()
    slices.add(_steps(slices, work, over))
    return over


def _steps(slices: Slices, work: WaitingWork[T], over: Deferred[T]) -> Steps:
    """Go on with ``work``. Nothing of it refers to itself, so that what it made is gone with its last use, without the collector of cycles."""
    while True:
        try:
            found = next(work)
        except StopIteration as ended:
            over.complete(ended.value)
            return
        except Exception as error:  # noqa: BLE001 - whoever waits looks at it
            over.fail(error)
            return
        if not isinstance(found, Deferred):
            yield found
        elif not found.done:
            found.settled().map(lambda _: slices.add(_steps(slices, work, over))).or_log(
                "going on with work that waited"
            )
            return
