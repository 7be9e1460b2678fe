"""Batches of the broker itself, beside the encoder of any batch, and through settings that change them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.partitions.internal_records import CoordinatorBatch, append_internal
from pykbroker.tests.kit.cluster import START_MS, MemoryCluster
from pykbroker.wire.compression import Compression
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
