"""What coordinators need of the process they live in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.coordination.groups.coordinator import GroupCoordinator
    from pykbroker.coordination.transactions.coordinator import TransactionCoordinator
    from pykbroker.metadata.source import MetadataSource
    from pykbroker.partitions.dormant_logs import DormantLogs
    from pykbroker.partitions.group_commit import GroupCommit
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime


class Node(Protocol):
    """A broker that coordinates."""

    node_id: int

    def next_producer_id(self) -> int:
        """A producer id nobody else has. Raises KafkaError with COORDINATOR_LOAD_IN_PROGRESS while there is none."""
        ...


class CoordinationHost(Protocol):
    """Has the partitions, the metadata and the time."""

    runtime: Runtime
    config: BrokerConfig
    dormant: DormantLogs
    group_commit: GroupCommit

    @property
    def metadata(self) -> MetadataSource: ...
    @property
    def groups(self) -> GroupCoordinator: ...
    @property
    def transactions(self) -> TransactionCoordinator: ...
    def partition(self, topic: str, index: int, /) -> Partition | None: ...
    def node(self, node_id: int, /) -> Node:
        """A broker of this process. KeyError for any other."""
        ...
