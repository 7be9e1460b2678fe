"""What becomes of a record's delivery count when its share partition is read anew, in both brokers.

A delivery is counted when its record is acquired, and written when something becomes of the record. So the count of one that was only
acquired comes again after a kill, and a count that was written is never less. A lock ends before that is written: with Apache Kafka,
whose share coordinator gathers records before it writes them, a kill at that moment makes a count less. Here it is written at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from compat_tests.harness.apache import ApacheKafka
from compat_tests.harness.ours import Pykbroker
from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.cases.consumer_groups import configure
from compat_tests.oracle.cases.share_groups import RELEASE, acknowledges, fetches, joined, new_group
from compat_tests.oracle.requests import Ask
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.read_share_group_state import PartitionData, ReadShareGroupStateRequest, ReadStateData

_SETTINGS = {
    "group.share.min.heartbeat.interval.ms": "200",
    "group.share.heartbeat.interval.ms": "200",
    "group.share.min.record.lock.duration.ms": "1000",
    "log.retention.ms": "-1",
    "share.coordinator.append.linger.ms": "1000",
}
_LOCK_MS, _LIMIT = 1500, 10
_NOT_YET = (3, 5, 6, 14, 15, 16)


class _Story:
    """One record, which one member gets again and again."""

    def __init__(self, broker: BrokerProcess) -> None:
        self.broker = broker
        self.ask = Ask(broker.bootstrap, 2, "deliveries")
        self.ask.wait_for_coordinators()
        self.topic = self.ask.topic()
        self.ask.fill(self.topic, 1)
        self.group = new_group(self.ask)
        configure(self.ask, self.group, "share.record.lock.duration.ms", str(_LOCK_MS))
        configure(self.ask, self.group, "share.delivery.count.limit", str(_LIMIT))
        self.epoch = 0

    def delivered(self) -> int:
        """The record's delivery count, once it is acquired."""
        deadline = time.monotonic() + 30
        if self.epoch == 0:
            joined(self.ask, self.group, self.topic)
        while time.monotonic() < deadline:
            answer = self.ask.quietly(fetches(self.ask, self.group, self.topic, self.epoch), 2)
            assert answer.error_code in (0, *_NOT_YET), answer
            if answer.error_code:
                continue
            self.epoch += 1
            for part in (each for topic in answer.responses for each in topic.partitions):
                assert part.error_code in (0, *_NOT_YET), part
                if part.acquired_records:
                    return int(part.acquired_records[0].delivery_count)
                if part.error_code:
                    self.epoch = 0
        raise AssertionError("nothing is delivered")

    def release(self) -> None:
        said = acknowledges(self.ask, self.group, self.topic, self.epoch, (0, 0, [RELEASE]))
        answer = self.ask.quietly(said, 2)
        assert (answer.error_code, answer.responses[0].partitions[0].error_code) == (0, 0), answer
        self.epoch += 1

    def end_session(self) -> None:
        options = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0, "batch_size": 0}
        answer = self.ask.quietly(fetches(self.ask, self.group, self.topic, -1, **options), 2)
        assert answer.error_code == 0, answer
        self.epoch = 0

    def lose_connection(self) -> None:
        self.ask.reconnect()
        self.epoch = 0

    def await_written(self, count: int) -> None:
        """Until the share coordinator has written that the record was delivered so often."""
        (topic,) = self.ask.quietly(MetadataRequest([MetadataRequestTopic(name=self.topic)], False), 12).topics
        parts = [PartitionData(0, topic.partitions[0].leader_epoch)]
        asked = ReadShareGroupStateRequest(self.group, [ReadStateData(topic.topic_id, parts)])
        deadline = time.monotonic() + 30
        while True:
            (part,) = self.ask.quietly(asked, 0).results[0].partitions
            assert part.error_code == 0, part
            if [batch.delivery_count for batch in part.state_batches] == [count]:
                return
            assert time.monotonic() < deadline, part
            time.sleep(0.02)

    def kill(self) -> None:
        self.broker.kill()
        self.broker.start()
        self.lose_connection()
        self.ask.wait_for_coordinators()


def _counts(broker: BrokerProcess) -> dict[str, int]:
    """Each step of the story, and the count of the delivery after it."""
    broker.start()
    story = _Story(broker)
    steps: dict[str, tuple[Callable[[], object], ...]] = {
        "acquired": (),
        "only acquired, and a kill": (story.kill,),
        "released": (story.release,),
        "acquired again, and a kill": (story.kill,),
        "its lock is over": (),
        "a kill when that is written": (lambda: story.await_written(2), story.kill),
        "its session is over": (story.end_session, lambda: story.await_written(3)),
        "its connection is lost": (story.lose_connection, lambda: story.await_written(4)),
        "released, and a kill": (story.release, story.kill),
        "its lock is over once more": (),
        "a kill before that is written": (story.kill,),
    }
    found = {}
    with closing(story.ask):
        for name, deeds in steps.items():
            for deed in deeds:
                deed()
            found[name] = story.delivered()
    return found


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, int], dict[str, int]]:
    folder: Path = tmp_path_factory.mktemp("deliveries")
    brokers = ApacheKafka(folder / "kafka", _SETTINGS), Pykbroker(folder / "ours", _SETTINGS)
    try:
        with ThreadPoolExecutor() as pool:
            kafkas, ours = pool.map(_counts, brokers)
    finally:
        for broker in brokers:
            broker.stop()
    return kafkas, ours


def test_counts_are_those_of_apache_kafka(counts: tuple[dict[str, int], dict[str, int]]) -> None:
    kafkas, ours = (list(found.items())[:-1] for found in counts)
    assert ours == kafkas
    assert [count for _, count in ours] == [1, 1, 2, 2, 3, 3, 4, 5, 6, 7]


def test_a_lock_that_is_over_is_written_at_once(counts: tuple[dict[str, int], dict[str, int]]) -> None:
    kafkas, ours = (list(found.values())[-2:] for found in counts)
    assert kafkas == [7, 6], "Apache Kafka writes it later, so that a kill makes the count less"
    assert ours == [7, 7]
