"""What a running broker does on its own, by the timers: retention, flushes, checkpoints."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.cluster import Cluster

log = logging.getLogger(__name__)

#: How often time-based flushes are looked for (log.flush.scheduler.interval.ms is "never" by default in Kafka, which
#: would make flush.ms of a single topic a dead letter).
_FLUSH_ROUND_MS = 1000


class Housekeeping:
    """Rounds over the store. Each is rescheduled when it ends, so that a slow one never overlaps itself."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def start(self) -> None:
        """Arm the timers."""
        config, logs, clock = self._cluster.config, self._cluster.logs, self._cluster.clock
        # RETENTION self._every(config["log.retention.check.interval.ms"], lambda: logs.retention_round(clock.now_ms()))
        self._every(config["log.flush.offset.checkpoint.interval.ms"], logs.checkpoint_round)
        self._every(_FLUSH_ROUND_MS, lambda: logs.flush_round(clock.now_ms()))

    def _every(self, interval_ms: int, work: Callable[[], None]) -> None:
        def run() -> None:
            try:
                work()
            except KafkaError:
                log.exception("A round of housekeeping failed; it is tried again in %d ms", interval_ms)
            self._cluster.timers.after(interval_ms, run)

        self._cluster.timers.after(interval_ms, run)
