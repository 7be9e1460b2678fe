"""Producer states in .snapshot files, and their restoration from a snapshot and the batches after it."""

from __future__ import annotations

import logging
from collections.abc import Collection

from pykbroker.storage.log.producers import CorruptSnapshotError
from pykbroker.storage.log.segment import Segment, segment_name
from pykbroker.storage.log.state import LogState
from pykbroker.wire.batch_header import BatchHeader
from pykbroker.wire.control_records import decode_end_txn_marker
from pykbroker.wire.primitives import Buffer
from pykbroker.wire.records import decode_records

logger = logging.getLogger(__name__)


def write_snapshot(log: LogState) -> None:
    """Write the producer states at the log end offset, unless that file exists. Raises OSError."""
    offset = log.log_end_offset
    if log.snapshots and log.snapshots[-1] == offset:
        return
    path = snapshot_path(log, offset)
    log.directory.disk.write(path, log.producers.encode(), sync=False)
    log.add_snapshot(offset)
    log.must_sync([path])


def snapshot_path(log: LogState, offset: int) -> str:
    """The name of the .snapshot file at ``offset``."""
    return f"{log.path}/{segment_name(offset)}.snapshot"


def drop_snapshots(log: LogState, unwanted: Collection[int]) -> None:
    """Remove the producer snapshots at these offsets. Raises KafkaError KAFKA_STORAGE_ERROR."""
    log.forget_snapshots(unwanted)
    try:
        for offset in unwanted:
            log.directory.disk.remove(snapshot_path(log, offset))
    except OSError as error:
        raise log.directory.failed(error, f"removing a producer snapshot of {log.name}") from error


def replay_batch(log: LogState, header: BatchHeader, data: Buffer, segment: Segment | None) -> None:
    """Apply a batch that is read again; aborted transactions are added to ``segment``'s index, if given. Raises OSError."""
    if header.partition_leader_epoch > log.epochs.latest:
        log.epochs.assign(header.partition_leader_epoch, header.base_offset)
    marker = None
    if header.producer_id >= 0 and header.is_control:
        if header.record_count == 0:
            # Compaction keeps such a batch for its offset only; its transaction has ended.
            log.producers.skip_to(header.last_offset + 1)
            return
        marker = decode_end_txn_marker(decode_records(data, header=header)[0])
        aborted = log.producers.aborted_by(header, marker)
        if aborted is not None and segment is not None:
            segment.aborted.append(aborted)
    log.producers.note(header, marker)


def restore_producers(log: LogState) -> None:
    """Restore the producer states at the log end offset from the newest valid snapshot and the batches after it."""
    uncommitted = log.producers.uncommitted_ends.copy()  # which no snapshot contains
    log.producers.clear(log.log_start_offset)
    load_snapshot(log, log.log_end_offset)
    if log.producers.end_offset < log.log_end_offset:
        for header, data in log.batches(log.producers.end_offset):
            replay_batch(log, header, data, None)
    log.producers.skip_to(log.log_end_offset)
    left = {marker: first for marker, first in uncommitted.items() if marker < log.log_end_offset}
    log.producers.uncommitted_ends.update(left)
    log.producers.committed_to(log.high_watermark)


def load_snapshot(log: LogState, limit: int) -> None:
    """Load the newest snapshot not above ``limit``; corrupt ones are removed."""
    while usable := [offset for offset in log.snapshots if log.log_start_offset < offset <= limit]:
        path = snapshot_path(log, usable[-1])
        try:
            log.producers.decode(log.directory.disk.read(path), usable[-1])
            return
        except CorruptSnapshotError as error:
            logger.warning("Producer snapshot %s is corrupt (%s) and deleted", path, error)
            log.directory.disk.remove(path)
            log.forget_snapshots(usable[-1:])
