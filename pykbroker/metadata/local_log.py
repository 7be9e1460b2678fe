"""The metadata log on this machine's disk, in Apache Kafka's own form (KIP-595, KIP-630, KIP-631).

``__cluster_metadata-0`` holds the log's segments, snapshots and the quorum's state. Each start of the process opens a
new leader epoch with a LeaderChange record; changes are appended in that epoch, one batch for each.
"""

from __future__ import annotations

import contextlib
import logging
import posixpath
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

from pykbroker.metadata.batches import (
    MAX_RECORDS_PER_BATCH,
    decode_batch,
    encode_controls,
    encode_many_records,
    encode_records,
)
from pykbroker.metadata.image import MetadataImage
from pykbroker.metadata.loading import Loader
from pykbroker.metadata.quorum import Quorum, read_epoch, sets_voters, voter_controls
from pykbroker.metadata.replay import MetadataRecord, ReplayError
from pykbroker.metadata.snapshot import (
    SnapshotId,
    decode_snapshot,
    encode_snapshot,
    list_snapshots,
    remove_older,
    write_snapshot,
)
from pykbroker.storage.log.validate import Origin
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.runtime.clock import Clock
    from pykbroker.storage.disk import Disk
    from pykbroker.storage.log.log import Log
    from pykbroker.storage.log.reading import ReadPlan

logger = logging.getLogger(__name__)


