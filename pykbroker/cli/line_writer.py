"""Writes the lines of an input as records, and keeps account of which were written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from pykbroker.cli.input_lines import BadLine
from pykbroker.cli.output import counted, sentence
from pykbroker.client.errors import refusal
from pykbroker.client.offsets import TopicPartition
from pykbroker.seeding.partitioner import Partitioner
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.records import Record

#: Errors that refuse a whole batch because of a single record.
_ABOUT_RECORDS = {
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.INVALID_TIMESTAMP,
}
_TOLD_ONE_BY_ONE = 10


class InputLine(NamedTuple):
    """A line of the input, numbered from 1, as a record."""

    number: int
    record: Record


Send = Callable[[TopicPartition, list[Record]], object]
"""Writes a batch. Raises the KafkaError with which it is refused."""
Read = Callable[[bytes], tuple[Record, int | None]]
"""The record on a line, and the partition it names. Raises BadLine."""


class LineWriter:
    """Writes to ``topic`` with ``partitions`` partitions, or only to partition ``fixed``.

    The first bad line, which is no record or is refused by the broker, ends the writing; every line before it is
    written. With ``leave_out``, which is called for each, bad lines are skipped.
    """

    def __init__(
        self,
        topic: str,
        partitions: int,
        *,
        read: Read,
        send: Send,
        fixed: int | None = None,
        leave_out: Callable[[str], None] | None = None,
    ) -> None:
        self.written = 0
        self.left_out = 0
        self.in_doubt = 0
        """Records of a batch that was sent and never answered."""
        self._topic = topic
        self._partitions = partitions
        self._read = read
        self._send = send
        self._fixed = fixed
        self._leave_out = leave_out
        self._partitioner = Partitioner(partitions)
        self._lines = 0
        self._bad: tuple[int, str] | None = None
        self._sent: list[int] = []

    def write(self, lines: Iterable[bytes]) -> None:
        """Write the next lines. Raises BadLine, KafkaError and Unreachable; the counts are right in any case."""
        by_partition: dict[int, list[InputLine]] = defaultdict(list)
        for text in lines:
            self._lines += 1
            try:
                record, named = self._read(text)
                by_partition[self._place(record, named)].append(InputLine(self._lines, record))
            except BadLine as error:
                self._is_bad(self._lines, error.message)
                if self._bad:
                    break
        self._sent.clear()
        for index, batch in by_partition.items():
            self._write(TopicPartition(self._topic, index), batch)
        self._partitioner.next_batch()
        if self._bad:
            raise self._first_bad(*self._bad)

    @property
    def tally(self) -> str:
        """What was written, for an error message."""
        doubt = f"; whether {self.in_doubt} more were, no answer tells" if self.in_doubt else ""
        return f"Written before to {self._topic}: {counted(self.written, 'record')}{doubt}."

    def _place(self, record: Record, named: int | None) -> int:
        chosen = self._fixed if self._fixed is not None else named
        if chosen is None:
            return self._partitioner.choose(record.key)
        if chosen >= self._partitions:
            raise BadLine(f"there is no partition {chosen}; {self._topic} has {counted(self._partitions, 'partition')}")
        return chosen

    def _write(self, partition: TopicPartition, batch: list[InputLine]) -> None:
        """Write a batch; one that is refused because of a record is halved until that record is alone."""
        if self._bad:
            batch = [line for line in batch if line.number < self._bad[0]]
        if not batch:
            return
        self.in_doubt = len(batch)
        try:
            self._send(partition, [line.record for line in batch])
        except KafkaError as error:
            if not error.code.retriable:
                self.in_doubt = 0
            if error.code not in _ABOUT_RECORDS:
                raise
            if len(batch) == 1:
                self._is_bad(batch[0].number, refusal("refused", error).rstrip("."))
                return
            middle = len(batch) // 2
            self._write(partition, batch[:middle])
            self._write(partition, batch[middle:])
            return
        self.in_doubt = 0
        self.written += len(batch)
        self._sent += (line.number for line in batch)

    def _is_bad(self, number: int, reason: str) -> None:
        if self._leave_out is None:
            self._bad = (number, reason)
            return
        self.left_out += 1
        if self.left_out <= _TOLD_ONE_BY_ONE:
            self._leave_out(f"Line {number} is left out: {sentence(reason)}")
        elif self.left_out == _TOLD_ONE_BY_ONE + 1:
            self._leave_out("More lines are left out; they are counted at the end.")

    def _first_bad(self, number: int, reason: str) -> BadLine:
        before = sum(sent < number for sent in self._sent) + self.written - len(self._sent)
        told = f"Line {number}: {sentence(reason)} "
        told += (
            f"Every line before it is written, {counted(before, 'record')}" if before else "No line stands before it"
        )
        if after := self.written - before:
            told += f"; written are also {counted(after, 'line')} after it, up to line {max(self._sent)}"
        return BadLine(f"{told}; --skip-bad leaves bad lines out.")
