"""Nobody reads what a loss of power would undo: with flush.messages records are seen once they are synced."""

from __future__ import annotations

from pykbroker.partitions.internal_records import append_internal, append_marker
from pykbroker.runtime.waits import Deferred
from pykbroker.storage.log.config import LogConfig
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.control_records import EndTxnMarker
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch


class SlowDisk(MemoryCluster):
    """Syncs end when the test says so."""

    def __init__(self, flush_messages: int) -> None:
        super().__init__()
        self.topic(partitions=1, flush_messages=str(flush_messages))
        self.threads = self.hold_threads()

    def sync(self) -> None:
        self.threads.run_one()
        self.settle()

    def produce(self, records: int = 1) -> Deferred:
        batch = encode_batch([Record(timestamp=self.clock.now_ms(), value=b"x") for _ in range(records)])
        data = TopicProduceData(name="t", partition_data=[PartitionProduceData(0, batch)])
        answer = self.post(ProduceRequest(None, -1, 1000, [data]), 9)
        self.settle()
        return answer

    @property
    def end(self) -> int:
        """The end of what a consumer sees."""
        found = self.fetch("t", 0, 0, isolation=0)
        assert found.error_code == ErrorCode.NONE
        assert found.last_stable_offset == found.high_watermark
        return found.high_watermark


def test_a_record_is_seen_when_it_is_synced():
    world = SlowDisk(flush_messages=1)
    answer = world.produce()
    assert not answer.done
    assert world.end == 0
    assert world.fetch("t", 0, 0).records == b""
    world.sync()
    assert answer.value.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    assert world.end == 1
    assert world.read() == [b"x"]


def test_a_waiting_fetch_is_answered_by_the_sync():
    world = SlowDisk(flush_messages=1)
    wanted = FetchTopic("t", partitions=[FetchPartition(0, -1, 0, -1, -1, 10_000)])
    fetched = world.post(
        FetchRequest(
            replica_id=-1, max_wait_ms=30_000, min_bytes=1, max_bytes=10_000, session_epoch=-1, topics=[wanted]
        ),
        11,
    )
    world.produce()
    assert not fetched.done
    world.sync()
    assert fetched.value.responses[0].partitions[0].high_watermark == 1


def test_a_transaction_is_seen_when_its_marker_is_synced():
    world = SlowDisk(flush_messages=1)
    partition = world.cluster.partition("t", 0)
    now_ms = world.clock.now_ms()
    append_internal(partition, [(None, b"x")], now_ms, producer=(7, 0))
    world.settle()
    world.sync()
    assert world.fetch("t", 0, 0).last_stable_offset == 0
    ended = append_marker(
        partition,
        EndTxnMarker(commit=True, coordinator_epoch=0),
        producer_id=7,
        producer_epoch=0,
        transaction_version=1,
        timestamp_ms=now_ms,
    )
    world.settle()
    assert ended.committed is not None
    assert world.fetch("t", 0, 0).last_stable_offset == 0
    assert world.read() == []
    world.sync()
    assert ended.committed.done
    assert world.read() == [b"x"]


def test_what_was_seen_is_seen_still_when_more_waits_for_the_disk():
    world = SlowDisk(flush_messages=3)
    assert world.produce(2).done
    assert world.end == 2
    waiting = world.produce(2)
    assert not waiting.done
    assert world.end == 2
    world.sync()
    assert waiting.done
    assert world.end == 4


def test_what_was_seen_is_seen_still_when_the_setting_changes():
    world = SlowDisk(flush_messages=100)
    world.produce(2)
    assert world.end == 2
    world.cluster.partition("t", 0).update_config(LogConfig(flush_messages=1))
    assert world.end == 2
    waiting = world.produce()
    assert world.end == 2
    world.settle()
    while world.threads:
        world.sync()
    assert waiting.done
    assert world.end == 3


def test_after_a_kill_all_that_is_left_is_synced_and_seen():
    world = SlowDisk(flush_messages=1)
    world.produce()
    world.start()
    assert world.end == 1
    assert world.cluster.partition("t", 0).log.recovery_point == 1
