"""Group commit: many who wait for a partition's log to be synced share one sync (``flush.messages=1`` under load)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.runtime.waits import Deferred

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.partitions.partition import Partition
    from pykbroker.storage.log.flushing import FlushPlan


class GroupCommit:
    """One for all partitions; syncs run in the cluster's threads, those of several partitions side by side."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        #: What those wait for who came since the last sync of a partition began.
        self._waiting: dict[Partition, Deferred[None]] = {}

    def synced(self, partition: Partition) -> Deferred[None]:
        """Completes when everything appended to the partition so far is synced.

        A caller that arrives while a sync runs waits for the next one, which begins when this one ends.
        """
        waiting = self._waiting.get(partition)
        if waiting is None:
            waiting = self._waiting[partition] = Deferred()
            self._cluster.wake_queue.add(partial(self._begin, partition))
        return waiting

    def _begin(self, partition: Partition) -> None:
        waiting = self._waiting[partition]
        try:
            plan = partition.log.plan_flush()
        except Exception as error:  # noqa: BLE001 - handed on to those who wait
            del self._waiting[partition]
            waiting.fail(error)
            return
        if plan is None:
            del self._waiting[partition]
            waiting.complete(None)
            return
        self._waiting[partition] = Deferred()
        self._cluster.offload(plan.run).then(partial(self._end, partition, plan, waiting))

    def _end(self, partition: Partition, plan: FlushPlan, waiting: Deferred[None], run: Deferred[None]) -> None:
        try:
            _ = run.value
            plan.finish()
        except Exception as error:  # noqa: BLE001 - handed on to those who wait
            waiting.fail(error)
        else:
            waiting.complete(None)
            partition.tell_changed()  # readers may see more
        if self._waiting[partition].has_callbacks:
            self._begin(partition)
        else:
            del self._waiting[partition]
