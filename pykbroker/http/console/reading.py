"""Reads records of a partition by Fetch, as a consumer, and decodes them in slices."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pykbroker.client.aborted import Batches, without_aborted
from pykbroker.client.errors import raise_for
from pykbroker.wire.errors import TooMuchContent
from pykbroker.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pykbroker.wire.records import Compression, Record, decode_some, iter_batches, unpacked

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from pykbroker.http.console.console import Console
    from pykbroker.http.turn import Turn
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.wire.batch_header import BatchHeader
    from pykbroker.wire.messages.fetch import FetchResponse, PartitionData
    from pykbroker.wire.primitives import Buffer

UNCOMMITTED, COMMITTED = 0, 1
#: The last version with topic names.
_FETCH_VERSION: Final = 12
_CONSUMER: Final = -1
#: Most records that are decoded in one step: some tens of microseconds.
_AT_ONCE: Final = 16
#: Batches that are larger, or hold more, are decompressed in a thread.
_UNPACKED_HERE: Final = 16 * 1024
_CONTENT_HERE: Final = 128 * 1024
#: What a batch may hold decompressed to be shown: a few bytes of a stranger may hold gigabytes.
LARGEST_CONTENT: Final = 16 * 1024 * 1024


@dataclass(slots=True)
class Unread(Record):
    """Stands for the records of a batch that is not read; ``why`` says why not. Its offset is the batch's first, ``last`` the last."""

    why: str = ""
    last: int = -1


def end_of(record: Record) -> int:
    """Return the offset after a record, or after the batch that an Unread stands for."""
    return (record.last if isinstance(record, Unread) else record.offset) + 1


def size_of(record: Record) -> int:
    """Return the bytes of a record's key, value and headers; of an Unread, those that it would have at least."""
    if isinstance(record, Unread):
        return LARGEST_CONTENT
    headers = sum(len(name) + len(value or b"") for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers


class ReadRecord(NamedTuple):
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


async def _content(
    console: Console, runtime: Runtime, turn: Turn, header: BatchHeader, batch: Buffer
) -> tuple[bytes, int]:
    """Return the decompressed records of a batch, and how much of them counts as decompressed until it is given back. Raises
    TooMuchContent, and WireError if it is malformed.
    """
    if header.compression is Compression.NONE:
        return unpacked(batch, header), 0
    if len(batch) <= _UNPACKED_HERE:
        with contextlib.suppress(TooMuchContent):
            return unpacked(batch, header, _CONTENT_HERE), 0
    account, content = runtime.memory.decompressed, b""
    granted = account.take(LARGEST_CONTENT)
    try:
        if granted is not None:
            await console.brokers.outcome(granted)
        content = await console.brokers.outcome(runtime.offload_read(unpacked, batch, header, LARGEST_CONTENT))
    finally:
        if granted is None or granted.done:
            account.give(LARGEST_CONTENT - len(content))
        turn.begin()
    return content, len(content)


def _unread(header: BatchHeader, why: str) -> Unread:
    of = f"offsets {header.base_offset} to {header.last_offset} are one batch that is not shown"
    return Unread(
        offset=header.base_offset,
        timestamp=header.max_timestamp,
        key=None,
        value=None,
        why=f"{of}: {why}",
        last=header.last_offset,
    )


async def records_of(
    console: Console, data: PartitionData, low: int = 0, high: int = 2**63 - 1
) -> AsyncGenerator[list[ReadRecord], None]:
    """Yield the records of one partition from ``low`` up to, but not including, ``high``, some at a time.

    Those of aborted transactions are left out if the request was read_committed; an Unread stands for a batch that holds too
    much. What the caller does with some records
    is part of the slice in which the next ones are decoded.
    """
    turn = console.turn()
    runtime = console.brokers.cluster().runtime
    raw: Any = data.records or b""  # a decoded answer is never divided
    whole = memoryview(raw)
    batches: Batches = []
    for at, header in iter_batches(whole):
        batches.append((header, whole[at : at + header.size]))
        if not len(batches) % _AT_ONCE:
            await turn.share()
    if data.aborted_transactions:
        batches = without_aborted(batches, data.aborted_transactions)
    found: list[ReadRecord] = []
    for header, batch in batches:
        if header.last_offset < low or header.base_offset >= high:
            continue
        try:
            payload, held = await _content(console, runtime, turn, header, batch)
        except TooMuchContent as error:
            found.append(ReadRecord(_unread(header, str(error)), False))
            continue
        control = header.is_control
        try:
            for some in decode_some(payload, header, _AT_ONCE):
                found += [ReadRecord(record, control) for record in some if low <= record.offset < high]
                if len(found) >= _AT_ONCE or turn.is_long():
                    await turn.share()
                    if found:
                        yield found
                        found = []
        finally:
            if held:
                runtime.memory.decompressed.give(held)
    if found:
        yield found
