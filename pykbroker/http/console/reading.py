"""Reads records of a partition by Fetch, as a consumer, and decodes them in slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pykbroker.client.aborted import Batches, without_aborted
from pykbroker.http.console.asking import raise_for
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.records import Compression, decode_some, iter_batches, unpacked

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from pykbroker.http.console.console import Console
    from pykbroker.wire.messages.fetch import FetchResponse, PartitionData
    from pykbroker.wire.records import Record

UNCOMMITTED, COMMITTED = 0, 1
#: The last version with topic names.
_FETCH_VERSION: Final = 12
_CONSUMER: Final = -1
#: Most records that are decoded in one step: some tens of microseconds.
_AT_ONCE: Final = 16
#: Larger batches are decompressed in a thread.
_UNPACKED_HERE: Final = 16 * 1024


class Found(NamedTuple):
    """A record that was read, possibly of a control batch."""

    record: Record
    control: bool


def fetch_request(
    topic: str, places: Iterable[tuple[int, int]], *, most: int, isolation: int, wait_ms: int = 0
) -> FetchRequest:
    """Return a Fetch request for records of partitions from these offsets on: ``most`` bytes, but at least one batch."""
    partitions = [
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=most) for index, offset in places
    ]
    return FetchRequest(
        replica_id=_CONSUMER,
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=most,
        isolation_level=isolation,
        topics=[FetchTopic(topic=topic, partitions=partitions)],
        forgotten_topics_data=[],
    )


async def fetch(console: Console, leader: int, request: FetchRequest) -> list[PartitionData]:
    """Return a leader's response for these partitions.

    Raises KafkaError if it concerns the whole request, such as TOPIC_AUTHORIZATION_FAILED.
    """
    answer: FetchResponse = await console.brokers.ask(request, _FETCH_VERSION, leader)
    raise_for(answer.error_code)
    return [each for topic in answer.responses for each in topic.partitions]


async def records_of(
    console: Console, data: PartitionData, low: int = 0, high: int = 2**63 - 1
) -> AsyncGenerator[list[Found], None]:
    """Yield the records of one partition from ``low`` up to, but not including, ``high``, some at a time.

    Those of aborted transactions are left out if the request was read_committed. What the caller does with some records
    is part of the slice in which the next ones are decoded.
    """
    turn = console.turn()
    raw: Any = data.records or b""  # a decoded answer is never divided
    whole = memoryview(raw)
    batches: Batches = []
    for at, header in iter_batches(whole):
        batches.append((header, whole[at : at + header.size]))
        if not len(batches) % _AT_ONCE:
            await turn.share()
    if data.aborted_transactions:
        batches = without_aborted(batches, data.aborted_transactions)
    found: list[Found] = []
    for header, batch in batches:
        if header.last_offset < low or header.base_offset >= high:
            continue
        if header.compression is Compression.NONE or len(batch) <= _UNPACKED_HERE:
            payload = unpacked(batch, header)
        else:
            payload = await console.brokers.outcome(
                console.brokers.cluster().runtime.offload_read(unpacked, batch, header)
            )
            turn.begin()
        control = header.is_control
        for some in decode_some(payload, header, _AT_ONCE):
            found += [Found(record, control) for record in some if low <= record.offset < high]
            if len(found) >= _AT_ONCE or turn.is_long():
                await turn.share()
                if found:
                    yield found
                    found = []
    if found:
        yield found
