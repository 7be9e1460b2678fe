"""The loops of ``consume``: with assigned partitions, or as a member of a group."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextlib import suppress

from pykbroker.cli.end_position import EndPosition
from pykbroker.cli.output import Output, OutputClosed, flush, write_bytes
from pykbroker.cli.record_filter import Filter
from pykbroker.cli.record_format import Formatter
from pykbroker.cli.start_position import StartPosition, named
from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError
from pykbroker.client.fetcher import Fetched, Fetcher
from pykbroker.client.membership import GroupMembership
from pykbroker.client.offsets import TopicPartition, committed_offsets
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError
from pykbroker.wire.records import Record

_POLL_S = 0.5
_COMMIT_INTERVAL_S = 5.0
_PARTING_S = 5.0

Stop = Mapping[TopicPartition, int] | None
"""For each partition the offset to end at, or None to go on for ever."""


class Printer:
    """Prints up to ``limit`` records (None: all) and keeps the position in each partition.

    Records that ``wanted`` rejects are skipped and not counted. ``printed`` are the positions up to which output was
    flushed: those to commit.
    """

    def __init__(self, formatter: Formatter, limit: int | None, wanted: Filter | None = None) -> None:
        self.printed: dict[TopicPartition, int] = {}
        self._printed: dict[TopicPartition, int] = {}
        self._formatter = formatter
        self._left = limit
        self._wanted = wanted

    @property
    def full(self) -> bool:
        return self._left == 0

    def print(self, fetched: Fetched, stop: Stop = None) -> None:
        """Print the records of ``fetched`` up to the limit and to ``stop``."""
        end = stop.get(fetched.partition) if stop else None
        for record in fetched.records:
            if end is not None and record.offset >= end:
                break
            if self._wanted is not None and not self._wanted(record):
                self._printed[fetched.partition] = record.offset + 1
                continue
            if self._left is not None:
                if self._left == 0:
                    return
                self._left -= 1
            self._write(fetched.partition, record)
            self._printed[fetched.partition] = record.offset + 1
        else:
            self._printed[fetched.partition] = fetched.next_offset

    def _write(self, partition: TopicPartition, record: Record) -> None:
        write_bytes(self._formatter(partition, record))

    def flush(self) -> None:
        """Flush the output, and count it as shown. Raises OutputClosed."""
        flush()
        self.printed |= self._printed
        self._printed.clear()

    def begin(self, positions: Mapping[TopicPartition, int]) -> None:
        """Start anew from ``positions``."""
        self.printed = dict(positions)
        self._printed.clear()


class ConsumeLoop:
    """Reads from a cluster and prints until stopped. ``committed_only`` is read_committed."""

    def __init__(self, client: Client, out: Output, printer: Printer, *, committed_only: bool) -> None:
        self._client = client
        self._out = out
        self._printer = printer
        self._committed_only = committed_only
        self._said_which_wins = False
        self._fetcher = Fetcher(client, committed_only=committed_only)

    def read(self, partitions: list[TopicPartition], start: StartPosition, until: EndPosition) -> None:
        """Print from ``start`` on. Raises the KafkaError of a response."""
        ends = until.ends(self._client, partitions, committed_only=self._committed_only)
        self._fetcher.assign(start.positions(self._client, partitions, self._out.remark))
        if start.last is not None:
            self._print_last(start.last, ends)
        while not self._printer.full and (until.never or not self._reached(ends)):
            self._print_some(None if until.never else ends)

    def read_as_member(self, membership: GroupMembership, group: str, start: StartPosition, until: EndPosition) -> None:
        """Print the partitions that the group assigns, from its offsets on, and commit what was printed.

        Raises the KafkaError of a response.
        """
        clock = self._client.clock
        try:
            ends = self._take_over(membership, group, start, until)
            commit_due = clock.monotonic() + _COMMIT_INTERVAL_S
            while not self._printer.full and (until.never or not self._reached(ends)):
                if not membership.still_in():
                    self._commit(membership)
                    ends = self._take_over(membership, group, start, until)
                self._print_some(None if until.never else ends)
                if clock.monotonic() >= commit_due:
                    self._commit(membership)
                    commit_due = clock.monotonic() + _COMMIT_INTERVAL_S
        except BaseException as end:
            self._leave_early(membership, printed=not isinstance(end, OutputClosed))
            raise
        self._commit(membership)
        membership.leave()

    def close(self) -> None:
        self._fetcher.close()

    def _print_some(self, stop: Stop) -> None:
        for fetched in self._poll():
            self._printer.print(fetched, stop)
        self._printer.flush()

    def _poll(self) -> list[Fetched]:
        found = self._fetcher.poll(_POLL_S)
        for partition in self._fetcher.skipped:
            position = self._fetcher.positions[partition]
            self._out.remark(f"{partition} has not the records wanted any more; going on at offset {position}.")
        self._fetcher.skipped.clear()
        return found

    def _print_last(self, count: int, ends: Mapping[TopicPartition, int]) -> None:
        """Print the last ``count`` records of all partitions together, in order of their timestamps."""
        kept: dict[TopicPartition, deque[Record]] = {partition: deque(maxlen=count) for partition in ends}
        while not self._reached(ends):
            for fetched in self._poll():
                kept[fetched.partition].extend(r for r in fetched.records if r.offset < ends[fetched.partition])
        records = sorted(
            ((partition, record) for partition, some in kept.items() for record in some),
            key=lambda item: (item[1].timestamp, item[0], item[1].offset),
        )
        for partition, record in records[-count:]:
            self._printer.print(Fetched(partition, [record], record.offset + 1))
        self._printer.flush()
        self._fetcher.assign(ends)

    def _reached(self, ends: Mapping[TopicPartition, int]) -> bool:
        return all(self._fetcher.positions[partition] >= end for partition, end in ends.items())

    def _take_over(
        self, membership: GroupMembership, group: str, start: StartPosition, until: EndPosition
    ) -> dict[TopicPartition, int]:
        """Join, and read from the group's offsets, or from ``start`` where it has none; returns the ends."""
        partitions = membership.join()
        known = committed_offsets(self._client, group)
        kept = {p: known[p] for p in partitions if p in known}
        self._warn_committed_offsets_win(group, start, kept)
        new = start.positions(self._client, [p for p in partitions if p not in known], self._out.remark)
        # commit the position even if no record arrives, so that the next start continues from it
        self._printer.begin(new)
        self._fetcher.assign(kept | new)
        return until.ends(self._client, partitions, committed_only=self._committed_only)

    def _warn_committed_offsets_win(self, group: str, start: StartPosition, kept: Mapping[TopicPartition, int]) -> None:
        """Warn once that committed offsets win over the option that says where to start."""
        if start.option and kept and not self._said_which_wins:
            self._said_which_wins = True
            self._out.remark(
                f"Group {group} goes on where it is, in {named(kept)}; {start.option} counts only where it has "
                "committed nothing. `pykbroker groups reset` moves it."
            )

    def _leave_early(self, membership: GroupMembership, *, printed: bool) -> None:
        """Commit what was shown and leave the group, so that it neither repeats records nor waits for us.

        Errors are reported, but do not hide the error that ended the command.
        """
        try:
            membership.limit_patience(_PARTING_S)
            if printed:
                with suppress(OutputClosed):
                    self._printer.flush()
            self._commit(membership)
            membership.leave()
        except (ClientError, KafkaError, WireError, KeyboardInterrupt) as error:
            reason = f": {error}" if str(error) else "."
            self._out.remark(f"The group was not left in order; it may print records again{reason}")

    def _commit(self, membership: GroupMembership) -> None:
        try:
            membership.commit(self._printer.printed)
        except KafkaError as error:
            if error.code not in (
                ErrorCode.UNKNOWN_MEMBER_ID,
                ErrorCode.ILLEGAL_GENERATION,
                ErrorCode.REBALANCE_IN_PROGRESS,
            ):
                raise
            self._out.remark("The group moved on without us before what was printed could be committed.")
        else:
            self._printer.printed.clear()
