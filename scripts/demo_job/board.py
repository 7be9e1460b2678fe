"""The delays in the topic ``delays``: a stock consumer that keeps the last record of each origin and hour."""

from __future__ import annotations

import json
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from scripts.demo_job.data import DAY_MS, Hours, Totals, epoch_ms
from scripts.demo_job.topics import DELAYS, FLIGHT_PARTITIONS, FLIGHTS


class DelayBoard:
    """Follows the topic ``delays`` from its beginning."""

    def __init__(self, bootstrap: str) -> None:
        self.hours: Hours = {}
        self.updates = 0
        settings = {"bootstrap.servers": bootstrap, "group.id": "delay-board", "enable.auto.commit": False}
        quiet = {"log_level": 0, "reconnect.backoff.max.ms": 500}
        self._consumer = Consumer(settings | quiet)
        self._consumer.assign([TopicPartition(DELAYS, 0, 0)])

    def poll(self, timeout_s: float) -> None:
        """Take the records that have arrived; waits up to ``timeout_s`` for the first."""
        for message in self._consumer.consume(5000, timeout_s):
            if message.error() is None:
                self._take(message.key(), message.value())

    def catch_up(self) -> None:
        """Read to the current end of the topic."""
        _, end = self._consumer.get_watermark_offsets(TopicPartition(DELAYS, 0), timeout=30)
        while self._position() < end:
            self.poll(1.0)

    def flight_ends(self) -> dict[str, int]:
        """Return the end offset of each partition of ``flights``, as Spark's progress reports write it."""
        places = [TopicPartition(FLIGHTS, partition) for partition in range(FLIGHT_PARTITIONS)]
        return {str(place.partition): self._consumer.get_watermark_offsets(place, timeout=30)[1] for place in places}

    def close(self) -> None:
        self._consumer.close()

    def daily_means(self, origin: str) -> list[tuple[int, float]]:
        """Return (start of the day in epoch ms, mean delay in minutes) of every day so far."""
        days: dict[int, Totals] = {}
        for (hour_ms, airport), totals in self.hours.items():
            if airport == origin:
                day = hour_ms // DAY_MS
                days[day] = days.get(day, Totals()) + totals
        return [(day * DAY_MS, totals.mean_delay) for day, totals in sorted(days.items())]

    def _take(self, key: bytes | str | None, value: bytes | str | None) -> None:
        assert key is not None, "a compacted topic holds no record without a key"
        assert value is not None, "the job writes no tombstones"
        fields: dict[str, Any] = json.loads(value)
        hour, origin = fields.pop("hour"), fields.pop("origin")
        self.hours[epoch_ms(hour), origin] = Totals(**{"worst": None, **fields})
        self.updates += 1

    def _position(self) -> int:
        (place,) = self._consumer.position([TopicPartition(DELAYS, 0)])
        return max(place.offset, 0)
