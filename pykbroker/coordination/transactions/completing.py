"""Completes a prepared transaction: writes a marker to each of its partitions, then records the completion.

Progress is not persisted: after a restart all markers are written again, and a second marker in a partition has no effect.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.coordination.transactions.transaction import TopicPartition, Transaction, TransactionState
from pykbroker.runtime.waits import Deferred, gather
from pykbroker.wire.control_records import EndTxnMarker
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.host import MarkerPort
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.slices import Steps

log = logging.getLogger(__name__)

#: Errors of a partition that has seen a later producer or coordinator epoch: the transaction has ended there.
_OVER = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)

_LONGEST_RETRY_MS = 10_000

#: Markers that are written in the first turn, and the weight of one (``runtime/slices.py``).
WRITTEN_AT_ONCE = 20
_MARKER_WEIGHT = 8


class Completion:
    """See the module. ``finished`` appends the completion and returns whether that succeeded; ``wanted`` says whether to go on."""

    def __init__(
        self,
        runtime: Runtime,
        markers: MarkerPort,
        prepared: Transaction,
        *,
        coordinator: Partition,
        retry_ms: int,
        wanted: Callable[[], bool],
        finished: Callable[[], bool],
    ) -> None:
        self._runtime = runtime
        self._markers = markers
        self._prepared = prepared
        self._coordinator = coordinator
        self._retry_ms = retry_ms
        self._wanted = wanted
        self._finished = finished
        self._left: deque[TopicPartition] = deque(sorted(prepared.partitions))

    def run(self) -> None:
        """Write the remaining markers, many of them in slices; complete the transaction when none is left."""
        if len(self._left) <= WRITTEN_AT_ONCE:
            for _ in self._write_all():
                pass
        else:
            self._runtime.slices.add(self._write_all())

    def _write_all(self) -> Steps:
        waiting, self._left = self._left, deque()
        uncommitted: list[Deferred[None]] = []
        for number, where in enumerate(waiting):
            if not self._wanted():
                return
            written = self._write(where)
            if written is not None:
                uncommitted.append(written)
            if number % WRITTEN_AT_ONCE == WRITTEN_AT_ONCE - 1:
                yield _MARKER_WEIGHT * WRITTEN_AT_ONCE
        settled = gather(uncommitted).map(lambda _: self._settle())
        settled.or_log("completing a transaction of %s", self._prepared.producer_id)

    def _write(self, where: TopicPartition) -> Deferred[None] | None:
        """Write one marker. None, or a wait that never fails, until it is committed or is left for later."""
        prepared = self._prepared
        try:
            written = self._markers.write(
                where,
                EndTxnMarker(prepared.state is TransactionState.PREPARE_COMMIT, self._coordinator.leader_epoch),
                producer_id=prepared.producer_id,
                producer_epoch=prepared.producer_epoch,
                transaction_version=prepared.client_version,
            )
        except Exception as error:  # noqa: BLE001 - a transaction that is never completed blocks its readers
            self._refused(where, error)
            return None
        return None if written is None else written.recover(Exception, partial(self._refused, where))

    def _refused(self, where: TopicPartition, error: Exception) -> None:
        """The marker is not in the log or may be lost: write it again, unless none is needed."""
        code = error.code if isinstance(error, KafkaError) else None
        log.warning(
            "Transaction marker of producer id %s cannot be written to %s-%d: %s",
            self._prepared.producer_id,
            *where,
            error,
            exc_info=error if code is None else None,
        )
        if code not in _OVER:
            self._left.append(where)

    def _settle(self) -> None:
        if not self._wanted() or (not self._left and self._try_to_finish()):
            return
        self._runtime.timers.after(self._retry_ms, self.run)
        self._retry_ms = min(2 * self._retry_ms, _LONGEST_RETRY_MS)

    def _try_to_finish(self) -> bool:
        try:
            return self._finished()
        except Exception:  # retried, as after a failed append
            log.exception(
                "Unhandled error while completing a transaction of producer id %s", self._prepared.producer_id
            )
            return False
