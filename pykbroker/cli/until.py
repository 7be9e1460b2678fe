"""Where reading ends: before an offset, before a time, and at the end as it is at the start in any case."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pykbroker.cli.client import Client
from pykbroker.cli.offsets import Partition, list_offsets
from pykbroker.cli.start import end_offsets
from pykbroker.cli.times import parse_when
from pykbroker.cli.trouble import UsageError


@dataclass(frozen=True)
class Until:
    """The choice; never when nothing is chosen. ``timestamp`` is in milliseconds since 1970."""

    at_end: bool = False
    offset: int | None = None
    timestamp: int | None = None

    @property
    def never(self) -> bool:
        return not self.at_end and self.offset is None and self.timestamp is None

    def ends(self, client: Client, partitions: Iterable[Partition], *, committed_only: bool) -> dict[Partition, int]:
        """The offset before which to end in each partition; the end where there is no choice. Raises the answer's
        KafkaError.
        """
        partitions = list(partitions)
        ends = end_offsets(client, partitions, committed_only=committed_only)
        if self.offset is not None:
            return {p: min(self.offset, end) for p, end in ends.items()}
        if self.timestamp is None:
            return ends
        found = list_offsets(client, dict.fromkeys(partitions, self.timestamp))
        return {p: end if found[p] < 0 else min(found[p], end) for p, end in ends.items()}


def parse_until(text: str, now_ms: int) -> Until:
    """``end``, an offset, or a time that has been. Raises UsageError."""
    plain = text.strip()
    if plain == "end":
        return Until(at_end=True)
    if plain.isdecimal():
        return Until(offset=int(plain))
    timestamp = parse_when(plain, now_ms)
    if timestamp > now_ms:
        raise UsageError(
            f"{text!r} has not come yet; --until ends before a time that has been, an offset, or at the end."
        )
    return Until(timestamp=timestamp)
