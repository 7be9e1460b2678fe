"""The offsets of each partition that a search has yet to read, as the cursor that the page sends back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from pykbroker.client.errors import raise_for
from pykbroker.metadata.image import NO_LEADER
from pykbroker.steered.refusal import VerbRefused
from pykbroker.wire.batch_header import HEADER_SIZE, LOG_OVERHEAD, read_batch_header
from pykbroker.wire.errors import WireError
from pykbroker.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pykbroker.http.console.in_process_client import InProcessClient

#: Most partitions of one search or one tail.
MOST_PARTITIONS: Final = 128
LATEST, EARLIEST = -1, -2
#: Base offset and length of a batch.
_read_begin: Final = Struct(">qi").unpack_from
_RANGE: Final = re.compile(r"[0-9]{1,9}(-[0-9]{1,9})?")
_CONSUMER: Final = -1
#: The last version with topic names.
_VERSION: Final = 7


@dataclass(slots=True)
class OffsetRange:
    """The offsets from ``low`` up to, but not including, ``high``."""

    index: int
    low: int
    high: int

    @property
    def left(self) -> int:
        """The number of offsets."""
        return max(self.high - self.low, 0)


def chosen(text: str, count: int) -> list[int]:
    """Parse partitions such as ``0,3,8-12``; all of ``count`` if empty. Raises VerbRefused."""
    found: dict[int, None] = {}
    for word in filter(None, text.replace(" ", "").split(",")) if text.strip() else [f"0-{count - 1}"]:
        if _RANGE.fullmatch(word) is None:
            raise VerbRefused(400, f"partitions are said as 0,3,8-12, not {word[:40]!r}")
        first, _, last = word.partition("-")
        for index in range(int(first), int(last or first) + 1):
            if index >= count:
                break
            found[index] = None
            if len(found) > MOST_PARTITIONS:
                raise VerbRefused(
                    400, f"{MOST_PARTITIONS} partitions are looked at at once: say which, as 0-{MOST_PARTITIONS - 1}"
                )
    if not found:
        raise VerbRefused(404, f"the topic has {count} partitions, from 0 on")
    return list(found)


def written(places: Iterable[OffsetRange]) -> str:
    """Return the cursor."""
    return "_".join(f"{each.index}.{each.low}.{each.high}" for each in places if each.left)


def read(text: str) -> list[OffsetRange]:
    """Parse the cursor. Raises VerbRefused."""
    try:
        found = [OffsetRange(*map(int, word.split("."))) for word in text.split("_")] if text.isascii() else []
    except (ValueError, TypeError):
        found = []
    if not 0 < len(found) <= MOST_PARTITIONS or any(min(each.index, each.low) < 0 for each in found):
        raise VerbRefused(400, "the cursor is invalid")
    return found


async def offsets(brokers: InProcessClient, topic: str, wanted: dict[int, int], isolation: int) -> dict[int, int]:
    """Return partition to the offset of a timestamp, LATEST or EARLIEST; -1 if no record is that late.

    Partitions without a leader are left out. Raises KafkaError NOT_LEADER_OR_FOLLOWER if a leader has moved.
    """
    by_leader: dict[int, list[ListOffsetsPartition]] = {}
    for index, timestamp in wanted.items():
        leader = brokers.partition(topic, index).leader
        if leader != NO_LEADER:
            by_leader.setdefault(leader, []).append(ListOffsetsPartition(partition_index=index, timestamp=timestamp))
    found: dict[int, int] = {}
    for leader, partitions in by_leader.items():
        asked = ListOffsetsRequest(_CONSUMER, isolation, [ListOffsetsTopic(topic, partitions)])
        for each in (await brokers.ask(asked, _VERSION, leader)).topics[0].partitions:
            raise_for(each.error_code)
            found[each.partition_index] = each.offset
    return found


async def between(
    brokers: InProcessClient, topic: str, indexes: Iterable[int], isolation: int, since: int | None, until: int | None
) -> list[OffsetRange]:
    """Return the offsets of these partitions, optionally between two times."""
    asked = list(indexes)
    ends = await offsets(brokers, topic, dict.fromkeys(asked, LATEST), isolation)
    lows = await offsets(brokers, topic, dict.fromkeys(asked, EARLIEST if since is None else since), isolation)
    highs = {} if until is None else await offsets(brokers, topic, dict.fromkeys(asked, until + 1), isolation)
    found = []
    for index, end in ends.items():
        low, high = lows.get(index, -1), highs.get(index, -1)
        found.append(OffsetRange(index, end if low < 0 else low, end if high < 0 else high))
    return found


def begin_of(raw: Any) -> int:
    """Return the first offset of batches."""
    return read_batch_header(raw).base_offset


def end_of(raw: Any, before: int = 2**63 - 1) -> int:
    """Return the offset after the last of the batches that begin before an offset; 0 if there is none.

    Only their base offsets and lengths are read, and the last one's header, since they may be many and small. Raises
    WireError if one is malformed or incomplete.
    """
    last, at, end = None, 0, len(raw)
    while at < end:
        if end - at < HEADER_SIZE:
            raise WireError(f"a batch header takes {HEADER_SIZE} bytes and {end - at} remain")
        base_offset, length = _read_begin(raw, at)
        if base_offset >= before:
            break
        last, at = at, at + LOG_OVERHEAD + max(length, 0)
    if at > end:
        raise WireError(f"a batch is incomplete: {at - end} bytes are missing")
    return 0 if last is None else read_batch_header(raw, last).last_offset + 1
