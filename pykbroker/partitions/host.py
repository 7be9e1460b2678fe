"""What a partition needs of its process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.storage.log.log import Log


class PartitionHost(Protocol):
    """Gives access to logs, time and threads."""

    runtime: Runtime

    def open_log(self, partition: Partition, /) -> Log:
        """The log of a partition, created if it is new. Raises KafkaError KAFKA_STORAGE_ERROR."""
        ...
