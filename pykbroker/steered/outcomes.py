"""Waits of requests to the process for what its brokers do."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pykbroker.process.life import BETWEEN, LifeEnded
from pykbroker.steered.refusal import VerbRefused

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.process.life import Lives
    from pykbroker.runtime.waits import Deferred

T = TypeVar("T")


def present(lives: Lives) -> Cluster:
    """The cluster. Raises VerbRefused while the process stops or is reset."""
    if lives.current is None:
        raise VerbRefused(503, BETWEEN)
    return lives.current.cluster


async def outcome(lives: Lives, wait: Deferred[T]) -> T:
    """The result of a wait. Raises its error, and VerbRefused if the brokers stop or are reset meanwhile."""
    try:
        return await lives.outcome(wait)
    except LifeEnded as error:
        raise VerbRefused(503, BETWEEN) from error
