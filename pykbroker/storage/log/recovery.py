"""Opening a log's directory: after a clean shutdown from its checkpoints, after a kill by reading from the recovery point.

Data before the recovery point was synced and is trusted. After it every batch is checked: length, checksum, rising offsets.
The log is truncated at the first invalid batch, and indexes, transaction index, epochs and producer states are rebuilt from
what was read. Interrupted operations are completed or removed, as by Kafka's LogLoader.
"""

from __future__ import annotations

import logging

from pykbroker.storage.checkpoints import LEADER_EPOCHS, CorruptCheckpointError, decode_epochs
from pykbroker.storage.directory import COMPACTED, SEGMENT_SUFFIXES, SWAP, mark_compacted
from pykbroker.storage.log.epochs import LeaderEpochs
from pykbroker.storage.log.leftovers import offset_in, remove_leftovers
from pykbroker.storage.log.segment import Segment
from pykbroker.storage.log.snapshots import (
    drop_snapshots,
    load_snapshot,
    replay_batch,
    restore_producers,
    snapshot_path,
)
from pykbroker.storage.log.state import LogState
from pykbroker.storage.log.trimming import count_before, discard, drop_segments, make_segment

logger = logging.getLogger(__name__)


def load(
    log: LogState,
    *,
    clean: bool,
    recovery_point: int,
    log_start_offset: int,
    compacted_to: int,
    high_watermark: int | None = None,
) -> None:
    """Fill ``log`` from its directory, which must exist. Raises OSError, or OldFormatError before anything is cut.

    ``recovery_point``, ``log_start_offset`` and ``compacted_to`` are those of the checkpoints, else 0. ``high_watermark`` is that of its
    checkpoint if the partition has other replicas, which may not have the rest; without others all that is found is committed.
    """
    names = _tidy(log, log.directory.disk.list(log.path))
    segments = _found_segments(log, names)
    segments[0].refuse_old_format()  # old formats can only be at the beginning
    epochs = _found_epochs(log, names)
    log.begin_with(
        segments,
        (offset_in(name) for name in names if name.endswith(".snapshot") and offset_in(name) >= 0),
        epochs or LeaderEpochs(),
        log_start_offset=max(log_start_offset, segments[0].base_offset),
        recovery_point=0 if epochs is None else recovery_point,
    )
    # Segments that retention removed and a power loss restored.
    drop_segments(log, count_before(log, log.log_start_offset))
    clean = clean and epochs is not None and _load_end(log)
    if not clean:
        gaps = log.config.compact or COMPACTED in names
        _recover(log, gaps_to=2**63 if gaps else max(compacted_to, recovery_point))
    if log.log_end_offset < log.log_start_offset:
        _begin_at_log_start(log)
    log.end_at(log.log_end_offset)
    log.start_at(log.log_start_offset)
    log.commit_to(log.log_end_offset if high_watermark is None else min(high_watermark, log.log_end_offset))
    _remove_stray_snapshots(log)
    if clean:
        restore_producers(log)
        log.mark_flushed(log.log_end_offset, log.first_unstable_offset)


def _tidy(log: LogState, names: list[str]) -> set[str]:
    """Remove files of interrupted deletions and writes, complete an interrupted compaction; returns the remaining names."""
    disk = log.directory.disk
    kept = remove_leftovers(disk, log.path, names)
    if any(name.endswith(SWAP) for name in kept):
        mark_compacted(disk, log.path)
        for base in sorted(offset_in(name) for name in kept if name.endswith(".log" + SWAP)):
            _complete_swap(log, base, kept)
        kept = set(disk.list(log.path))
    for name in sorted(kept):
        stem, _, kind = name.partition(".")
        if f".{kind}" in SEGMENT_SUFFIXES[1:] and f"{stem}.log" not in kept and offset_in(name) >= 0:
            disk.remove(f"{log.path}/{name}")
            kept.discard(name)
    return kept


def _complete_swap(log: LogState, base: int, names: set[str]) -> None:
    """Replace the segments that a compacted one covers by it."""
    segment = Segment(log.directory.disk, log.path, base, suffix=SWAP)
    end = segment.end()[0]
    # The .index is renamed first. Once it is, the files with the same base offset are the new segment's.
    begun = f"{base:020d}.index{SWAP}" not in names
    for name in sorted(names):
        if name.endswith(SEGMENT_SUFFIXES) and (
            base < offset_in(name) < end or (offset_in(name) == base and not begun)
        ):
            log.directory.disk.remove(f"{log.path}/{name}")
    segment.rename("")
    segment.close()


def _found_segments(log: LogState, names: set[str]) -> list[Segment]:
    """The segments with files; a new one if there is none."""
    disk, now_ms = log.directory.disk, log.directory.clock.now_ms()
    bases = sorted(offset_in(name) for name in names if name.endswith(".log") and offset_in(name) >= 0)
    if bases:
        return [
            Segment(disk, log.path, base, has_aborted=f"{base:020d}.txnindex" in names, created_ms=now_ms)
            for base in bases
        ]
    made = make_segment(log, 0, now_ms)
    log.must_sync([log.path, made.log.path])
    return [made]


