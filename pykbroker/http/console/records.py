"""Records: search, details, and produce."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final

from pykbroker.client.errors import raise_for
from pykbroker.http.console import search_offsets
from pykbroker.http.console.matching import Matcher
from pykbroker.http.console.reading import COMMITTED, UNCOMMITTED, fetch, fetch_request, records_of
from pykbroker.http.console.record_json import SINGLE, record_json
from pykbroker.http.console.search import Search
from pykbroker.seeding.partitioner import Partitioner
from pykbroker.steered.refusal import VerbRefused
from pykbroker.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pykbroker.wire.records import Record, encode_batch

if TYPE_CHECKING:
    from pykbroker.http.console.call import ConsoleCall
    from pykbroker.http.console.console import Console

_NAME: Final = 249
_MOST_FOUND: Final = 200
_LONGEST_CURSOR: Final = 8000
#: A value of a megabyte, in base64 or as text.
_LONGEST_PART: Final = 2 * 1024 * 1024
_MOST_HEADERS: Final = 100
_PRODUCE_VERSION: Final = 9
_TIMEOUT_MS: Final = 30_000
_ALL_IN_SYNC: Final = -1


async def search(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return a piece of a search. ``order`` is newest or oldest; ``cursor`` is that of the piece before."""
    brokers = console.brokers
    topic, order = call.text("topic", most=_NAME), call.text("order", "newest", most=10)
    if order not in ("newest", "oldest"):
        raise VerbRefused(400, "'order' is newest or oldest")
    partitions = _partitions(console, topic)
    isolation, matcher = isolation_of(call), Matcher.of(call)
    cursor = call.text("cursor", "", most=_LONGEST_CURSOR)
    if cursor:
        there = search_offsets.read(cursor)
    else:
        indexes = search_offsets.chosen(call.text("partitions", "", most=1000), partitions)
        there = await search_offsets.between(brokers, topic, indexes, isolation, matcher.since, matcher.until)
        _cut(there, call.maybe_whole("from"), call.maybe_whole("to"))
    request = call.request
    looking = Search(
        *(console, topic, [place for place in there if place.left], matcher, order == "newest"),
        *(call.whole("limit", 50, least=1, most=_MOST_FOUND), isolation),
        gone=lambda: request.transport is None or request.transport.is_closing(),
    )
    return await looking.run()


def isolation_of(call: ConsoleCall) -> int:
    """Return the isolation level: committed records only, or also those of open and aborted transactions, and markers."""
    return UNCOMMITTED if call.flag("uncommitted") else COMMITTED


def _partitions(console: Console, topic: str) -> int:
    image = console.brokers.cluster().metadata.image.topics.get(topic) if console.brokers.sees(topic) else None
    if image is None:
        raise VerbRefused(404, f"there is no topic {topic}")
    return len(image.partitions)


def _cut(there: list[search_offsets.OffsetRange], low: int | None, high: int | None) -> None:
    """Cut the ranges to the offsets that were given, both inclusive."""
    for place in there:
        if low is not None:
            place.low = max(place.low, low)
        if high is not None:
            place.high = min(place.high, high + 1)


async def one(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Return one record, with long fields as complete as the page can show them."""
    topic, index, offset = call.text("topic", most=_NAME), call.whole("partition", most=2**31 - 1), call.whole("offset")
    leader = console.brokers.partition(topic, index).leader
    request = fetch_request(topic, [(index, offset)], most=1, isolation=UNCOMMITTED)
    (data,) = await fetch(console, leader, request)
    raise_for(data.error_code)
    async for some in records_of(console, data, offset, offset + 1):
        return record_json(topic, index, some[0].record, control=some[0].control, most=SINGLE)
    raise VerbRefused(404, f"{topic}-{index} has no record {offset} any more, or not yet")


async def produce(console: Console, call: ConsoleCall) -> dict[str, Any]:
    """Append a record, as a producer with acks=all would, and return its position.

    Without a partition, the key decides.
    """
    topic = call.text("topic", most=_NAME)
    count = _partitions(console, topic)
    cluster = console.brokers.cluster()
    key = _part(call, "key")
    headers = [
        (inner.text("name"), _part(inner, "value"))
        for inner in map(call.inner, call.objects("headers", most=_MOST_HEADERS))
    ]
    index = call.maybe_whole("partition")
    if index is None:
        index = cluster.runtime.random.randrange(count) if key is None else Partitioner(count).choose(key)
    record = Record(timestamp=cluster.runtime.clock.now_ms(), key=key, value=_part(call, "value"), headers=headers)
    data = PartitionProduceData(index, encode_batch([record]))
    asked = ProduceRequest(None, _ALL_IN_SYNC, _TIMEOUT_MS, [TopicProduceData(name=topic, partition_data=[data])])
    answer = await console.brokers.ask_leader(topic, index, asked, _PRODUCE_VERSION)
    (result,) = answer.responses[0].partition_responses
    if result.error_code and result.record_errors:
        said = result.record_errors[0].batch_index_error_message
        raise_for(result.error_code, said or result.error_message)
    raise_for(result.error_code, result.error_message)
    return {"partition": index, "offset": result.base_offset}


def _part(call: ConsoleCall, name: str) -> bytes | None:
    """Return a key or value: text, ``NAME_base64`` in its place, or null. Raises VerbRefused."""
    other = f"{name}_base64"
    if call.said.get(other) is not None:
        try:
            return base64.b64decode(call.text(other, most=_LONGEST_PART), validate=True)
        except ValueError as error:
            raise VerbRefused(400, f"{other!r} is not base64: {error}") from error
    if call.said.get(name) is None:
        return None
    try:
        return call.text(name, most=_LONGEST_PART).encode()
    except UnicodeEncodeError as error:
        raise VerbRefused(400, f"{name!r} is no text that can be written in UTF-8") from error
