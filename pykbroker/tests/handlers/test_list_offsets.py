"""ListOffsets where the log holds what nobody can decode."""

from __future__ import annotations

import struct

import crc32c
import pytest

from pykbroker.tests.kit.cluster import MemoryCluster
from pykbroker.wire.compression import Compression
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

TIMESTAMP = 1_700_000_000_000
_ATTRIBUTES_AT, _CRC_AT, _CHECKED_FROM, _RECORDS_AT = 21, 17, 21, 61


def batch() -> bytearray:
    return bytearray(encode_batch([Record(timestamp=TIMESTAMP, value=b"x" * 50)]))


def undecodable(codec: Compression) -> bytearray:
    """A batch whose header is as it should be, and the first length if it is not compressed, with records that are not."""
    damaged = batch()
    struct.pack_into(">h", damaged, _ATTRIBUTES_AT, codec)
    start = _RECORDS_AT + (codec is Compression.NONE)
    damaged[start:] = b"\xfe" * len(damaged[start:])
    struct.pack_into(">I", damaged, _CRC_AT, crc32c.crc32c(damaged[_CHECKED_FROM:]))
    return damaged


@pytest.mark.parametrize("codec", Compression)
@pytest.mark.parametrize("wanted", [0, -3])
def test_what_cannot_be_decoded_is_an_error_of_its_partition(caplog, codec, wanted: int) -> None:
    """Apache Kafka 4.4.0 says UNKNOWN_SERVER_ERROR to both searches, whatever the codec."""
    world = MemoryCluster()
    world.topic("t", partitions=2)
    for index, records in ((0, undecodable(codec)), (1, batch())):
        data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index, bytes(records))])]
        answer = world.ask(ProduceRequest(None, 1, 1000, data), 9)
        assert answer.responses[0].partition_responses[0].error_code == 0
    asked = [ListOffsetsPartition(index, -1, wanted) for index in (0, 1)]
    answer = world.ask(ListOffsetsRequest(-1, 0, [ListOffsetsTopic("t", asked)]), 7)
    damaged, sound = answer.topics[0].partitions
    found = (damaged.error_code, damaged.offset, damaged.timestamp, damaged.leader_epoch)
    assert found == (ErrorCode.UNKNOWN_SERVER_ERROR, -1, -1, -1)
    assert (sound.error_code, sound.offset, sound.timestamp) == (0, 0, TIMESTAMP)
    assert "cannot be decoded" in caplog.text
