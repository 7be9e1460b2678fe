"""What a partition needs of its process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pykbroker.metadata.image import PartitionImage
    from pykbroker.partitions.partition import Partition
    from pykbroker.replication.isr import ProposedIsr
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.runtime.waits import Deferred
    from pykbroker.storage.log.log import Log


class PartitionHost(Protocol):
    """Gives access to logs, time and threads."""

    runtime: Runtime
    #: Set where each broker has its own copy of its partitions.
    replication: Replication | None

    def open_log(self, partition: Partition, /) -> Log:
        """The log of a partition, created if it is new. Raises KafkaError KAFKA_STORAGE_ERROR."""
        ...


class Replication(Protocol):
    """What a partition with other replicas needs of its broker. Times are in milliseconds of a clock that never goes back."""

    node_id: int
    #: ``replica.lag.time.max.ms``.
    lag_ms: int
    #: The time of each broker's last fetch.
    fetch_times: dict[int, int]
    #: Whether the broker is registered: only then its replicas lead or follow.
    registered: bool

    def epoch_of(self, broker_id: int, /) -> int | None:
        """The epoch of a broker that is neither fenced nor in a controlled shutdown, None of others."""
        ...

    def image_of(self, partition: Partition, /) -> PartitionImage | None:
        """The metadata of a partition."""
        ...

    def now_ms(self) -> int:
        """The present time."""
        ...

    def wall_ms(self) -> int:
        """The present time in milliseconds since 1970."""
        ...

    def propose(self, partition: Partition, change: ProposedIsr, /) -> None:
        """Ask the controller for another ISR; ``Partition.led`` gets the answer."""
        ...

    def note_directory(self, partition: Partition, image: PartitionImage, log: Log, /) -> None:
        """Tell the controller in which log directory the replica lies, unless the metadata say so."""
        ...

    def take_up(self, partition: Partition, log: Log, /) -> None:
        """Follow the partition's leader with this log, or stop following, as the metadata say now."""
        ...

    def holds_back(self, partition: Partition, replica: int, /) -> bool:
        """Whether a follower of a partition that is led here is sent no records now: it is out of sync, and replication's limit is reached
        (``leader.replication.throttled.rate``).
        """
        ...

    def sent(self, partition: Partition, size: int, /) -> None:
        """Note that a follower is sent ``size`` bytes of records."""
        ...

    def in_thread(self, work: Callable[[], None], /) -> Deferred[None]:
        """Wait for the disk in a thread."""
        ...

    def write_checkpoints(self, log: Log, /) -> Deferred[None]:
        """Write the offset checkpoints, with the present values of this log."""
        ...
