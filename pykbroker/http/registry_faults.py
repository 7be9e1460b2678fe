"""Faults of requests to the schema registry: the same rules as for requests of Kafka, as far as HTTP has what they do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from pykbroker.registry.errors import RegistryError
from pykbroker.runtime.waits import Deferred

if TYPE_CHECKING:
    from pykbroker.faults.book import Rule
    from pykbroker.faults.injector import Injector
    from pykbroker.process.node import Node


class FaultCloses(Exception):
    """The connection is closed without an answer."""


async def befall(node: Node, injector: Injector, rule: Rule, proceed: Callable[[], Awaitable[Any]]) -> Any:
    """The answer to a request that a rule acts on. Raises FaultCloses, RegistryError, and LifeEnded where a reset ends a wait."""
    fault = rule.fault
    outcome = node.lifetimes.outcome
    if fault.hold:
        await outcome(injector.held(rule))
        return await proceed()
    if fault.delay is not None and not fault.after:
        await outcome(node.cluster.runtime.client_timers.pause(fault.delay))
    answer = await proceed() if fault.after or not (fault.status or fault.drop or fault.close) else None
    if fault.status is not None:
        raise RegistryError(fault.status, "A fault refuses this request")
    if fault.drop:
        await outcome(Deferred[None]())
    if fault.close:
        raise FaultCloses
    if fault.delay is not None and fault.after:
        await outcome(node.cluster.runtime.client_timers.pause(fault.delay))
    return answer
