"""Batches of one partition whose records a thread reads before they are appended, and those that came after them.

A batch in a thread must not be overtaken by a later one of the same partition, so these wait here, in the order of arrival; requests
to other partitions do not. What waits is a copy, which counts as received; reading counts as decompression and waits for its
share of the memory budget.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from pykbroker.runtime.waits import Deferred, attempt
from pykbroker.storage.log.validate import ContentNotRead, Origin, validate_batch
from pykbroker.wire.compression import memory_to_decompress
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.runtime.runtime import Runtime
    from pykbroker.storage.log.log import AppendResult, Log
    from pykbroker.storage.log.validate import Allowance
    from pykbroker.wire.batch_header import BatchHeader
    from pykbroker.wire.primitives import Buffer

Validated = tuple["BatchHeader", "Buffer"]
#: A record of a batch that is written anew may use this part of the memory budget, but at least so many bytes.
_HELD_PART = 16
_HELD_AT_LEAST = 2 * 1024 * 1024


class Appending(Protocol):
    """What a queue needs of its partition."""

    leader_epoch: int
    deleted: bool

    @property
    def log(self) -> Log:
        """The log, opened on first use."""
        ...

    def append_batch(
        self,
        records: Buffer,
        now_ms: int,
        origin: Origin,
        transaction_version: int,
        allowance: Allowance | None,
        validated: Validated | None,
    ) -> AppendResult:
        """Append one batch as the leader, as ``Partition.append_batch``."""
        ...


class _Nothing:
    """The allowance of a queue: all records are read in a thread."""

    def take(self, _records: int) -> bool:
        return False


class _QueuedBatch:
    __slots__ = ("appended", "epoch", "now_ms", "records", "transaction_version")

    def __init__(self, records: bytearray, epoch: int, transaction_version: int) -> None:
        self.records = records
        self.epoch = epoch
        self.transaction_version = transaction_version
        self.now_ms = 0
        self.appended: Deferred[AppendResult] = Deferred()


class AppendQueue:
    """See the module. ``emptied`` is called when nothing is left; then the partition appends at once again."""

    def __init__(self, partition: Appending, runtime: Runtime, emptied: Callable[[], None]) -> None:
        self._partition = partition
        self._runtime = runtime
        self._emptied = emptied
        self._waiting: deque[_QueuedBatch] = deque()

    def add(self, records: Buffer, transaction_version: int) -> Deferred[AppendResult]:
        """Append a copy of ``records`` after all that wait. The wait fails with the KafkaErrors of ``Partition.append``, or
        NOT_LEADER_OR_FOLLOWER or UNKNOWN_TOPIC_OR_PARTITION if the partition has changed meanwhile.
        """
        one = _QueuedBatch(bytearray(records), self._partition.leader_epoch, transaction_version)
        self._runtime.memory.received.count(len(one.records))
        self._waiting.append(one)
        if len(self._waiting) == 1:
            self._begin(one)
        return one.appended

    def _begin(self, one: _QueuedBatch) -> None:
        """Begin the first that waits."""
        attempt(self._validated, one).map(lambda validated: self._append(one, validated)).fold(
            lambda done: self._finish(one, done)
        ).or_log("appending to %r", self._partition)

    def _validated(self, one: _QueuedBatch) -> Deferred[Validated]:
        self._check(one)
        log = self._partition.log
        one.now_ms = self._runtime.clock.now_ms()
        try:
            return Deferred.completed(
                validate_batch(one.records, log.config, Origin.CLIENT, one.now_ms, log.name, _Nothing())
            )
        except ContentNotRead as unread:
            return self._read(one, unread)

    def _read(self, one: _QueuedBatch, unread: ContentNotRead) -> Deferred[Validated]:
        """Read the records in a thread, once there is memory for it."""
        from pykbroker.storage.log.content import read_content, read_lengths

        runtime, log, header = self._runtime, self._partition.log, unread.header
        if unread.only_lengths:  # which needs none
            return runtime.offload(read_lengths, header, unread.records, log.config, one.now_ms, runtime.breathe)
        memory = runtime.memory
        held = max(memory.limit // _HELD_PART, _HELD_AT_LEAST)
        needed = memory_to_decompress(header.compression, unread.records) + log.config.max_message_bytes
        if log.config.compression_type != "producer":
            needed += held  # it is written anew, and a record of it is held

        def read() -> Validated:
            return read_content(
                header,
                unread.records,
                log.config,
                one.now_ms,
                log.name,
                max_held=held,
                breathe=runtime.breathe,
            )

        def over(done: Deferred[Validated]) -> Validated:
            memory.decompressed.give(needed)
            return done.value

        granted = memory.decompressed.take(needed) or Deferred.completed(None)
        return granted.chain(lambda _: attempt(runtime.offload, read).fold(over))

    def _check(self, one: _QueuedBatch) -> None:
        partition = self._partition
        if partition.deleted:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if partition.leader_epoch != one.epoch:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def _append(self, one: _QueuedBatch, validated: Validated) -> AppendResult:
        self._check(one)
        return self._partition.append_batch(
            one.records, one.now_ms, Origin.CLIENT, one.transaction_version, None, validated
        )

    def _finish(self, one: _QueuedBatch, done: Deferred[AppendResult]) -> None:
        self._runtime.memory.received.give(len(one.records))
        self._waiting.popleft()
        if not self._waiting:
            self._emptied()
        done.pass_to(one.appended)
        if self._waiting:  # in a later turn: many that are answered at once would hold this one
            self._runtime.wake_queue.add(self._go_on)

    def _go_on(self) -> None:
        self._begin(self._waiting[0])
