"""What share partitions need of their broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pykbroker.coordination.host import CoordinationHost

if TYPE_CHECKING:
    from pykbroker.controller.port import ControllerPort
    from pykbroker.partitions.partition import Partition
    from pykbroker.share_partitions.dead_letters.places import LetterPlace


class ShareHost(CoordinationHost, Protocol):
    """The broker: what coordinators need, and the way to dead-letter topics."""

    controller: ControllerPort

    def at_leader(self, topic: str, index: int, /) -> Partition | None:
        """A partition at the broker that leads it, which runs in this process; None if none does."""
        ...

    def remote_letters(self, topic: str, index: int, /) -> LetterPlace | None:
        """A partition for dead letters that a broker in another process leads; None if none does."""
        ...
