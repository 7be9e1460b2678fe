"""Batches of the broker itself, beside the encoder of any batch, and through settings that change them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.controller.topics import NewTopic
from pykbroker.metadata.image import NO_LEADER
from pykbroker.partitions.internal_records import CoordinatorBatch, append_internal
from pykbroker.tests.kit.cluster import START_MS, MemoryCluster
from pykbroker.wire.compression import Compression
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.records import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, Record, TimestampType, encode_batch

CONTENT = st.none() | st.binary(max_size=300)
PRODUCERS = st.none() | st.tuples(st.integers(0, 2**63 - 1), st.integers(0, 2**15 - 1))


@given(st.lists(st.tuples(CONTENT, CONTENT), min_size=1, max_size=70), PRODUCERS)
def test_they_are_those_of_the_encoder(records, producer) -> None:
    producer_id, epoch = producer or (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
    expected = encode_batch(
        [Record(timestamp=START_MS, key=key, value=value) for key, value in records],
        producer_id=producer_id,
        producer_epoch=epoch,
        transactional=producer is not None,
    )
    batch = CoordinatorBatch()
    batch.add(records)
    assert batch.completed(START_MS, producer)[1] == expected


@pytest.mark.parametrize(
    ("settings", "compression", "kind"),
    [
        ({}, Compression.NONE, TimestampType.CREATE_TIME),
        ({"compression_type": "gzip"}, Compression.GZIP, TimestampType.CREATE_TIME),
        ({"message_timestamp_type": "LogAppendTime"}, Compression.NONE, TimestampType.LOG_APPEND_TIME),
    ],
    ids=["as they are", "compressed", "stamped"],
)
def test_settings_of_a_compacted_topic_change_them(settings, compression, kind) -> None:
    world = MemoryCluster()
    world.topic("t", cleanup_policy="compact", **settings)
    partition = world.partition("t")
    append_internal(partition, [(b"k", b"v"), (b"l", None)], START_MS)
    ((_, header, _),) = partition.log.segments[-1].batches()
    assert (header.compression, header.timestamp_type, header.record_count) == (compression, kind, 2)


@pytest.mark.parametrize(
    ("leader", "in_sync", "code"),
    [(NO_LEADER, [1, 2], ErrorCode.NOT_LEADER_OR_FOLLOWER), (1, [1], ErrorCode.NOT_ENOUGH_REPLICAS)],
    ids=["without a leader", "with few in sync"],
)
def test_a_partition_refuses_them(leader: int, in_sync: list[int], code: ErrorCode) -> None:
    """And takes them again when it has a leader, and enough replicas in sync."""
    world = MemoryCluster(brokers=2)
    world.create(NewTopic("t", 1, 2, configs={"min.insync.replicas": "2"}))
    partition = world.partition("t")
    append_internal(partition, [(b"k", b"before")], START_MS)
    partition.leader, partition.isr = leader, in_sync
    with pytest.raises(KafkaError) as refused:
        append_internal(partition, [(b"k", b"refused")], START_MS)
    assert refused.value.code is code
    partition.leader, partition.isr = 1, [1, 2]
    assert append_internal(partition, [(b"k", b"after")], START_MS) == (1, None)
    assert partition.high_watermark == partition.log_end_offset == 2
