"""Group commit: many who wait for a partition's log to be synced share one sync (``flush.messages=1`` under load)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pykbroker.runtime.waits import Deferred, attempt

if TYPE_CHECKING:
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime


class GroupCommit:
    """One for all partitions; syncs run in the process's threads, those of several partitions side by side."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        #: What those wait for who came since the last sync of a partition began.
        self._waiting: dict[Partition, Deferred[None]] = {}
        self._syncing: set[Partition] = set()

    def synced(self, partition: Partition) -> Deferred[None]:
        """Completes when everything appended to the partition so far is synced.

        A caller that arrives while a sync runs waits for the next one, which begins when this one ends.
        """
        waiting = self._waiting.get(partition)
        if waiting is None:
            waiting = self._waiting[partition] = Deferred()
            if partition not in self._syncing:
                self._runtime.wake_queue.add(partial(self._begin, partition))
        return waiting

    def _begin(self, partition: Partition) -> None:
        waiting = self._waiting.pop(partition)
        self._syncing.add(partition)
        synced = attempt(self._sync, partition)
        synced.pass_to(waiting)
        synced.settled().map(lambda _: self._end(partition)).or_log("going on after a sync of %r", partition)

    def _sync(self, partition: Partition) -> Deferred[None]:
        plan = partition.log.plan_flush()
        if plan is None:
            return Deferred.completed(None)
        return self._runtime.offload(plan.run).map(lambda _: plan.finish())

    def _end(self, partition: Partition) -> None:
        self._syncing.discard(partition)
        if partition in self._waiting:
            self._begin(partition)
        partition.tell_changed()  # readers may see more
