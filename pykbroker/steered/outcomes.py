"""Waits of requests to the process for what its brokers do."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pykbroker.process.life import BETWEEN, LifeEnded
from pykbroker.steered.refusal import Refusal

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.process.life import Lives
    from pykbroker.runtime.waits import Deferred

T = TypeVar("T")


def present(lives: Lives) -> Cluster:
    """The cluster. Raises Refusal while the process stops or is reset."""
    if lives.current is None:
        raise Refusal(503, BETWEEN)
    return lives.current.cluster


async def outcome(lives: Lives, wait: Deferred[T]) -> T:
    """The result of a wait. Raises its error, and Refusal if the brokers stop or are reset meanwhile."""
    try:
        return await lives.outcome(wait)
    except LifeEnded as error:
        raise Refusal(503, BETWEEN) from error
