"""What becomes of a record's delivery count when its share partition is read anew, in both brokers.

A delivery is counted when its record is acquired, and written when something becomes of the record. So the count of one that was only
acquired comes again after a kill, and a count that was written is never less. A lock ends before that is written: with Apache Kafka,
whose share coordinator gathers records before it writes them, a kill at that moment makes a count less. Here it is written at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing

import pytest

from compat_tests.harness.process import BrokerProcess
from compat_tests.oracle.cases.consumer_groups import configure
from compat_tests.oracle.cases.share_groups import RELEASE
from compat_tests.oracle.requests import Ask
from compat_tests.oracle.share_member import SETTINGS, ShareMember, in_both
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.messages.read_share_group_state import PartitionData, ReadShareGroupStateRequest, ReadStateData

_SETTINGS = {
    **SETTINGS,
    "group.share.min.record.lock.duration.ms": "1000",
    "share.coordinator.append.linger.ms": "1000",
}
_LOCK_MS, _LIMIT = 1500, 10


class _Story(ShareMember):
    """One record, which one member gets again and again."""

    def __init__(self, broker: BrokerProcess) -> None:
        ask = Ask(broker.bootstrap, 2, "deliveries")
        ask.wait_for_coordinators()
        topic = ask.topic()
        ask.fill(topic, 1)
        super().__init__(ask, topic)
        self.broker = broker
        configure(ask, self.group, "share.record.lock.duration.ms", str(_LOCK_MS))
        configure(ask, self.group, "share.delivery.count.limit", str(_LIMIT))

    def delivered(self) -> int:
        """The record's delivery count, once it is acquired."""
        return self.acquires()[0][2]

    def release(self) -> None:
        self.acknowledge((0, 0, [RELEASE]))

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
        self._start()

    def stop(self) -> None:
        self.broker.stop()
        self._start()

    def _start(self) -> None:
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
        "only acquired, and a stop in order": (story.stop,),
        "and another": (story.stop,),
        "released": (story.release,),
        "acquired again, and a kill": (story.kill,),
        "its lock is over": (),
        "a kill when that is written": (lambda: story.await_written(2), story.kill),
        "its session is over": (story.end_session, lambda: story.await_written(3)),
        "its connection is lost": (story.lose_connection, lambda: story.await_written(4)),
        "released, and a kill": (story.release, story.kill),
        "released, and a stop in order": (story.release, story.stop),
        "acquired again, and a stop in order": (story.stop,),
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
    return in_both(tmp_path_factory.mktemp("deliveries"), _SETTINGS, _counts)


def test_counts_are_those_of_apache_kafka(counts: tuple[dict[str, int], dict[str, int]]) -> None:
    kafkas, ours = (list(found.items())[:-1] for found in counts)
    assert ours == kafkas
    assert [count for _, count in ours] == [1, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 7, 8]


def test_a_lock_that_is_over_is_written_at_once(counts: tuple[dict[str, int], dict[str, int]]) -> None:
    kafkas, ours = (list(found.values())[-2:] for found in counts)
    assert kafkas == [8, 7], "Apache Kafka writes it later, so that a kill makes the count less"
    assert ours == [8, 8]
