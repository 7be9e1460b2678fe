"""ListOffsets over real sockets, where the log holds what nobody can decode."""

from __future__ import annotations

import asyncio
import struct
from pathlib import Path

import crc32c
import pytest

from pykbroker.controller.topics import NewTopic
from pykbroker.tests.kit.running import ended, running_broker
from pykbroker.wire.compression import Compression
from pykbroker.wire.errors import ErrorCode
from pykbroker.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
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
def test_what_cannot_be_decoded_is_an_error_of_its_partition(tmp_path: Path, caplog, codec, wanted: int) -> None:
    """Apache Kafka 4.4.0 says UNKNOWN_SERVER_ERROR to both searches, whatever the codec."""

    async def scenario() -> None:
        async with running_broker(tmp_path) as broker:
            client = await broker.connect()
            await ended(broker.cluster.controller.create_topics([NewTopic("t", 2, 1)]))
            for index, records in ((0, undecodable(codec)), (1, batch())):
                data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index, bytes(records))])]
                answer = await client.ask(ProduceRequest(None, 1, 1000, data), 9, ProduceResponse)
                assert answer.responses[0].partition_responses[0].error_code == 0
            asked = [ListOffsetsPartition(index, -1, wanted) for index in (0, 1)]
            answer = await client.ask(ListOffsetsRequest(-1, 0, [ListOffsetsTopic("t", asked)]), 7, ListOffsetsResponse)
            damaged, sound = answer.topics[0].partitions
            assert (damaged.error_code, damaged.offset, damaged.timestamp, damaged.leader_epoch) == (
                ErrorCode.UNKNOWN_SERVER_ERROR,
                -1,
                -1,
                -1,
            )
            assert (sound.error_code, sound.offset, sound.timestamp) == (0, 0, TIMESTAMP)
            client.close()

    asyncio.run(asyncio.wait_for(scenario(), 30))
    assert "cannot be decoded" in caplog.text