def _found_epochs(log: LogState, names: set[str]) -> LeaderEpochs | None:
    """The checkpoint's epochs; None if it is corrupt, so that they are rebuilt from all batches."""
    if LEADER_EPOCHS not in names:
        return LeaderEpochs()
    try:
        return LeaderEpochs(decode_epochs(log.directory.disk.read(f"{log.path}/{LEADER_EPOCHS}")))
    except CorruptCheckpointError as error:
        logger.warning("%s of %s is corrupt (%s): it is rebuilt from the whole log", LEADER_EPOCHS, log.name, error)
        return None


def _load_end(log: LogState) -> bool:
    """Find the log end offset after a clean shutdown; False if the last segment does not end with a whole batch."""
    active = log.active
    end_offset, position = active.end()
    log.extend_to(end_offset)
    active.first_batch_timestamp()
    return position == active.size


def _recover(log: LogState, gaps_to: int) -> None:
    """Read everything from the segment with the recovery point on; truncate the log at the first invalid batch.

    Up to ``gaps_to`` gaps between segments are compaction's, or were synced so.
    """
    # One offset back: if a segment begins at the recovery point, the one before it may have been closed, and its
    # indexes completed, after the last flush.
    number = log.segment_number(max(log.recovery_point - 1, log.log_start_offset))
    segments = log.segments
    expected = segments[number].base_offset
    log.extend_to(expected)
    _restore_before(log, number)
    # Later snapshots are rebuilt. One that a truncation removed may be restored by a power loss, with the state
    # of other batches.
    drop_snapshots(log, [offset for offset in log.snapshots if offset > expected])
    for index in range(number, len(segments)):
        segment = segments[index]
        if segment.base_offset > expected:
            # Compaction leaves gaps. Otherwise a power loss kept the next segment, but not
            # the end of this one.
            if segment.base_offset > gaps_to:
                _cut_behind(log, index)
                break
            # Marked in the log's directory: the policy may change, and checkpoints may be lost.
            mark_compacted(log.directory.disk, log.path)
            drop_snapshots(log, [offset for offset in log.snapshots if offset > expected])
        size = segment.size
        expected, end = _recover_segment(log, segment, max(expected, segment.base_offset))
        log.extend_to(expected)
        if end < size:
            logger.warning(
                "Segment %s is truncated at offset %d: its last %d bytes are not valid batches",
                segment.log.path,
                expected,
                size - end,
            )
            following = segments[index + 1 : index + 2]
            # A preallocated file is trimmed before the next segment begins; a power loss may undo that. No batch is
            # missing between them then.
            if not following or following[0].base_offset != log.log_end_offset:
                _cut_behind(log, index + 1)
                break
    log.must_sync([log.path])
    log.must_sync([snapshot_path(log, offset) for offset in log.snapshots])
    for segment in log.segments[number:]:
        log.must_sync(segment.paths())
    log.producers.skip_to(log.log_end_offset)


def _cut_behind(log: LogState, number: int) -> None:
    """Remove the segments from ``number`` on, since records before them were lost.

    The removal is synced: another power loss must not restore them after batches that are appended from now on.
    """
    lost = log.segments[number:]
    log.replace_segments(lost, [])
    for segment in lost:
        logger.warning("Segment %s is deleted, since records before it are lost", segment.log.path)
        discard(log, segment)
    log.active.log.sync()
    log.directory.disk.sync_directory(log.path)


def _restore_before(log: LogState, number: int) -> None:
    """Restore the producer states at the beginning of segment ``number``."""
    base = log.segments[number].base_offset
    log.producers.clear(log.log_start_offset)
    load_snapshot(log, base)
    start = log.producers.end_offset
    if start < base:
        for segment in log.segments[log.segment_number(start) : number]:
            for _, header, data in segment.batches():
                if header.last_offset >= start:
                    replay_batch(log, header, data, None)


def _recover_segment(log: LogState, segment: Segment, expected: int) -> tuple[int, int]:
    """Check and index the batches; returns (offset after the last valid one, its end in the file)."""
    segment.begin_rebuild()
    segment.aborted.reset()
    end = 0
    for position, header, data in segment.batches(checked=True):
        if header.base_offset < expected or header.last_offset_delta < 0:
            break
        segment.index_batch(position, header, log.config)
        # Also below the log start: as in Kafka, a producer whose records were deleted is known as long as they are in a file.
        replay_batch(log, header, data, segment)
        expected, end = header.last_offset + 1, position + header.size
    if end < segment.size:
        segment.take_back(end)
    segment.finish()
    return expected, end


def _begin_at_log_start(log: LogState) -> None:
    """The log ends before its log start offset: files were lost. An empty segment at the start replaces them."""
    logger.warning(
        "Log %s ends at offset %d, before its log start offset %d: its records are removed, and it is empty now",
        log.name,
        log.log_end_offset,
        log.log_start_offset,
    )
    for segment in log.segments:
        discard(log, segment)
    log.replace_segments(log.segments, [make_segment(log, log.log_start_offset, log.directory.clock.now_ms())])
    log.must_sync([log.active.log.path])
    log.extend_to(log.log_start_offset)
    log.epochs.clear()
    log.producers.clear(log.log_start_offset)


def _remove_stray_snapshots(log: LogState) -> None:
    """Remove snapshots that are neither at the beginning of a segment nor at the end of the log."""
    bases = {segment.base_offset for segment in log.segments}
    end = log.log_end_offset
    newest = max((offset for offset in log.snapshots if offset <= end), default=-1)
    drop_snapshots(log, [at for at in log.snapshots if at > end or (at not in bases and at != newest)])
