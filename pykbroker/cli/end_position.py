"""Where reading stops: before an offset or a time, and in any case at what was the end at the start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pykbroker.cli.start_position import end_offsets
from pykbroker.cli.times import parse_when
from pykbroker.client.client import Client
from pykbroker.client.errors import UsageError
from pykbroker.client.offsets import TopicPartition, list_offsets


@dataclass(frozen=True)
class EndPosition:
    """The stop that was chosen; never by default. ``timestamp`` is in milliseconds since 1970."""

    at_end: bool = False
    offset: int | None = None
    timestamp: int | None = None

    @property
    def never(self) -> bool:
        return not self.at_end and self.offset is None and self.timestamp is None

    def ends(
        self, client: Client, partitions: Iterable[TopicPartition], *, committed_only: bool
    ) -> dict[TopicPartition, int]:
        """Return the offset to stop before in each partition; its end by default. Raises the KafkaError of a response."""
        partitions = list(partitions)
        ends = end_offsets(client, partitions, committed_only=committed_only)
        if self.offset is not None:
            return {p: min(self.offset, end) for p, end in ends.items()}
        if self.timestamp is None:
            return ends
        found = list_offsets(client, dict.fromkeys(partitions, self.timestamp))
        return {p: end if found[p] < 0 else min(found[p], end) for p, end in ends.items()}


def parse_until(text: str, now_ms: int) -> EndPosition:
    """Parse ``end``, an offset, or a time in the past. Raises UsageError."""
    plain = text.strip()
    if plain == "end":
        return EndPosition(at_end=True)
    if plain.isdecimal():
        return EndPosition(offset=int(plain))
    timestamp = parse_when(plain, now_ms)
    if timestamp > now_ms:
        raise UsageError(
            f"{text!r} has not come yet; --until ends before a time that has been, an offset, or at the end."
        )
    return EndPosition(timestamp=timestamp)
