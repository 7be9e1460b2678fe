"""Renames the directories of deleted partitions, some in each turn of the loop, since a topic may have thousands of open logs.

The partition is gone from the partition table before it comes here. If its topic is created again, or a reassignment brings the replica back,
its directory is renamed first. Directories left at a kill are strays, which the next start renames.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.slices import Slices, Steps
    from pykbroker.storage.directories.manager import LogManager
    from pykbroker.storage.log.config import LogConfig

log = logging.getLogger(__name__)

#: Partitions discarded in the turn of the deletion itself, and the weight of one (files are closed, a directory is renamed).
_AT_ONCE = 50
_WEIGHT = 5


class Discards:
    """See the module."""

    def __init__(self, logs: LogManager, slices: Slices) -> None:
        self._logs = logs
        self._slices = slices
        self._left: dict[tuple[str, int], tuple[Partition, LogConfig]] = {}

    def add(self, partition: Partition, config: LogConfig) -> None:
        """Add a deleted partition; ``config`` says how long its files stay. Call ``begin`` after the last."""
        self._left[partition.topic, partition.index] = partition, config

    def begin(self) -> None:
        """Discard what was added: few partitions at once, many in slices."""
        if len(self._left) > _AT_ONCE:
            self._slices.add(self._steps())
        else:
            self.finish()

    def finish(self) -> None:
        """Discard all that is left, now."""
        for key in list(self._left):
            self.make_room(key)

    def make_room_for(self, keys: Collection[tuple[str, int]]) -> None:
        """Discard deleted partitions that new ones of the same names (topic, index) replace."""
        for key in sorted(self._left.keys() & keys) if self._left else ():
            self.make_room(key)

    def make_room(self, key: tuple[str, int]) -> None:
        """Discard a deleted partition that a new one of the same name (topic, index) replaces."""
        found = self._left.pop(key, None)
        if found is None:
            return
        partition, config = found
        opened = partition.opened_log
        try:
            if opened is not None:
                self._logs.delete(opened)
            else:
                self._logs.delete_unopened(partition.topic, partition.topic_id, partition.index, config)
        except Exception:  # the others are discarded nevertheless
            log.exception("Files of deleted partition %s-%d cannot be removed; the next start removes them", *key)

    def _steps(self) -> Steps:
        while self._left:
            self.make_room(next(iter(self._left)))
            yield _WEIGHT
