"""Metadata snapshots: files that replace the log up to an offset (KIP-630).

``<offset>-<epoch>.checkpoint`` has the state of the records below ``offset``, of which the last was written in ``epoch``. A
header control record comes first and a footer last; a file without a footer is incomplete and ignored.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pykbroker.metadata.batches import MetadataBatch, decode_batches, encode_controls, encode_records
from pykbroker.metadata.replay import MetadataRecord
from pykbroker.storage.checkpoints import replace_file
from pykbroker.wire.control_records import ControlRecordType
from pykbroker.wire.errors import WireError
from pykbroker.wire.message import Message

if TYPE_CHECKING:
    from pykbroker.storage.disk import Disk

#: The snapshot of a newly formatted log directory: initial feature levels.
BOOTSTRAP = "bootstrap.checkpoint"

_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_RECORDS_PER_BATCH = 1024


class SnapshotId(NamedTuple):
    """The end offset (exclusive) and epoch of a snapshot. Ordered by offset."""

    offset: int
    epoch: int

    @property
    def file_name(self) -> str:
        return f"{self.offset:020d}-{self.epoch:010d}.checkpoint"


def list_snapshots(disk: Disk, directory: str) -> list[SnapshotId]:
    """The snapshots in a directory, oldest first."""
    found = (_NAME.fullmatch(name) for name in disk.list(directory))
    return sorted(SnapshotId(int(match[1]), int(match[2])) for match in found if match is not None)


def encode_snapshot(
    records: Iterable[MetadataRecord],
    *,
    epoch: int,
    last_contained_ms: int,
    now_ms: int,
    controls: Sequence[tuple[ControlRecordType, Message, int]] = (),
) -> bytes:
    """A snapshot file. ``last_contained_ms`` is the timestamp of the last batch that it replaces."""
    from pykbroker.wire.internal.snapshot_footer_record import SnapshotFooterRecord
    from pykbroker.wire.internal.snapshot_header_record import SnapshotHeaderRecord

    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=last_contained_ms)
    opening = [(ControlRecordType.SNAPSHOT_HEADER, header, 0), *controls]
    out = bytearray(encode_controls(opening, base_offset=0, epoch=epoch, timestamp=now_ms))
    offset = len(opening)
    pending: list[MetadataRecord] = []
    for record in records:
        pending.append(record)
        if len(pending) == _RECORDS_PER_BATCH:
            out += encode_records(pending, base_offset=offset, epoch=epoch, timestamp=now_ms)
            offset += len(pending)
            pending = []
    if pending:
        out += encode_records(pending, base_offset=offset, epoch=epoch, timestamp=now_ms)
        offset += len(pending)
    footer = (ControlRecordType.SNAPSHOT_FOOTER, SnapshotFooterRecord(version=0), 0)
    out += encode_controls([footer], base_offset=offset, epoch=epoch, timestamp=now_ms)
    return bytes(out)


def decode_snapshot(data: bytes) -> list[MetadataBatch]:
    """The batches between header and footer, the header's included. Raises WireError if corrupt or incomplete."""
    batches = list(decode_batches(data))
    kinds = [[kind for kind, _ in batch.controls] for batch in batches]
    if not kinds or kinds[0][:1] != [ControlRecordType.SNAPSHOT_HEADER]:
        raise WireError("a snapshot of the metadata without a header")
    if kinds[-1][-1:] != [ControlRecordType.SNAPSHOT_FOOTER]:
        raise WireError("a snapshot of the metadata without a footer")
    return batches[:-1]


def write_snapshot(disk: Disk, directory: str, snapshot: SnapshotId, data: bytes) -> None:
    """Write a snapshot atomically: after a crash it exists completely or not at all."""
    replace_file(disk, posixpath.join(directory, snapshot.file_name), data)


def remove_older(disk: Disk, directory: str, latest: SnapshotId) -> None:
    """Remove the snapshots older than ``latest``."""
    for snapshot in list_snapshots(disk, directory):
        if snapshot < latest:
            disk.remove(posixpath.join(directory, snapshot.file_name))
