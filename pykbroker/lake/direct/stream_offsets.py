"""The position of a stream, and the ranges that it reads from one position to the next. Pure.

In Spark's checkpoint a position has the offsets as Spark's Kafka source writes them, and the topic ids:
``{"orders": {"0": 12}, "topic ids": {"orders": "kQ3Vd0ZjTLyKTHJ1mJeqLw"}}``. No topic's name has a space.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pykbroker.lake.direct.batches import Piece
from pykbroker.lake.direct.log_files import LogFiles
from pykbroker.lake.errors import DataLost
from pykbroker.lake.ledger import LakePartition, Offsets, flat, nested

_IDS = "topic ids"


class Position(NamedTuple):
    """The next offset of each partition, and the topic ids: none from Kafka before 2.8 or in checkpoints without ids."""

    offsets: Offsets
    ids: Mapping[str, str]

    @classmethod
    def of(cls, offsets: Offsets, logs: Mapping[LakePartition, LogFiles]) -> Position:
        """Offsets of these logs, with the topic ids in their directories."""
        return cls(offsets, {place.topic: log.topic_id for place, log in logs.items() if log.topic_id is not None})

    def to_spark(self) -> dict[str, Any]:
        """The object that Spark writes to its checkpoint."""
        return {**nested(self.offsets), **({_IDS: dict(self.ids)} if self.ids else {})}

    @classmethod
    def from_spark(cls, found: Mapping[str, Any]) -> Position:
        """The position that ``to_spark`` wrote; also one without topic ids."""
        return cls(flat({topic: ends for topic, ends in found.items() if topic != _IDS}), found.get(_IDS, {}))


def between(
    begin: Position, end: Position, logs: Mapping[LakePartition, LogFiles], *, fail_on_data_loss: bool = True
) -> list[Piece]:
    """The ranges of a stream's batch. Raises DataLost if a topic was deleted or made anew, or a log ends before ``begin``.

    With ``fail_on_data_loss`` False, the batch has what is left: of a topic that was made anew, all records of the new one.
    """
    if fail_on_data_loss:
        for trouble in _losses(begin, end, logs):
            raise DataLost(trouble)
    return [
        Piece(log, _start(begin, end, log), end.offsets[place])
        for place, log in logs.items()
        if place in end.offsets and not _differ(end.ids.get(place.topic), log.topic_id)
    ]


def _start(begin: Position, end: Position, log: LogFiles) -> int:
    start = begin.offsets.get(log.place, log.start)
    anew = _differ(begin.ids.get(log.place.topic), end.ids.get(log.place.topic)) or end.offsets[log.place] < start
    return log.start if anew else start


def _losses(begin: Position, end: Position, logs: Mapping[LakePartition, LogFiles]) -> Iterator[str]:
    for place, start in sorted({**dict.fromkeys(end.offsets), **begin.offsets}.items()):
        if place not in logs or place not in end.offsets:
            yield f"{place} is no longer in the log directories: was the topic deleted? {_CHOICE} to continue without it."
            continue
        ids = begin.ids.get(place.topic), end.ids.get(place.topic), logs[place].topic_id
        read = "nothing" if start is None else f"the offsets before {start}"
        for old, new in ((ids[0], ids[1]), (ids[1], ids[2])):
            if _differ(old, new):
                yield (
                    f"{place}: the stream has read {read} of the topic with the id {old}, and the topic's id is {new} now: it was "
                    f"deleted and made anew. {_CHOICE} to read the new topic from its beginning."
                )
        if start is not None and end.offsets[place] < start:
            yield (
                f"{place} was read up to offset {start} and ends at {end.offsets[place]} now: was the topic made anew? "
                f"{_CHOICE} to read it from its beginning."
            )


_CHOICE = "Begin with a new checkpoint, or set failOnDataLoss to false"


def _differ(one: str | None, other: str | None) -> bool:
    """Whether two topic ids are known and not the same."""
    return None not in (one, other) and one != other
