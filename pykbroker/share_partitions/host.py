"""What share partitions need of their broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pykbroker.coordination.host import CoordinationHost

if TYPE_CHECKING:
    from pykbroker.controller.port import ControllerPort
    from pykbroker.partitions.partition import Partition


class ShareHost(CoordinationHost, Protocol):
    """The broker: what coordinators need, and the way to dead-letter topics."""

    controller: ControllerPort

    def at_leader(self, topic: str, index: int, /) -> Partition | None:
        """A partition at the broker that leads it, whichever that is; None if no running broker does."""
        ...
