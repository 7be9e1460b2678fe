"""A copy of the metadata log, and the image that it gives, in the files of Apache Kafka (KIP-595, KIP-630).

The image has what is below the high watermark, and of a metadata transaction all or nothing. Neither the log nor the image is needed to
survive a crash whole: others have the log, and what is missing is fetched again.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pykbroker.metadata.batches import decode_batch, decode_many_records
from pykbroker.metadata.comparison import compared
from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.image import MetadataImage
from pykbroker.metadata.loading import Loader
from pykbroker.metadata.quorum import QUORUM_STATE, encode_state, read_epoch
from pykbroker.metadata.replay_ahead import seen_at_once, work_out
from pykbroker.metadata.snapshot import SnapshotId, decode_snapshot, list_snapshots, remove_older, write_snapshot
from pykbroker.runtime.slices import WEIGHT_OF_A_TURN
from pykbroker.storage.checkpoints import replace_file
from pykbroker.wire.control_records import ControlRecordType

if TYPE_CHECKING:
    from pykbroker.metadata.batches import MetadataBatch
    from pykbroker.metadata.replay import MetadataRecord
    from pykbroker.storage.disk import Disk
    from pykbroker.storage.log.log import Log
    from pykbroker.storage.log.reading import ReadPlan
    from pykbroker.wire.batch_header import BatchHeader
    from pykbroker.wire.primitives import Buffer

#: What one step applies, or one batch where that has more, which is worked out in slices: others see all of it or, of what befalls brokers
#: and partitions that are there, so many records at a time (as of changes of a controller in this process).
_RECORDS_OF_A_STEP = 100
_SEEN_AT_ONCE = 300


class MetadataReplica:
    """``load`` first. ``log`` is that of the partition ``__cluster_metadata-0`` in ``directory``; nobody else changes it, or ``image``.
    ``checkpoint`` writes the log's checkpoints, which a log that was cut needs before anything is appended to it.
    """

    def __init__(
        self, log: Log, disk: Disk, directory: str, image: MetadataImage, checkpoint: Callable[[], None]
    ) -> None:
        self.image = image
        self._log = log
        self._disk = disk
        self._directory = directory
        self._checkpoint = checkpoint
        self._loader = Loader(image, partial(_note, image))
        self._snapshot = SnapshotId(0, 0)
        #: The offset up to which batches have reached the image, or wait for the end of their transaction.
        self._applied = 0
        #: What is left of the batch there, some of which is seen.
        self._left: list[MetadataRecord] = []

    @property
    def is_amid_batch(self) -> bool:
        """Whether the image has the beginning of a batch whose rest follows in the next steps; its offset is that before the batch."""
        return bool(self._left)

    @property
    def start_offset(self) -> int:
        """The first offset in the log; a snapshot has what is before it."""
        return self._log.log_start_offset

    @property
    def end_offset(self) -> int:
        """See ``ObservedLog``."""
        return self._log.log_end_offset

    @property
    def last_epoch(self) -> int:
        """See ``ObservedLog``."""
        return max(self._log.epochs.latest, self._snapshot.epoch)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """See ``ObservedLog``."""
        return self._log.end_offset_for_epoch(epoch)

    @property
    def snapshot(self) -> SnapshotId:
        """The newest snapshot, which has committed records only; 0 for both if there is none."""
        return self._snapshot

    @property
    def known_epoch(self) -> int:
        """The last leader epoch that this node knew."""
        return max(read_epoch(self._disk, self._directory), self.last_epoch)

    def load(self) -> None:
        """Bring the image to the newest snapshot; what the log has after it waits until it is known to be committed. A log that does not
        reach the snapshot is dropped: a crash came between both. Raises WireError or ReplayError if the snapshot is corrupt.
        """
        snapshots = list_snapshots(self._disk, self._directory)
        if snapshots:
            path = posixpath.join(self._directory, snapshots[-1].file_name)
            self.install(snapshots[-1], self._filled(snapshots[-1], self._disk.read(path)))
        if not self._log.log_start_offset <= self._snapshot.offset <= self._log.log_end_offset:
            self._log.start_over(self._snapshot.offset)
            self._checkpoint()

    def plan_read(self, offset: int, max_bytes: int, upper_offset: int) -> ReadPlan | None:
        """See ``Log.plan_read``."""
        return self._log.plan_read(offset, max_bytes, upper_offset=upper_offset)

    def note_leader(self, leader_id: int, epoch: int, static_voters: Sequence[int] | None) -> None:
        """Write ``quorum-state``."""
        path = posixpath.join(self._directory, QUORUM_STATE)
        replace_file(self._disk, path, encode_state(leader_id, epoch, static_voters))

    def append(self, records: Buffer, leader_epoch: int, now_ms: int) -> None:
        """Append what was fetched in ``leader_epoch``. Raises what ``Log.append_as_follower`` raises."""
        self._log.append_as_follower(records, leader_epoch=leader_epoch, now_ms=now_ms)

    def truncate(self, offset: int) -> None:
        """Cut the log, and sync that. What is cut has not reached the image. In any thread; nothing is appended meanwhile."""
        self._log.truncate_to(offset)
        self._checkpoint()

    def write_snapshot(self, snapshot: SnapshotId, data: bytes) -> MetadataImage:
        """Put a fetched snapshot in place of the log; the image that it gives, to ``install``. In any thread. Raises WireError or
        ReplayError if it is corrupt: nothing has changed then.
        """
        fresh = self._filled(snapshot, data)
        write_snapshot(self._disk, self._directory, snapshot, data)
        self._log.start_over(snapshot.offset)
        self._checkpoint()
        remove_older(self._disk, self._directory, snapshot)
        return fresh

    def apply(self, high_watermark: int) -> Generator[float, None, tuple[MetadataDelta, int]]:
        """Bring the image some batches nearer to the high watermark, or by one that has many records, or some of these; what changed, and the
        number of records, 0 when there is no more. Raises WireError or ReplayError.
        """
        self._log.commit_to(high_watermark)
        delta, image, count = MetadataDelta(), self.image, 0
        for header, data in self._log.batches(self._applied):
            is_large = header.record_count > _RECORDS_OF_A_STEP
            if header.last_offset >= high_watermark or count >= _RECORDS_OF_A_STEP or (count and is_large):
                break
            if is_large:
                seen = yield from self._apply_many(header, data, delta)
                if self._left:
                    return delta, seen
            else:
                self._loader.apply(decode_batch(header, data), delta)
            self._applied = header.last_offset + 1
            count += header.record_count
            if not self._loader.in_transaction:
                image.offset = header.last_offset
        return delta, count

    def _apply_many(self, header: BatchHeader, data: Buffer, delta: MetadataDelta) -> Generator[float, None, int]:
        """Work out what a batch, or what is left of it, makes of the image, which stays as it is meanwhile, and let all or some of that be seen
        at once; of how many records.
        """
        if not self._left:
            batch = yield from decode_many_records(header, data)
            if self._loader.in_transaction or seen_at_once(batch.records, _SEEN_AT_ONCE) == len(batch.records):
                yield from self._apply_whole(batch, delta)
                return header.record_count
            self._left = batch.records
        some, self._left = self._left[:_SEEN_AT_ONCE], self._left[_SEEN_AT_ONCE:]
        ahead = yield from work_out(self.image, some)
        assert ahead is not None  # of these kinds of records
        yield WEIGHT_OF_A_TURN  # that this is seen is enough for one
        self._loader.apply_ahead(header.partition_leader_epoch, ahead, delta)
        return len(some)

    def _apply_whole(self, batch: MetadataBatch, delta: MetadataDelta) -> Generator[float, None, None]:
        ahead = None if self._loader.in_transaction else (yield from work_out(self.image, batch.records))
        if ahead is None:
            self._loader.apply(batch, delta)
        else:
            self._loader.apply_ahead(batch.epoch, ahead, delta)

    def _filled(self, snapshot: SnapshotId, data: bytes) -> MetadataImage:
        image = MetadataImage(self.image.cluster_id)
        loader = Loader(image, partial(_note, image))
        for batch in decode_snapshot(data):
            loader.apply(batch)
        image.offset, image.epoch = snapshot.offset - 1, snapshot.epoch
        return image

    def install(self, snapshot: SnapshotId, fresh: MetadataImage) -> MetadataDelta:
        """Bring the image to a snapshot that has been written; what changed."""
        delta = compared(self.image, fresh)
        self.image.become(fresh)
        self._loader = Loader(self.image, partial(_note, self.image))
        self._snapshot, self._applied, self._left = snapshot, snapshot.offset, []
        return delta


def _note(image: MetadataImage, kind: ControlRecordType, value: bytes) -> None:
    """Note a control record: an observer needs kraft.version of them, and learns the leader from answers."""
    if kind is ControlRecordType.KRAFT_VERSION:
        from pykbroker.wire.internal.kraft_version_record import KRaftVersionRecord

        image.kraft_version = KRaftVersionRecord.decode(value, 0, 0)[0].kraft_version
