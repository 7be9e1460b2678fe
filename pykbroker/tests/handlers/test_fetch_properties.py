"""Fetch answers of many partitions under any limits: what is in them, read at once or left in its file, is what the logs hold."""

from __future__ import annotations

import random
from unittest.mock import patch

import pytest

from pykbroker.handlers.fetching import attempt
from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.tests.kit.reading import whole
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.records import Record, encode_batch

#: In place of a megabyte, so that most answers have more than is read at once.
_INLINE_BYTES = 32 * 1024
#: Sizes of batches around what a frame copies, what is read at once, and what a segment's index walks over.
_SIZES = (50, 3_000, 9_000, 16_300, 16_384, 20_000, 70_000)


class World:
    """A topic whose partitions hold batches of many sizes, and fetches of all of them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.cluster = MemoryCluster()
        self.partitions = range(self.random.randint(1, 5))
        self.topic_id = self.cluster.topic("t", len(self.partitions))
        self.stored = [self._fill(index) for index in self.partitions]

    def _fill(self, index: int) -> list[bytes]:
        partition = self.cluster.partition("t", index)
        for number in range(self.random.randint(0, 8)):
            value = bytes([number]) * self.random.choice(_SIZES)
            record = Record(offset=0, timestamp=1, key=None, value=value, headers=[])
            partition.append_produce(bytearray(encode_batch([record])))
        return [bytes(batch) for _, batch in partition.log.batches(0)]

    def limit(self) -> int:
        return int(2 ** self.random.uniform(8, 18.5))

    def fetch(self) -> None:
        """One fetch from anywhere in each partition; what it must bring is computed from the limits alone."""
        offsets = [self.random.randint(0, len(batches)) for batches in self.stored]
        limits = [self.limit() for _ in self.partitions]
        left = self.limit()
        asked = [
            FetchPartition(partition=index, fetch_offset=offsets[index], partition_max_bytes=limits[index])
            for index in self.partitions
        ]
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=left,
            session_epoch=-1,
            isolation_level=self.random.randint(0, 1),
            topics=[FetchTopic(topic_id=self.topic_id, partitions=asked)],
        )
        empty = True
        for found in self.cluster.ask(request, 17).responses[0].partitions:
            index = found.partition_index
            wanted = whole(self.stored[index][offsets[index] :], min(left, limits[index]), at_least_one=empty)
            assert bytes(found.records or b"") == wanted
            left -= len(wanted)
            empty = empty and not wanted


@pytest.mark.parametrize("seeds", [range(50), range(50, 100)])
def test_answers_hold_whole_batches_in_order_up_to_their_limits(seeds: range) -> None:
    with patch.object(attempt, "INLINE_BYTES", _INLINE_BYTES):
        for seed in seeds:
            world = World(seed)
            for _ in range(20):
                world.fetch()
