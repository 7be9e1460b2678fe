"""Batches whose records a thread reads: others go on meanwhile, later ones of the partition wait, and memory has a bound."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

import pytest

from pykbroker.runtime.decoding import OF_A_BATCH, OF_A_TURN
from pykbroker.runtime.waits import Deferred
from pykbroker.storage.log.content import MOST_RECORD_ERRORS
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.batch_header import read_batch_header, write_crc
from pykbroker.wire.compression import Compression
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

VERSION = 9
NOW = 1_700_000_000_000
MANY = [Record(timestamp=NOW, key=b"k", value=b"%d" % number) for number in range(5000)]
FEW = [Record(timestamp=NOW, key=b"k", value=b"few")]


@pytest.fixture
def world() -> MemoryCluster:
    world = MemoryCluster()
    world.topic("c", 3, cleanup_policy="compact")
    world.topic("plain", 1)
    return world


def packed(records: list[Record], codec: Compression = Compression.ZSTD) -> bytes:
    return encode_batch(records, compression=codec)


def request(*batches: tuple[str, int, bytes], acks: int = -1) -> ProduceRequest:
    topics = [
        TopicProduceData(name=name, partition_data=[PartitionProduceData(index=index, records=data)])
        for name, index, data in batches
    ]
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=topics)


def post(world: MemoryCluster, *batches: tuple[str, int, bytes]) -> Deferred[Any]:
    return world.post(request(*batches), VERSION)


def answers(wait: Deferred[Any]) -> list[tuple[int, int]]:
    """(error, base offset) of each partition."""
    found = [each for topic in wait.value.responses for each in topic.partition_responses]
    return [(each.error_code, each.base_offset) for each in found]


def test_a_batch_of_many_records_is_read_in_a_thread_and_others_go_on(world: MemoryCluster) -> None:
    threads = world.hold_threads()
    first = post(world, ("c", 0, packed(MANY)))
    assert (first.done, len(threads)) == (False, 1)
    assert answers(post(world, ("c", 1, packed(FEW)))) == [(0, 0)]
    assert answers(post(world, ("plain", 0, packed(FEW)))) == [(0, 0)]
    threads.run_one()
    assert answers(first) == [(0, 0)]
    assert world.partition("c", 0).log_end_offset == 5000


def test_later_batches_of_the_partition_wait_in_their_order(world: MemoryCluster) -> None:
    threads = world.hold_threads()
    waits = [post(world, ("c", 0, packed(each))) for each in (MANY, FEW, MANY, FEW)]
    assert not any(wait.done for wait in waits)
    for _ in range(10):
        threads.run_all()
        world.cluster.runtime.wake_queue.run()
    assert [answers(wait) for wait in waits] == [[(0, 0)], [(0, 5000)], [(0, 5001)], [(0, 10001)]]
    assert answers(post(world, ("c", 0, packed(FEW)))) == [(0, 10002)]
    assert world.cluster.runtime.memory.used == 0


def test_a_thread_reads_the_lengths_of_many_records_of_many_sizes_and_later_batches_wait(world: MemoryCluster) -> None:
    """Of an ordinary topic, whose records nobody reads."""
    drawn = random.Random(1)
    mixed = packed([Record(timestamp=NOW, value=bytes(drawn.randrange(9))) for _ in range(40_000)], Compression.NONE)
    broken = bytearray(mixed)
    broken[-1] = 2  # the last record says that it has a header: nobody reads that
    write_crc(broken, 0, len(broken))
    shorter = bytearray(mixed[:-1])
    shorter[8:12] = (len(shorter) - 12).to_bytes(4, "big")
    write_crc(shorter, 0, len(shorter))
    threads = world.hold_threads()
    waits = [post(world, ("plain", 0, bytes(each))) for each in (mixed, shorter, broken, packed(FEW))]
    assert not any(wait.done for wait in waits)
    for _ in range(10):
        threads.run_all()
        world.cluster.runtime.wake_queue.run()
    assert [answers(wait) for wait in waits] == [
        [(0, 0)],
        [(ErrorCode.INVALID_RECORD, -1)],
        [(0, 40_000)],
        [(0, 80_000)],
    ]
    assert world.cluster.runtime.memory.used == 0


def test_an_answer_waits_for_the_last_of_its_partitions(world: MemoryCluster) -> None:
    threads = world.hold_threads()
    wait = post(world, ("plain", 0, packed(FEW)), ("c", 0, packed(MANY)), ("c", 1, packed(FEW)))
    assert not wait.done
    threads.run_all()
    assert answers(wait) == [(0, 0), (0, 0), (0, 0)]


@pytest.mark.parametrize("codec", Compression)
def test_a_refused_batch_of_many_lets_the_next_one_go_on(world: MemoryCluster, codec: Compression) -> None:
    threads = world.hold_threads()
    without_keys = [Record(timestamp=NOW, value=b"v")] * 5000
    refused, taken = (post(world, ("c", 0, packed(each, codec))) for each in (without_keys, FEW))
    threads.run_all()
    world.cluster.runtime.wake_queue.run()
    threads.run_all()
    (error,) = refused.value.responses[0].partition_responses
    assert error.error_code == ErrorCode.INVALID_RECORD
    assert "5000 record errors in total" in error.error_message
    assert len(error.record_errors) == MOST_RECORD_ERRORS
    assert answers(taken) == [(0, 0)]


def test_the_partition_may_move_or_go_meanwhile(world: MemoryCluster) -> None:
    threads = world.hold_threads(unless=lambda function, *_: "read" not in getattr(function, "__name__", ""))
    waits = [post(world, ("c", 0, packed(MANY))) for _ in range(2)]
    world.delete_topic("c")
    threads.run_all()
    world.cluster.runtime.wake_queue.run()
    assert [answers(wait) for wait in waits] == [[(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)]] * 2
    assert world.cluster.runtime.memory.used == 0


def test_eight_kilobytes_that_hold_megabytes_need_the_memory_of_some_pieces(world: MemoryCluster) -> None:
    data = packed([Record(timestamp=NOW, key=b"k", value=bytes(100_000_000))])
    assert len(data) < 20_000
    tracemalloc.start()
    try:
        assert answers(post(world, *(("c", index, data) for index in range(3)))) == [(0, 0)] * 3
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_small_batches_are_read_at_once_but_not_as_many_as_a_request_holds(world: MemoryCluster) -> None:
    some = packed([Record(timestamp=NOW, key=b"k", value=b"v")] * OF_A_BATCH, Compression.NONE)
    at_once = OF_A_TURN // OF_A_BATCH
    world.topic("wide", 20, cleanup_policy="compact")
    threads = world.hold_threads()
    wait = post(world, *(("wide", index, some) for index in range(at_once + 2)))
    assert (wait.done, len(threads)) == (False, 2)
    threads.run_all()
    assert answers(wait) == [(0, 0)] * (at_once + 2)


def test_batches_wait_for_memory_and_none_for_ever(world: MemoryCluster) -> None:
    memory = world.cluster.runtime.memory
    memory.limit = 2_000_000
    threads = world.hold_threads()
    waits = [post(world, ("c", index, packed(MANY))) for index in range(3)]
    assert (len(threads), memory.waiting) == (1, 2)
    for expected in (1, 2, 3):
        threads.run_one()
        assert sum(wait.done for wait in waits) == expected
    assert memory.used == memory.waiting == 0


def test_a_record_beyond_the_setting_is_refused(world: MemoryCluster) -> None:
    world.topic("small", 1, cleanup_policy="compact", max_decompressed_message_bytes="1000")
    large = [Record(timestamp=NOW, key=b"k", value=bytes(2000))]
    (refused,) = post(world, ("small", 0, packed(large))).value.responses[0].partition_responses
    assert refused.error_code == ErrorCode.INVALID_RECORD
    assert (refused.error_message, refused.record_errors) == (None, [])
    assert answers(post(world, ("small", 0, packed(large, Compression.NONE)))) == [(0, 0)]


def test_a_batch_of_many_is_written_anew_in_a_thread(world: MemoryCluster) -> None:
    world.topic("again", 1, compression_type="lz4")
    threads = world.hold_threads()
    wait = post(world, ("again", 0, packed(MANY)))
    assert not wait.done
    threads.run_all()
    assert answers(wait) == [(0, 0)]
    header = read_batch_header(world.fetch("again", 0, 0).records)
    assert (header.compression, header.record_count) == (Compression.LZ4, 5000)
