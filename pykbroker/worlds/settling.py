"""When a world has come to rest."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pykbroker.seeding.dumping import committed_records
from pykbroker.testing import groups

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.partitions.partition import Partition
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
        [_of_brokers(each) if each.is_ready else None for each in brokers],
    )


def _of_brokers(kafka: WorldKafka) -> Any:
    """The ends of partitions, and the offsets of groups; those that are committed again and again are the same."""
    ends = {
        f"{each.topic}-{each.index}": each.log_end_offset
        for each in kafka.cluster.partitions()
        if not each.topic.startswith("__")
    }
    return ends, {group: kafka.committed(group) for group in kafka.groups()}


def _all_read(brokers: list[WorldKafka]) -> bool:
    """Whether there are groups, and each of them has committed all that there is in its topics."""
    some = False
    for each in brokers:
        if not each.is_ready:
            return False
        for group in each.groups():
            to_read = _to_read(each.cluster, group)
            if not to_read:
                return False  # it has members that have not begun, or it commits nothing
            for (topic, index), offset in to_read:
                partition = each.cluster.partition(topic, index)
                if partition is not None and _has_more(partition, offset):
                    return False
                some = True
    return some


def _to_read(cluster: Cluster, group: str) -> list[tuple[tuple[str, int], int]]:
    """Where a group goes on in each partition of its topics."""
    offsets = groups.committed(cluster, group)
    topics = {topic for topic, _ in offsets}
    return [
        ((each.topic, each.index), offsets.get((each.topic, each.index), each.log_start_offset))
        for each in cluster.partitions()
        if each.topic in topics
    ]


def _has_more(partition: Partition, offset: int) -> bool:
    """Whether there is a record from an offset on: markers and what was aborted are none."""
    end = partition.last_stable_offset
    return offset < end and any(
        True for _ in committed_records(partition, max(offset, partition.log_start_offset), end)
    )


def _why(hosts: list[WorldHost], state: Any) -> str:
    running = ", ".join(host.name for host in hosts if host.running)
    return f"running are {running or 'no hosts'}; the ends of partitions, and the offsets of groups: {state[1]}"
