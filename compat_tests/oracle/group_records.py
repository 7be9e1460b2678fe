"""What a broker wrote about a group in ``__consumer_offsets``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pykbroker.coordination.groups import records as layouts
from pykbroker.coordination.placement import partition_for
from pykbroker.metadata.names import CONSUMER_OFFSETS
from pykbroker.wire.errors import WireError
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from pykbroker.wire.records import Record, decode_records, read_batch_header

if TYPE_CHECKING:
    from compat_tests.oracle.requests import Ask

_LARGE = 50_000_000


def records_in(batches: bytes) -> Iterator[Record]:
    """The records of whole batches, one after another."""
    position = 0
    while position < len(batches):
        header = read_batch_header(batches, position)
        yield from decode_records(batches[position : position + header.size])
        position += header.size


def recorded(ask: Ask, group: str) -> list[str]:
    """The records of a group as normalised text, numbered, without ids of topics and the hash that has them."""
    (topic,) = ask.quietly(MetadataRequest([MetadataRequestTopic(name=CONSUMER_OFFSETS)], False), 9).topics
    index = partition_for(group, len(topic.partitions))
    topics = [FetchTopic(CONSUMER_OFFSETS, partitions=[FetchPartition(index, -1, 0, partition_max_bytes=_LARGE)])]
    answer = ask.quietly(FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=_LARGE, topics=topics), 11)
    found: list[str] = []
    for record in records_in(bytes(answer.responses[0].partitions[0].records or b"")):
        try:
            decoded = layouts.decode(bytes(record.key or b""), record.value)
        except WireError:
            continue  # a marker
        if layouts.owner_of(decoded) == group:
            if getattr(decoded.value, "metadata_hash", 0):
                decoded.value.metadata_hash = 1
            if getattr(decoded.value, "topic_id", b""):
                decoded.value.topic_id = b"its id"
            found.append(ask.normalise(f"{len(found):03} {decoded.key} {decoded.value}"))
    return found
