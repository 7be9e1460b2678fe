"""The machine on which a process of brokers runs, where it is not this one: a simulator's."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Protocol

from pykbroker.storage.disk import Disk

if TYPE_CHECKING:
    from pykbroker.process.cleaner import Cleaner


class Machine(Protocol):
    """What a process has of another machine. Its log directories are not locked, and no thread is started for its shutdown."""

    @property
    def disk(self) -> Disk:
        """The disk with the log directories."""
        ...

    @property
    def random(self) -> random.Random:
        """What ids, epochs and choices are drawn from."""
        ...

    @property
    def cleaner(self) -> Cleaner:
        """Runs compactions."""
        ...
