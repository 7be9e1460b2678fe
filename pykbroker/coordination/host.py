"""What coordinators need of their process, and the ports to other coordinators and to leaders, wherever those run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.coordination.share.state import SharePartitionKey, ShareState
    from pykbroker.coordination.transactions.transaction import TopicPartition
    from pykbroker.metadata.source import MetadataSource
    from pykbroker.partitions.dormant_logs import DormantLogs
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.authorizer import Authorizer
    from pykbroker.storage.log.log import AppendResult
    from pykbroker.wire.control_records import EndTxnMarker
    from pykbroker.wire.errors import ErrorCode


class TransactionPort(Protocol):
    """The port to the coordinator of a transactional id: AddPartitionsToTxn as brokers send it (KIP-890).

    ``producer`` is an id and an epoch. Both raise, or fail with, what ``add_partitions`` raises, NOT_COORDINATOR or
    COORDINATOR_LOAD_IN_PROGRESS.
    """

    def verify(
        self, transactional_id: str, producer: tuple[int, int], partitions: Iterable[TopicPartition], /
    ) -> Deferred[dict[TopicPartition, ErrorCode]]:
        """An error code for each partition that is not part of the transaction."""
        ...

    def add(
        self, transactional_id: str, producer: tuple[int, int], partitions: Iterable[TopicPartition], /
    ) -> Deferred[None]:
        """Add the partitions to the transaction."""
        ...


class MarkerPort(Protocol):
    """The port to the leader of a partition in a transaction: WriteTxnMarkers."""

    def write(
        self,
        where: TopicPartition,
        marker: EndTxnMarker,
        *,
        producer_id: int,
        producer_epoch: int,
        transaction_version: int,
    ) -> Deferred[None] | None:
        """Completes when the marker is committed; None if it is already, or the topic was deleted and needs none.

        Raises, or fails with, KafkaError INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED, NOT_LEADER_OR_FOLLOWER,
        NOT_ENOUGH_REPLICAS or KAFKA_STORAGE_ERROR.
        """
        ...


class ShareStatePort(Protocol):
    """The port to the share coordinator of a share partition: the requests about its state.

    All fail with KafkaError COORDINATOR_NOT_AVAILABLE if no coordinator answers within a few seconds, beside what the
    coordinator answers.
    """

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int, /) -> Deferred[None]:
        """InitializeShareGroupState."""
        ...

    def read(self, key: SharePartitionKey, leader_epoch: int, /) -> Deferred[ShareState]:
        """ReadShareGroupState."""
        ...

    def summary(self, key: SharePartitionKey, /) -> Deferred[ShareState]:
        """ReadShareGroupStateSummary."""
        ...

    def write(self, key: SharePartitionKey, change: ShareState, /) -> Deferred[None]:
        """WriteShareGroupState."""
        ...

    def delete(self, key: SharePartitionKey, /) -> Deferred[None]:
        """DeleteShareGroupState."""
        ...


class MarkedOffsets(Protocol):
    """Notified of markers in ``__consumer_offsets``."""

    def end_transaction(self, index: int, producer_id: int, marker: AppendResult, *, commit: bool) -> None:
        """A transaction marker was appended to a partition of ``__consumer_offsets``."""
        ...


class CoordinationHost(Protocol):
    """The broker of a coordinator: its partitions, its view of the metadata, time, and the ports to other brokers."""

    node_id: int
    runtime: Runtime
    config: BrokerConfig
    dormant: DormantLogs
    authorizer: Authorizer | None
    metadata: MetadataSource

    @property
    def marker_port(self) -> MarkerPort: ...
    @property
    def transaction_port(self) -> TransactionPort: ...
    @property
    def share_states(self) -> ShareStatePort: ...
    @property
    def groups(self) -> MarkedOffsets: ...
    def partition(self, topic: str, index: int, /) -> Partition | None:
        """The partition, or None."""
        ...

    def next_producer_id(self) -> int:
        """A new producer id. Raises KafkaError COORDINATOR_LOAD_IN_PROGRESS while there is none."""
        ...
