"""From a decided transaction to a completed one: a marker in each of its partitions, then the completion.

Nothing here is remembered: after a restart all markers are written again, and a partition that has its marker already
takes a second one for what it is.
"""

from __future__ import annotations

import logging
from collections import deque
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
    from pykbroker.runtime.slices import Steps
    from pykbroker.runtime.waits import Deferred

log = logging.getLogger(__name__)

#: A partition that answers so has seen a later epoch or coordinator: the transaction is over there, whatever it was.
_OVER = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)

_LONGEST_RETRY_MS = 10_000

#: Markers that are written before anybody else has a turn, and what one of them weighs (``slices.py``).
WRITTEN_AT_ONCE = 20
_MARKER_WEIGHT = 8


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
        self._left: deque[TopicPartition] = deque(sorted(prepared.partitions))
        #: Markers that are written and not committed yet.
        self._uncommitted = 0

    def run(self) -> None:
        """Write the markers that are left, of very many some at a time; complete the transaction when none is."""
        if len(self._left) <= WRITTEN_AT_ONCE:
            for _ in self._write_all():
                pass
        else:
            self._cluster.runtime.slices.add(self._write_all())

    def _write_all(self) -> Steps:
        waiting, self._left = self._left, deque()
        written: list[tuple[TopicPartition, Deferred[None]]] = []
        for number, where in enumerate(waiting):
            if not self._wanted():
                return
            if not self._write(where, written):
                self._left.append(where)
            if number % WRITTEN_AT_ONCE == WRITTEN_AT_ONCE - 1:
                yield _MARKER_WEIGHT * WRITTEN_AT_ONCE
        self._await(written)

    def _await(self, written: list[tuple[TopicPartition, Deferred[None]]]) -> None:
        """Settle when all that was written is committed."""
        self._uncommitted = len(written)
        if not written:
            self._settle()
        for where, committed in written:
            unsafe = committed.recover(Exception, partial(self._lost, where))
            unsafe.map(lambda _: self._committed()).or_log("completing a transaction of %s", self._prepared.producer_id)

    def _write(self, where: TopicPartition, written: list[tuple[TopicPartition, Deferred[None]]]) -> bool:
        """Write one marker, or find that none is needed; False to try again later. What is to be waited for goes into
        ``written``.
        """
        partition = self._cluster.partition(*where)
        if partition is None:  # the topic was deleted, and its transaction with it
            return True
        prepared = self._prepared
        try:
            committed = write_marker(
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
        if committed is not None:
            written.append((where, committed))
        return True

    def _lost(self, where: TopicPartition, error: Exception) -> None:
        """The marker may be lost with the power: it is written again."""
        log.warning("The end of a transaction in %s-%d could not be committed: %s", *where, error)
        self._left.append(where)

    def _committed(self) -> None:
        self._uncommitted -= 1
        if not self._uncommitted:
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
