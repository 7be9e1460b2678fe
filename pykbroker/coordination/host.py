"""What coordinators need of the process they live in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pykbroker.config.broker import BrokerConfig
    from pykbroker.controller.controller import Controller
    from pykbroker.coordination.groups.coordinator import GroupCoordinator
    from pykbroker.coordination.transactions.coordinator import TransactionCoordinator
    from pykbroker.partitions.dormant_logs import DormantLogs
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime


class Node(Protocol):
    """A broker that coordinates."""

    node_id: int

    def next_producer_id(self) -> int:
        """A producer id nobody else has. Raises KafkaError when the metadata log cannot give a new block."""
        ...


class CoordinationHost(Protocol):
    """Has the partitions, the metadata and the time."""

    runtime: Runtime
    config: BrokerConfig
    metadata: Controller
    dormant: DormantLogs

    @property
    def groups(self) -> GroupCoordinator: ...
    @property
    def transactions(self) -> TransactionCoordinator: ...
    def partition(self, topic: str, index: int, /) -> Partition | None: ...
    def node(self, node_id: int, /) -> Node:
        """A broker of this process. KeyError for any other."""
        ...
