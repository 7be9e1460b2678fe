"""One partition of ``__share_group_state``: the states of its share partitions, and the decisions about them.

A state begins with a snapshot. Changes are updates, and after ``updates_per_snapshot`` of them a snapshot again, so that the log
before the oldest snapshot in use can be removed (``redundant_before``). Source of the rules: Apache Kafka 4.4.0's
ShareCoordinatorShard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pykbroker.coordination.outcome import CoordinatorRecord
from pykbroker.coordination.shard import Shard
from pykbroker.coordination.share.records import batches_of, key_of, snapshot, state_of, tombstone, update
from pykbroker.coordination.share.state import ARCHIVING, UNINITIALIZED, SharePartitionKey, ShareState, combine
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.internal.share_snapshot import ShareSnapshotKey
from pykbroker.wire.internal.share_update import ShareUpdateKey

if TYPE_CHECKING:
    from pykbroker.coordination.share.settings import ShareCoordinatorSettings


class ShareShard(Shard):
    """See the module. Only ``replay`` changes the states."""

    def __init__(self, settings: ShareCoordinatorSettings) -> None:
        self._settings = settings
        self.states: dict[SharePartitionKey, ShareState] = {}
        #: The highest epochs seen, which a request must not be behind.
        self._leader_epochs: dict[SharePartitionKey, int] = {}
        self._state_epochs: dict[SharePartitionKey, int] = {}
        self._updates: dict[SharePartitionKey, int] = {}
        #: Where the last snapshot of each lies in the log.
        self._snapshots: dict[SharePartitionKey, int] = {}

    def keys(self) -> Iterable[str]:
        """All share partitions."""
        return map(str, self.states)

    # Decisions

    def initialize(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int, now_ms: int
    ) -> list[CoordinatorRecord]:
        """Begin a share partition, or begin it again at another offset.

        Raises KafkaError INVALID_REQUEST for negative numbers, FENCED_STATE_EPOCH for an older state epoch.
        """
        _check_numbers(key, state_epoch=state_epoch)
        if self._state_epochs.get(key, -1) > state_epoch:
            raise KafkaError(ErrorCode.FENCED_STATE_EPOCH)
        known = self.states.get(key)
        state = ShareState(
            snapshot_epoch=0 if known is None else known.snapshot_epoch + 1,
            state_epoch=state_epoch,
            start_offset=start_offset,
            delivery_complete_count=-1 if start_offset == UNINITIALIZED else 0,
            created_ms=now_ms,
            written_ms=now_ms,
        )
        return [snapshot(key, state)]

    def read(
        self, key: SharePartitionKey, leader_epoch: int, now_ms: int
    ) -> tuple[ShareState, list[CoordinatorRecord]]:
        """The state of a share partition for its leader, whose epoch is noted.

        Raises KafkaError INVALID_REQUEST for negative numbers and a share partition that was not initialized, and
        FENCED_LEADER_EPOCH for an older leader.
        """
        _check_numbers(key, leader_epoch=leader_epoch)
        state = self.states.get(key)
        if state is None:
            message = "Read operation on uninitialized share partition not allowed."
            raise KafkaError(ErrorCode.INVALID_REQUEST, message)
        self._check_leader(key, leader_epoch)
        if self._leader_epochs.get(key) == leader_epoch:
            return state, []
        noted = replace(state, leader_epoch=leader_epoch, batches=())
        return state, [self._changed(key, state, noted, now_ms)]

    def summary(self, key: SharePartitionKey) -> ShareState:
        """The state of a share partition for those who describe it; a blank one if it was not initialized.

        Raises KafkaError INVALID_REQUEST for negative partitions.
        """
        _check_numbers(key)
        return self.states.get(key) or ShareState()

    def write(self, key: SharePartitionKey, change: ShareState, now_ms: int) -> list[CoordinatorRecord]:
        """Put the batches, the start offset and the count of ``change`` over the state.

        Raises KafkaError INVALID_REQUEST for negative numbers and a share partition that was not initialized,
        FENCED_LEADER_EPOCH and FENCED_STATE_EPOCH for one who is behind.
        """
        _check_numbers(key, leader_epoch=change.leader_epoch, state_epoch=change.state_epoch)
        state = self.states.get(key)
        if state is None:
            message = "Write operation on uninitialized share partition not allowed."
            raise KafkaError(ErrorCode.INVALID_REQUEST, message)
        self._check_leader(key, change.leader_epoch)
        if self._state_epochs.get(key, -1) > change.state_epoch:
            raise KafkaError(ErrorCode.FENCED_STATE_EPOCH)
        count = change.delivery_complete_count
        if change.start_offset == state.start_offset:
            count = max(count, state.delivery_complete_count)
        elif change.start_offset < state.start_offset:
            count = state.delivery_complete_count
        changed = replace(
            state,
            start_offset=max(change.start_offset, state.start_offset),
            delivery_complete_count=count,
            batches=change.batches,
        )
        return [self._changed(key, state, changed, now_ms)]

    def delete(self, key: SharePartitionKey) -> list[CoordinatorRecord]:
        """End a share partition; one that does not exist is no error. Raises KafkaError INVALID_REQUEST."""
        _check_numbers(key)
        return [tombstone(key)] if key in self.states else []

    def _changed(
        self, key: SharePartitionKey, state: ShareState, changed: ShareState, now_ms: int
    ) -> CoordinatorRecord:
        """An update, or after many updates a snapshot; ``changed`` has only the batches that are new."""
        start = changed.start_offset
        if self._updates.get(key, 0) < self._settings.updates_per_snapshot:
            return update(key, replace(changed, batches=combine((), changed.batches, start)))
        everything = replace(
            changed,
            snapshot_epoch=state.snapshot_epoch + 1,
            batches=combine(state.batches, changed.batches, start),
            created_ms=now_ms,
            written_ms=now_ms,
        )
        return snapshot(key, everything)

    def _check_leader(self, key: SharePartitionKey, leader_epoch: int) -> None:
        """Raises KafkaError FENCED_LEADER_EPOCH."""
        if self._leader_epochs.get(key, -1) > leader_epoch:
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)

    # Housekeeping

    def cold(self, now_ms: int) -> Iterator[CoordinatorRecord]:
        """Snapshots of share partitions that have had none for long, so that the log before them can be removed. Those that
        were made by this are not made again before all others are as cold.
        """
        if all(state.created_ms != state.written_ms for state in self.states.values()):
            return
        for key, state in list(self.states.items()):
            if now_ms - state.written_ms >= self._settings.cold_snapshot_interval_ms:
                yield snapshot(key, replace(state, snapshot_epoch=state.snapshot_epoch + 1, written_ms=now_ms))

    def of_topics(self, topic_ids: Sequence[bytes]) -> Iterator[CoordinatorRecord]:
        """The ends of all share partitions of deleted topics."""
        gone = frozenset(topic_ids)
        for key in [key for key in self.states if key.topic_id in gone]:
            yield tombstone(key)

    @property
    def redundant_before(self) -> int:
        """The offset before which the log has nothing that is still needed; 0 if that is not known."""
        return min(self._snapshots.values(), default=0)

    # The log

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply a record of the log to the state."""
        key = key_of(record)
        if isinstance(record.key, ShareSnapshotKey):
            self._snapshot(key, record)
        elif isinstance(record.key, ShareUpdateKey) and record.value is not None:
            self._update(key, record)

    def _snapshot(self, key: SharePartitionKey, record: CoordinatorRecord) -> None:
        if record.value is None:
            for each in (self.states, self._leader_epochs, self._state_epochs, self._updates, self._snapshots):
                each.pop(key, None)
            return
        state, known = state_of(record.value), self.states.get(key)
        if not any(each.state == ARCHIVING for each in state.batches):
            state = replace(state, none_archiving_ms=state.written_ms)
        elif known is not None:
            state = replace(state, none_archiving_ms=known.none_archiving_ms)
        self.states[key] = state
        self._leader_epochs[key] = max(self._leader_epochs.get(key, -1), state.leader_epoch)
        self._state_epochs[key] = max(self._state_epochs.get(key, -1), state.state_epoch)
        self._snapshots[key] = record.offset
        if self._updates.get(key, 0) >= self._settings.updates_per_snapshot:
            self._updates[key] = 0

    def _update(self, key: SharePartitionKey, record: CoordinatorRecord) -> None:
        value, known = record.value, self.states.get(key, ShareState())
        start = known.start_offset if value.start_offset == UNINITIALIZED else value.start_offset
        leader_epoch = known.leader_epoch if value.leader_epoch < 0 else value.leader_epoch
        self.states[key] = replace(
            known,
            leader_epoch=leader_epoch,
            start_offset=start,
            delivery_complete_count=value.delivery_complete_count,
            batches=combine(known.batches, batches_of(value), start),
        )
        self._leader_epochs[key] = max(self._leader_epochs.get(key, -1), leader_epoch)
        self._updates[key] = self._updates.get(key, 0) + 1


def _check_numbers(key: SharePartitionKey, *, leader_epoch: int = 0, state_epoch: int = 0) -> None:
    """Raises KafkaError INVALID_REQUEST for what is negative."""
    if key.partition < 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The partition id cannot be a negative number.")
    if leader_epoch < 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The leader epoch cannot be a negative number.")
    if state_epoch < 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The state epoch cannot be a negative number.")
