"""Follows the records appended to a topic, as lines of JSON, for as long as the page reads them.

It delays nobody and buffers little: each round sends the newest records, counts and skips those that are more than a
page can show, and while the page does not read, nothing is read for it.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from aiohttp import web

from pykbroker.http.console import search_offsets
from pykbroker.http.console.matching import Matcher
from pykbroker.http.console.reading import fetch, fetch_request, records_of, size_of
from pykbroker.http.console.record_json import record_json
from pykbroker.http.console.records import isolation_of
from pykbroker.metadata.image import NO_LEADER
from pykbroker.steered.refusal import VerbRefused
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError, error_code

if TYPE_CHECKING:
    from pykbroker.http.console.call import ConsoleCall
    from pykbroker.http.console.console import Console
    from pykbroker.http.turn import Turn
    from pykbroker.wire.records import Record

#: Most tails at once: each is a connection, and metrics need some, too.
MOST_TAILS: Final = 8
#: Offsets that one round reads, of one partition and of all; the newest if there are more.
_OFFSETS: Final = 200
_OFFSETS_OF_ALL: Final = 1600
#: Records that one round sends at most, and all rounds in a second under steady load: nobody reads faster, and
#: producers come first.
_RECORDS: Final = 200
_RECORDS_A_SECOND: Final = 100
#: Most records that are serialized in one step: some tens of microseconds.
_AT_ONCE: Final = 8
_FETCHED: Final = 256 * 1024
#: Bytes of decompressed records that one round keeps.
_BYTES: Final = 8 * 1024 * 1024
#: Pauses after a round, and after one that sent as much as it may.
_WAIT_MS: Final = 1000
_BETWEEN_S: Final = 0.2
_AFTER_MUCH_S: Final = 0.5
_NAME: Final = 249
#: The status of a VerbRefused while the process stops or is reset.
_UNAVAILABLE: Final = 503


class _Read(NamedTuple):
    """A record of a partition, to be sent."""

    partition: int
    record: Record
    control: bool


async def follow(console: Console, call: ConsoleCall) -> web.StreamResponse:
    """Stream records until the page disconnects, the topic is deleted, or the process is reset."""
    if len(console.tails) >= MOST_TAILS:
        raise VerbRefused(429, f"{MOST_TAILS} tails are open already: close one")
    tail = await Tail.of(console, call)
    response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
    await response.prepare(call.request)
    task: Any = asyncio.current_task()
    console.tails.add(task)
    try:
        await tail.run(response)
    except (ConnectionError, asyncio.CancelledError):
        pass
    finally:
        console.tails.discard(task)
    return response


class Tail:
    """``at`` is the next offset to send of each partition."""

    def __init__(
        self, console: Console, topic: str, topic_id: bytes, at: dict[int, int], matcher: Matcher, isolation: int
    ) -> None:
        self._console = console
        self._cluster = console.brokers.cluster()
        self._topic = topic
        self._topic_id = topic_id
        self._at = at
        self._matcher = matcher
        self._isolation = isolation
        self._skipped = 0
        self._held = 0  # bytes of the records of a round
        self._allowed: float = _RECORDS  # how many records may be sent now,
        self._counted = console.clock.monotonic()  # and when that was computed

    @classmethod
    async def of(cls, console: Console, call: ConsoleCall) -> Tail:
        """Start at the ends of the partitions. Raises VerbRefused, and the KafkaError of ListOffsets."""
        topic, matcher, isolation = call.text("topic", most=_NAME), Matcher.of(call), isolation_of(call)
        image = console.brokers.cluster().metadata.image.topics.get(topic) if console.brokers.sees(topic) else None
        if image is None:
            raise VerbRefused(404, f"there is no topic {topic}")
        chosen = search_offsets.chosen(call.text("partitions", "", most=1000), len(image.partitions))
        ends = await search_offsets.offsets(
            console.brokers, topic, dict.fromkeys(chosen, search_offsets.LATEST), isolation
        )
        return cls(console, topic, image.id, ends, matcher, isolation)

    async def run(self, response: web.StreamResponse) -> None:
        """Raises ConnectionError when the page has disconnected."""
        await _send(response, {"at": self._at})
        try:
            while True:
                turn = self._console.turn()
                found = await self._round(turn)
                await response.write(await self._line(found, turn))
                self._allowed -= len(found)
                await asyncio.sleep(_BETWEEN_S if self._allowed >= 1 else _AFTER_MUCH_S)
        except (KafkaError, WireError, VerbRefused) as error:
            passes = error.status == _UNAVAILABLE if isinstance(error, VerbRefused) else _is_retriable(error)
            await _send(response, {"ended": str(error), "passes": passes})

    async def _round(self, turn: Turn) -> list[_Read]:
        """Return the records appended since the last round."""
        found: list[_Read] = []
        self._held = 0
        for leader, indexes in self._by_leader().items():
            for index in indexes:
                self._skip_excess(index)
            asked = [(index, self._at[index]) for index in indexes]
            wait = _WAIT_MS if len(indexes) == len(self._at) else 0
            request = fetch_request(self._topic, asked, most=_FETCHED, isolation=self._isolation, wait_ms=wait)
            answered = await fetch(self._console, leader, request)
            await turn.over()  # a fetch that did not wait is work of this turn
            for data in answered:
                await self._take(data, found)
        if not self._by_leader():
            await asyncio.sleep(_WAIT_MS / 1000)
        most = self._most()
        if len(found) > most:
            found.sort(key=lambda each: each.record.timestamp)
            self._skipped += len(found) - most
            del found[:-most]
        await turn.over()
        return found

    def _most(self) -> int:
        """Return how many records may be sent now, at least one."""
        now = self._console.clock.monotonic()
        self._allowed = min(_RECORDS, self._allowed + (now - self._counted) * _RECORDS_A_SECOND)
        self._counted = now
        return max(int(self._allowed), 1)

    async def _line(self, found: list[_Read], turn: Turn) -> bytes:
        """Return the line for a round, serialized in slices."""
        records: list[str] = []
        some: list[dict[str, Any]] = []
        for number, (index, record, control) in enumerate(found, 1):
            some.append(record_json(self._topic, index, record, control=control))
            if number == len(found) or len(some) == _AT_ONCE or turn.is_long():
                records.append(json.dumps(some)[1:-1])
                some.clear()
                await turn.share()
        await turn.over()  # to write is a call of the system
        return f'{{"records": [{", ".join(records)}], "skipped": {self._skipped}}}\n'.encode()

    def _by_leader(self) -> dict[int, list[int]]:
        """Return the partitions by leader. Raises VerbRefused if these are no longer the partitions whose offsets it has."""
        if self._console.brokers.cluster() is not self._cluster:
            raise VerbRefused(_UNAVAILABLE, "the broker was reset, or a snapshot restored")
        image = self._cluster.metadata.image.topics.get(self._topic)
        if image is None or image.id != self._topic_id:
            raise VerbRefused(404, f"topic {self._topic} was deleted")
        found: dict[int, list[int]] = {}
        for index in self._at:
            leader = self._console.brokers.partition(self._topic, index).leader
            if leader != NO_LEADER:
                found.setdefault(leader, []).append(index)
        return found

    def _skip_excess(self, index: int) -> None:
        """Skip records beyond the limit of a round."""
        partition = self._console.brokers.partition(self._topic, index)
        log = partition.opened_log
        if log is not None:
            most = min(self._most() if self._matcher.fits_all else _OFFSETS, _OFFSETS_OF_ALL // len(self._at))
            begin = max(log.last_stable_offset - most, log.log_start_offset)
            self._skipped += max(begin - self._at[index], 0)
            self._at[index] = max(begin, self._at[index])

    async def _take(self, data: Any, found: list[_Read]) -> None:
        index = data.partition_index
        if data.error_code:
            code = error_code(data.error_code)
            if code is ErrorCode.OFFSET_OUT_OF_RANGE:
                self._at[index] = self._console.brokers.partition(self._topic, index).high_watermark
            elif not code.retriable:
                raise KafkaError(code)
            return
        begin = self._at[index]
        matches, all_fit = self._matcher, self._matcher.fits_all
        async for some in records_of(self._console, data, begin):
            fresh = [
                _Read(index, record, control)
                for record, control in some
                if all_fit or (not control and matches(record))
            ]
            found += fresh
            self._held += sum(size_of(each.record) for each in fresh)
            self._let_go(found)
        if data.records:
            self._at[index] = max(begin, search_offsets.end_of(data.records))

    def _let_go(self, found: list[_Read]) -> None:
        """Skip the first records of a round that would take too much memory."""
        while self._held > _BYTES and len(found) > 1:
            self._held -= size_of(found.pop(0).record)
            self._skipped += 1


def _is_retriable(error: KafkaError | WireError) -> bool:
    return isinstance(error, KafkaError) and error.code.retriable


async def _send(response: web.StreamResponse, said: dict[str, Any]) -> None:
    """Send a line; returns when the page has room for the next. Raises ConnectionError when it has disconnected."""
    await response.write(json.dumps(said).encode() + b"\n")
