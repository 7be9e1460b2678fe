"""The files of deleted topics: put aside some in a turn, since a topic may have thousands of logs open.

Nobody finds a partition any more when it comes here. Where a topic of its name is made again at once, its files go before
that; what is left at a kill is a stray for the next start.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.slices import Slices, Steps
    from pykbroker.storage.directories.manager import LogManager
    from pykbroker.storage.log.config import LogConfig

log = logging.getLogger(__name__)

#: So many are put aside in the turn in which they are deleted; and what one weighs: files are closed, a directory is renamed.
_AT_ONCE = 50
_WEIGHT = 5


class Discards:
    """See the module."""

    def __init__(self, logs: LogManager, slices: Slices) -> None:
        self._logs = logs
        self._slices = slices
        self._left: dict[tuple[str, int], tuple[Partition, LogConfig]] = {}

    def add(self, partition: Partition, config: LogConfig) -> None:
        """A partition that was deleted; ``config`` says how long its files stay. ``begin`` is to be called after the last."""
        self._left[partition.topic, partition.index] = partition, config

    def begin(self) -> None:
        """Few at once, many bit by bit."""
        if len(self._left) > _AT_ONCE:
            self._slices.add(self._steps())
        else:
            self.finish()

    def finish(self) -> None:
        """All that is left, now."""
        for key in list(self._left):
            self.make_room(key)

    def make_room(self, key: tuple[str, int]) -> None:
        """Put aside what still lies where a new partition of that name (topic, index) would."""
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
        except Exception:  # all others go all the same
            log.exception("Files of deleted partition %s-%d cannot be removed; the next start removes them", *key)

    def _steps(self) -> Steps:
        while self._left:
            self.make_room(next(iter(self._left)))
            yield _WEIGHT
