"""The ``TransactionPort`` to coordinators in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from pykbroker.coordination.transactions.transaction import EPOCH_BUMP_SINCE, TopicPartition
from pykbroker.runtime.waits import Deferred, as_wait
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.transactions.coordinator import TransactionCoordinator


class LocalTransactions:
    """See the module. ``coordinator_of`` is the coordinator of a transactional id, None if it is not in this process."""

    def __init__(self, coordinator_of: Callable[[str], TransactionCoordinator | None]) -> None:
        self._coordinator_of = coordinator_of

    def verify(
        self, transactional_id: str, producer: tuple[int, int], partitions: Iterable[TopicPartition]
    ) -> Deferred[dict[TopicPartition, ErrorCode]]:
        """See ``TransactionPort``."""
        return as_wait(self._coordinator(transactional_id).verify_partitions(transactional_id, *producer, partitions))

    def add(
        self, transactional_id: str, producer: tuple[int, int], partitions: Iterable[TopicPartition]
    ) -> Deferred[None]:
        """See ``TransactionPort``."""
        coordinator = self._coordinator(transactional_id)
        added = coordinator.add_partitions(transactional_id, *producer, partitions, client_version=EPOCH_BUMP_SINCE)
        return as_wait(added)

    def _coordinator(self, transactional_id: str) -> TransactionCoordinator:
        if not transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        coordinator = self._coordinator_of(transactional_id)
        if coordinator is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return coordinator
