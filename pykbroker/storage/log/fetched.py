"""Batches that a follower fetched from its leader, checked before they are appended (Kafka's UnifiedLog.appendAsFollower)."""

from __future__ import annotations

from collections.abc import Callable

from pykbroker.storage.index.aborted import AbortedTxn
from pykbroker.storage.log import trimming
from pykbroker.storage.log.state import LogState
from pykbroker.wire.batch_header import HEADER_SIZE, BatchHeader, batch_crc_ok, read_batch_header
from pykbroker.wire.control_records import decode_end_txn_marker
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.records import decode_records

#: The largest offset that a log may end at.
_LAST_END = 2**63 - 1

Write = Callable[[BatchHeader, Buffer, int, int, "AbortedTxn | None"], None]


def fetched_batches(records: Buffer, leader_epoch: int, log_name: str) -> list[tuple[BatchHeader, Buffer]]:
    """The whole batches at the beginning of ``records``, with their bytes; a last one that is cut off is left out.

    A batch of a later epoch than ``leader_epoch``, in which was fetched, ends them: the leader may have become a follower after it
    took the request, and truncated its log before it answered (KAFKA-18723). Offsets rise, with gaps where the leader compacted.
    Raises KafkaError CORRUPT_MESSAGE for bytes that are no batches, a wrong checksum, or offsets that fall or that no log can have.
    """
    view, position, end = memoryview(records), 0, len(records)
    batches: list[tuple[BatchHeader, Buffer]] = []
    expected = 0
    while end - position >= HEADER_SIZE:
        try:
            header = read_batch_header(view, position)
        except WireError as error:
            raise _corrupt(f"what the leader of {log_name} sent is no record batch: {error}") from None
        size = header.size
        if size > end - position:
            break
        if header.partition_leader_epoch > leader_epoch:
            break
        if not batch_crc_ok(view, position, size):
            raise _corrupt(f"the batch at offset {header.base_offset} of {log_name} has a wrong checksum")
        if header.base_offset < expected or header.last_offset_delta < 0 or header.last_offset >= _LAST_END:
            raise _corrupt(
                f"the offsets {header.base_offset} to {header.last_offset} of {log_name} come after {expected - 1}"
            )
        batches.append((header, view[position : position + size]))
        expected, position = header.last_offset + 1, position + size
    return batches


def append_fetched(log: LogState, batches: list[tuple[BatchHeader, Buffer]], now_ms: int, write: Write) -> int:
    """See ``Log.append_as_follower``; ``write`` is that log's."""
    if batches and batches[0][0].base_offset < log.log_end_offset:
        _begin_within(log, batches[0][0])
    size = 0
    for header, data in batches:
        marker = aborted = None
        if header.producer_id >= 0 and header.is_control and header.record_count:  # an empty one is left by compaction
            marker = decode_end_txn_marker(decode_records(data, header=header)[0])
            aborted = log.producers.aborted_by(header, marker)
        write(header, data, header.partition_leader_epoch, now_ms, aborted)
        if header.is_control and marker is None:
            log.producers.skip_to(header.last_offset + 1)
        else:
            log.producers.note(header, marker)
        size += header.size
    log.commit_to(log.log_start_offset)  # what was deleted was committed
    return size


def _begin_within(log: LogState, first: BatchHeader) -> None:
    """The first batch begins before the log end offset: an empty log begins with it, and is read from where it began before."""
    end = log.log_end_offset
    if log.log_start_offset != end or first.last_offset < end:
        raise _corrupt(f"the batch at offset {first.base_offset} of {log.name} is before its end, which is {end}")
    log.unpin()
    trimming.start_over(log, first.base_offset, end)


def _corrupt(message: str) -> KafkaError:
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, message)
