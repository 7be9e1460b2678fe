"""From a decided transaction to a completed one: a marker in each of its partitions, then the completion.

Nothing here is remembered: after a restart all markers are written again, and a partition that has its marker already
takes a second one for what it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.transactions.markers import write_marker
from pykbroker.coordination.transactions.transaction import State, TopicPartition, Transaction
from pykbroker.wire.control_records import EndTxnMarker
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.host import CoordinationHost
    from pykbroker.partitions.partition import Partition

log = logging.getLogger(__name__)

#: A partition that answers so has seen a later epoch or coordinator: the transaction is over there, whatever it was.
_OVER = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)

_LONGEST_RETRY_MS = 10_000


class Completion:
    """See the module. ``finished`` appends the completion and may raise KafkaError; ``wanted`` says whether to go on."""

    def __init__(
        self,
        cluster: CoordinationHost,
        prepared: Transaction,
        *,
        coordinator: Partition,
        retry_ms: int,
        wanted: Callable[[], bool],
        finished: Callable[[], None],
    ) -> None:
        self._cluster = cluster
        self._prepared = prepared
        self._coordinator = coordinator
        self._retry_ms = retry_ms
        self._wanted = wanted
        self._finished = finished
        self._left: list[TopicPartition] = sorted(prepared.partitions)
        #: Syncs under way that the completion must wait for.
        self._syncing = 0

    def run(self) -> None:
        """Write the markers that are left; complete the transaction when none is."""
        if not self._wanted():
            return
        written: list[Partition] = []
        self._left = [each for each in self._left if not self._write(each, written)]
        syncs = [
            (partition, self._cluster.group_commit.synced(partition))
            for partition in written
            if partition.log.needs_flush_before_ack
        ]
        self._syncing = len(syncs)
        if not syncs:
            self._settle()
        for partition, sync in syncs:
            unsafe = sync.recover(Exception, partial(self._lost, partition))
            unsafe.map(lambda _: self._synced()).or_log("completing a transaction of %s", self._prepared.producer_id)

    def _write(self, where: TopicPartition, written: list[Partition]) -> bool:
        """Write one marker, or find that none is needed; False to try again later."""
        partition = self._cluster.partition(*where)
        if partition is None:  # the topic was deleted, and its transaction with it
            return True
        prepared = self._prepared
        try:
            write_marker(
                self._cluster,
                partition,
                EndTxnMarker(prepared.state is State.PREPARE_COMMIT, self._coordinator.leader_epoch),
                producer_id=prepared.producer_id,
                producer_epoch=prepared.producer_epoch,
                transaction_version=prepared.client_version,
            )
        except KafkaError as error:
            log.warning(
                "The end of a transaction of %s could not be told %r: %s", prepared.producer_id, partition, error
            )
            return error.code in _OVER
        written.append(partition)
        return True

    def _lost(self, partition: Partition, error: Exception) -> None:
        """The marker may be lost with the power: it is written again."""
        log.warning("The end of a transaction in %r could not be synced: %s", partition, error)
        self._left.append((partition.topic, partition.index))

    def _synced(self) -> None:
        self._syncing -= 1
        if not self._syncing:
            self._settle()

    def _settle(self) -> None:
        if not self._left and self._wanted():
            try:
                self._finished()
            except KafkaError:
                pass  # already logged by the coordinator; tried again below
            else:
                return
        self._cluster.runtime.timers.after(self._retry_ms, self.run)
        self._retry_ms = min(2 * self._retry_ms, _LONGEST_RETRY_MS)
