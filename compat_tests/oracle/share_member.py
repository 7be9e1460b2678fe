"""A member of a share group with a topic of its own, and stories of such that both brokers tell."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.cases.share_groups import acknowledges, fetches, joined, new_group
from compat_tests.oracle.requests import Ask

T = TypeVar("T")

#: Of a broker whose members beat as often as they like, and that keeps old records.
SETTINGS = {
    "group.share.min.heartbeat.interval.ms": "200",
    "group.share.heartbeat.interval.ms": "200",
    "log.retention.ms": "-1",
}
#: Codes of what is not there yet.
_NOT_YET = (3, 5, 6, 14, 15, 16)
_LIMIT_S = 60

#: First and last offset, and delivery count.
Acquired = list[tuple[int, int, int]]


class ShareMember:
    """The only member of a group of its own."""

    def __init__(self, ask: Ask, topic: str, group: str = "group") -> None:
        self.ask = ask
        self.topic = topic
        self.group = new_group(ask, group)
        #: The epoch of its share session.
        self.epoch = 0

    def join(self) -> None:
        """Join the group, until partitions are assigned."""
        joined(self.ask, self.group, self.topic)

    def acquires(self, **options: Any) -> Acquired:
        """What it acquires by one fetch, once there is something."""
        deadline = time.monotonic() + _LIMIT_S
        if self.epoch == 0:
            self.join()
        while time.monotonic() < deadline:
            answer = self.ask.quietly(fetches(self.ask, self.group, self.topic, self.epoch, **options), 2)
            assert answer.error_code in (0, *_NOT_YET), answer
            if answer.error_code:
                continue
            self.epoch += 1
            for part in (each for topic in answer.responses for each in topic.partitions):
                assert part.error_code in (0, *_NOT_YET), part
                if part.error_code:
                    self.epoch = 0
                elif part.acquired_records:
                    return [
                        (each.first_offset, each.last_offset, each.delivery_count) for each in part.acquired_records
                    ]
        raise AssertionError("nothing is delivered")

    def acquires_up_to(self, end: int) -> Acquired:
        """What it acquires up to an offset, by as many fetches as that takes: a session that ends releases a moment later."""
        found: Acquired = []
        while not found or found[-1][1] < end:
            for first, last, count in self.acquires():
                if found and (found[-1][1] + 1, found[-1][2]) == (first, count):
                    first = found.pop()[0]
                found.append((first, last, count))
        return found

    def acknowledge(self, *batches: tuple[int, int, list[int]]) -> None:
        """Acknowledge these batches, which is not refused."""
        answer = self.ask.quietly(acknowledges(self.ask, self.group, self.topic, self.epoch, *batches), 2)
        assert (answer.error_code, answer.responses[0].partitions[0].error_code) == (0, 0), answer
        self.epoch += 1

    def end_session(self) -> None:
        """End the share session, by which what is acquired is released."""
        none = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0, "batch_size": 0}
        answer = self.ask.quietly(fetches(self.ask, self.group, self.topic, -1, **none), 2)
        assert answer.error_code == 0, answer
        self.epoch = 0


def in_both(folder: Path, settings: Mapping[str, str], story: Callable[[BrokerProcess], T]) -> tuple[T, T]:
    """What a story tells of Apache Kafka and of pykbroker, with brokers of its own, both at once; it starts them."""
    brokers = ApacheKafka(folder / "kafka", dict(settings)), Pykbroker(folder / "ours", dict(settings))
    try:
        with ThreadPoolExecutor() as pool:
            kafkas, ours = pool.map(story, brokers)
    finally:
        for broker in brokers:
            broker.stop()
    return kafkas, ours
