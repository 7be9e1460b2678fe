"""Replays batches of the metadata log or of a snapshot into an image."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pykbroker.metadata.batches import MetadataBatch
from pykbroker.metadata.delta import MetadataDelta
from pykbroker.metadata.image import MetadataImage
from pykbroker.metadata.replay import MetadataRecord, replay
from pykbroker.wire.control_records import ControlRecordType

if TYPE_CHECKING:
    from pykbroker.metadata.replay_ahead import Ahead

_BEGIN_TRANSACTION, _END_TRANSACTION, _ABORT_TRANSACTION = 23, 24, 25


class Loader:
    """Records of a metadata transaction are applied together or not at all (KIP-868). ``note`` is told of control records."""

    def __init__(self, image: MetadataImage, note: Callable[[ControlRecordType, bytes], None]) -> None:
        self.image = image
        self._note = note
        self._open: list[MetadataRecord] | None = None

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open, whose records are not in the image yet."""
        return self._open is not None

    def apply(self, batch: MetadataBatch, delta: MetadataDelta | None = None) -> None:
        """Replay a batch, and note in ``delta`` what it changed. Raises ReplayError."""
        self.image.epoch = batch.epoch
        for kind, value in batch.controls:
            self._note(kind, value)
        for record in batch.records:
            if record.API_KEY == _BEGIN_TRANSACTION:
                self._open = []
            elif record.API_KEY == _END_TRANSACTION:
                complete, self._open = self._open or [], None
                self._replay(complete, delta)
            elif record.API_KEY == _ABORT_TRANSACTION:
                self._open = None
            elif self._open is not None:
                self._open.append(record)
            else:
                self._replay([record], delta)

    def apply_ahead(self, epoch: int, ahead: Ahead, delta: MetadataDelta) -> None:
        """The same with what the records of a batch make of the image; no transaction is open. ``delta`` is a new one."""
        self.image.epoch = epoch
        ahead.apply(self.image, delta)

    def _replay(self, records: list[MetadataRecord], delta: MetadataDelta | None) -> None:
        for record in records:
            replay(self.image, record, MetadataDelta() if delta is None else delta)
