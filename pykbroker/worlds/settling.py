"""When a world has come to rest."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pykbroker.testing import groups

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.worlds.brokers import WorldKafka
    from pykbroker.worlds.hosts import Process, WorldHost
    from pykbroker.worlds.simulator import Simulator

#: How long nothing may happen: where every group has read to its end, and otherwise, which is longer than sessions, requests and
#: transactions may take by default.
_READ_S: Final = 3.0
_QUIET_S: Final = 120.0
_LOOK_S: Final = 0.25


async def settle(simulator: Simulator, hosts: list[WorldHost], brokers: list[WorldKafka], at_most: float) -> None:
    """See ``World.settle``."""
    everybody = [*hosts, *brokers]
    end = simulator.now + at_most
    seen: Any = None
    since = read_since = simulator.now
    while True:
        for host in hosts:
            host.check()
        state = _state(hosts, brokers)
        if state != seen or _planned(everybody):
            seen, since = state, simulator.now
        if since == simulator.now or not _all_read(brokers):
            read_since = simulator.now
        if simulator.now - since >= _QUIET_S or simulator.now - read_since >= _READ_S:
            for each in everybody:
                each.forget_plans()
            return
        if simulator.now >= end:
            raise TimeoutError(f"the world has not settled after {at_most:g} s of its time: {_why(hosts, state)}")
        await asyncio.sleep(_LOOK_S)


def _planned(everybody: Sequence[Process]) -> bool:
    """Whether something will befall a host by the clock."""
    return any(each.pending for each in everybody)


def _state(hosts: list[WorldHost], brokers: list[WorldKafka]) -> Any:
    """What changes as long as something comes of what happens."""
    return (
        [(host.starts, host.running) for host in hosts],
        [_of_brokers(each.cluster) if each.is_ready else None for each in brokers],
    )


def _of_brokers(cluster: Cluster) -> Any:
    return {(each.topic, each.index): each.log_end_offset for each in cluster.partitions()}


def _all_read(brokers: list[WorldKafka]) -> bool:
    """Whether there are groups, and each of them has committed all that there is in its topics."""
    some = False
    for each in brokers:
        if not each.is_ready:
            return False
        for group in each.groups():
            lags = groups.lags(each.cluster, group)
            if any(lags.values()):
                return False
            some = some or bool(lags)
    return some


def _why(hosts: list[WorldHost], state: Any) -> str:
    running = ", ".join(host.name for host in hosts if host.running)
    return f"running are {running or 'no hosts'}; the ends of partitions are {state[1]}"
