"""Waits of requests to the process for what its brokers do."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pykbroker.process.life import BETWEEN, LifeEnded
from pykbroker.steered.refusal import VerbRefused

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.process.life import Lifetimes
    from pykbroker.runtime.waits import Deferred

T = TypeVar("T")


def present(lifetimes: Lifetimes) -> Cluster:
    """The cluster. Raises VerbRefused while the process stops or is reset."""
    if lifetimes.current is None:
        raise VerbRefused(503, BETWEEN)
    return lifetimes.current.cluster


async def outcome(lifetimes: Lifetimes, wait: Deferred[T]) -> T:
    """The result of a wait. Raises its error, and VerbRefused if the brokers stop or are reset meanwhile."""
    try:
        return await lifetimes.outcome(wait)
    except LifeEnded as error:
        raise VerbRefused(503, BETWEEN) from error
