"""What a partition needs of the process it lives in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.storage.log.log import Log


class PartitionHost(Protocol):
    """Has the logs, the time and the threads."""

    runtime: Runtime

    def open_log(self, partition: Partition, /) -> Log:
        """The log of a partition, made when it is new. Raises KafkaError with KAFKA_STORAGE_ERROR."""
        ...