class LocalLog:
    """The metadata log: ``load`` first, then ``open_epoch``, then ``append``.

    A snapshot is due when the log since the last one is longer than ``snapshot_bytes`` and than that snapshot: so writing
    snapshots costs no more than writing the log.
    """

    def __init__(
        self, log: Log, disk: Disk, directory: str, quorum: Quorum, clock: Clock, *, snapshot_bytes: int
    ) -> None:
        self.epoch = 0
        self.quorum = quorum
        self._log = log
        self._disk = disk
        self._directory = directory
        self._clock = clock
        self._last_ms = 0
        self._bytes_between_snapshots = snapshot_bytes
        self._bytes_since_snapshot = 0
        self._snapshot_bytes = 0
        self._written = SnapshotId(0, 0)
        #: The error of the last append if it was written in part, which ``sync`` then takes back.
        self._cut_short: KafkaError | None = None

    @property
    def end_offset(self) -> int:
        """The offset that the next record will get."""
        return self._log.log_end_offset

    @property
    def start_offset(self) -> int:
        """The first offset in the log; a snapshot has what is before it."""
        return self._log.log_start_offset

    def plan_read(self, offset: int, max_bytes: int, upper_offset: int) -> ReadPlan | None:
        """A read of whole batches, for inspection. See ``Log.plan_read``."""
        return self._log.plan_read(offset, max_bytes, upper_offset=upper_offset)

    def load(self, image: MetadataImage) -> None:
        """Bring an empty image to the end of the log: from the newest snapshot on.

        Raises WireError or ReplayError if the log is corrupt, ForeignQuorumError if it is not this node's alone.
        """
        loader = Loader(image, self.quorum.note)
        snapshots = list_snapshots(self._disk, self._directory)
        if snapshots:
            self._load_snapshot(loader, snapshots[-1])
        start = image.offset + 1
        if self._log.log_start_offset > start:
            raise ReplayError(
                f"the metadata log begins at offset {self._log.log_start_offset}, and no snapshot covers what is before"
            )
        if start > self.end_offset:
            raise ReplayError(f"the metadata log ends at offset {self.end_offset}, before its snapshot at {start}")
        for header, data in self._log.batches(start):
            loader.apply(decode_batch(header, data))
            self._last_ms = header.max_timestamp
            self._bytes_since_snapshot += header.size
        image.offset = self.end_offset - 1

    def open_epoch(self, image: MetadataImage) -> None:
        """Begin a new leader epoch, above those of the log and of the quorum's state."""
        self.epoch = max(image.epoch, read_epoch(self._disk, self._directory), 0) + 1
        self.quorum.write_state(self._disk, self._directory, self.epoch)
        self._last_ms = self._clock.now_ms()
        controls = [self.quorum.leader_change()]
        if self.end_offset == 0:
            controls += self.quorum.voter_controls()
        self._append(encode_controls(controls, base_offset=self.end_offset, epoch=self.epoch, timestamp=self._last_ms))
        self._log.flush()
        image.offset = self.end_offset - 1
        image.epoch = self.epoch

    def append(self, records: Sequence[MetadataRecord]) -> int:
        """Write the records; ``sync`` makes them durable. Returns the first offset. Raises KafkaError KAFKA_STORAGE_ERROR.

        They are one batch, which a crash leaves whole or not at all; only more than ``MAX_RECORDS_PER_BATCH`` records
        (leaders of very many partitions, never one request) become several. If only some of these can be written, ``sync``
        takes them back and fails, since that waits for the disk. A voters record stands alone, and turns static voters into
        dynamic ones: two control records (KIP-853).
        """
        self._last_ms = self._clock.now_ms()
        return self.append_encoded(self._encode(records, self.end_offset))

    def encode(self, records: Sequence[MetadataRecord]) -> Generator[float, None, list[bytes]]:
        """The batches of many records in slices, for ``append_encoded``; nothing is appended meanwhile."""
        self._last_ms = self._clock.now_ms()
        batches = []
        for start in range(0, len(records), MAX_RECORDS_PER_BATCH):
            some = records[start : start + MAX_RECORDS_PER_BATCH]
            first = self.end_offset + start
            batch = yield from encode_many_records(some, base_offset=first, epoch=self.epoch, timestamp=self._last_ms)
            batches.append(batch)
        return batches

    def append_encoded(self, batches: Sequence[bytes]) -> int:
        """Write the batches as ``append`` does. Returns the first offset. Raises KafkaError KAFKA_STORAGE_ERROR."""
        first = self.end_offset
        for batch in batches:
            try:
                self._append(batch)
            except KafkaError as error:
                if self.end_offset == first:
                    raise
                self._cut_short = error
                break
        return first

    def sync(self, first: int) -> None:
        """Sync what was appended from offset ``first`` on, or take it back. In any thread, which waits for the disk; nothing
        is appended meanwhile. Raises KafkaError KAFKA_STORAGE_ERROR.
        """
        cut_short, self._cut_short = self._cut_short, None
        try:
            if cut_short is not None:
                raise cut_short
            self._log.flush()
        except KafkaError:
            self.take_back(first)
            raise

    def take_back(self, first: int) -> None:
        """Truncate the log to offset ``first``, so that the next start does not replay the rest."""
        self._cut_short = None
        with contextlib.suppress(KafkaError):  # then the log directory is offline, and nothing more is appended
            self._log.truncate_to(first)

    @property
    def snapshot_due(self) -> bool:
        """Whether a snapshot is worth writing (see the class)."""
        return self._bytes_since_snapshot > max(self._bytes_between_snapshots, self._snapshot_bytes)

    def write_snapshot(self, image: MetadataImage) -> None:
        """Write a snapshot of the image, which must be at the log end and not change meanwhile. In any thread, which waits for
        the disk. Call ``snapshot_ended`` afterwards, with the error if it raises one.
        """
        from pykbroker.metadata.image_records import image_records

        snapshot = SnapshotId(image.offset + 1, image.epoch)
        data = encode_snapshot(
            image_records(image),
            epoch=snapshot.epoch,
            last_contained_ms=self._last_ms,
            now_ms=self._clock.now_ms(),
            controls=self.quorum.voter_controls(),
        )
        write_snapshot(self._disk, self._directory, snapshot, data)
        remove_older(self._disk, self._directory, snapshot)
        self._snapshot_bytes = len(data)
        self._written = snapshot

    def snapshot_ended(self, error: BaseException | None) -> None:
        """Remove what the snapshot replaces, or log the ``error`` with which it failed."""
        self._bytes_since_snapshot = 0
        if error is None:
            try:
                self._let_go()
            except (OSError, KafkaError) as failed:
                error = failed
        if error is not None:
            logger.error(
                "Metadata snapshot cannot be written; the metadata log keeps all of it, and grows", exc_info=error
            )

    def _let_go(self) -> None:
        """Remove segments on the loop, as in every log: files are created and renamed, and the next flush syncs them. Nothing
        here waits for a sync.
        """
        self._log.roll(self._clock.now_ms())  # so that whole segments are before the snapshot, and can be removed
        self._log.commit_to(self._written.offset)  # a snapshot has committed records only
        self._log.delete_records_before(self._written.offset)

    def _encode(self, records: Sequence[MetadataRecord], first: int) -> list[bytes]:
        if sets_voters(records[0]):
            controls = voter_controls(records[0])
            return [encode_controls(controls, base_offset=first, epoch=self.epoch, timestamp=self._last_ms)]
        return [
            encode_records(
                records[start : start + MAX_RECORDS_PER_BATCH],
                base_offset=first + start,
                epoch=self.epoch,
                timestamp=self._last_ms,
            )
            for start in range(0, len(records), MAX_RECORDS_PER_BATCH)
        ]

    def _append(self, batch: bytes) -> None:
        self._log.append_as_leader(batch, leader_epoch=self.epoch, now_ms=self._last_ms, origin=Origin.COORDINATOR)
        self._bytes_since_snapshot += len(batch)

    def _load_snapshot(self, loader: Loader, snapshot: SnapshotId) -> None:
        data = self._disk.read(posixpath.join(self._directory, snapshot.file_name))
        for batch in decode_snapshot(data):
            loader.apply(batch)
        loader.image.offset = snapshot.offset - 1
        loader.image.epoch = snapshot.epoch
        self._snapshot_bytes = len(data)
