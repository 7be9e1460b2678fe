"""What coordinators need of the process they live in, and the ports by which they reach others, wherever those are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.coordination.transactions.transaction import TopicPartition
    from pykbroker.metadata.source import MetadataSource
    from pykbroker.partitions.dormant_logs import DormantLogs
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.waits import Deferred
    from pykbroker.security.authorizer import Authorizer
    from pykbroker.wire.control_records import EndTxnMarker
    from pykbroker.wire.errors import ErrorCode


class CoordinatingBroker(Protocol):
    """A broker of this process, which may lead partitions of a coordinator's topic."""

    node_id: int

    def next_producer_id(self) -> int:
        """A producer id nobody else has. Raises KafkaError with COORDINATOR_LOAD_IN_PROGRESS while there is none."""
        ...


class TransactionPort(Protocol):
    """Towards the coordinator of a transactional id: AddPartitionsToTxn, as brokers ask it (KIP-890).

    ``producer`` is an id and an epoch. Both raise, or fail with, what ``add_partitions`` raises, NOT_COORDINATOR or
    COORDINATOR_LOAD_IN_PROGRESS.
    """

    def verify(
        self, transactional_id: str, producer: tuple[int, int], partitions: Iterable[TopicPartition], /
    ) -> Deferred[dict[TopicPartition, ErrorCode]]:
        """Which partitions are part of the transaction."""
        ...

    def add(
        self, transactional_id: str, producer: tuple[int, int], partitions: Iterable[TopicPartition], /
    ) -> Deferred[None]:
        """Make them part of it."""
        ...


class MarkerPort(Protocol):
    """Towards the leader of a partition that a transaction wrote to: WriteTxnMarkers."""

    def write(
        self,
        where: TopicPartition,
        marker: EndTxnMarker,
        *,
        producer_id: int,
        producer_epoch: int,
        transaction_version: int,
    ) -> Deferred[None] | None:
        """Completes when the marker is committed; None if it is already, or the topic is gone, and its transaction with it.

        Raises, or fails with, KafkaError INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED, NOT_LEADER_OR_FOLLOWER,
        NOT_ENOUGH_REPLICAS or KAFKA_STORAGE_ERROR.
        """
        ...


class MarkedOffsets(Protocol):
    """Told of markers in ``__consumer_offsets``."""

    def end_transaction(self, index: int, producer_id: int, *, commit: bool) -> None:
        """The marker of a producer's transaction was appended to a partition of ``__consumer_offsets``."""
        ...


class CoordinationHost(Protocol):
    """Has the partitions, the metadata and the time."""

    runtime: Runtime
    config: BrokerConfig
    dormant: DormantLogs
    authorizer: Authorizer | None

    @property
    def metadata(self) -> MetadataSource: ...
    @property
    def groups(self) -> MarkedOffsets: ...
    @property
    def transactions(self) -> TransactionPort: ...
    def partition(self, topic: str, index: int, /) -> Partition | None:
        """None where it does not exist."""
        ...

    def node(self, node_id: int, /) -> CoordinatingBroker:
        """A broker of this process. KeyError for any other."""
        ...
