"""The topic ``_schemas`` of the brokers of this process: one compacted partition, created with the first write, read in slices."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from pykbroker.controller.topics import NewTopic
from pykbroker.partitions.internal_records import CoordinatorBatch
from pykbroker.process.life import LifeEnded
from pykbroker.registry.errors import STORE, TOO_LARGE, UNKNOWN_LEADER, RegistryError
from pykbroker.registry.others import GROUP, other_leader
from pykbroker.registry.records import Change, Unreadable, decode, encode
from pykbroker.registry.state import RegistryState
from pykbroker.registry.turns import in_turns
from pykbroker.wire.errors import ErrorCode, KafkaError, TooMuchContent, WireError
from pykbroker.wire.records import Record, decode_some, unpacked

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.partitions.partition import Partition
    from pykbroker.process.life import Lifetimes
    from pykbroker.runtime.waits import Deferred
    from pykbroker.wire.batch_header import BatchHeader
    from pykbroker.wire.primitives import Buffer

log = logging.getLogger(__name__)

T = TypeVar("T")

TOPIC: Final = "_schemas"
_MOST_REPLICAS: Final = 3
#: Records that are replayed in one turn of the loop, and bytes of those that are read there; a larger one is read in a thread.
_AT_ONCE: Final = 20
_READ_HERE: Final = 16 * 1024
#: What a batch of others may hold, decompressed; and lines in the log about records that are none.
_LARGEST_BATCH: Final = 64 * 1024 * 1024
_MOST_LINES: Final = 10
_TOO_LARGE: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)


class SchemasTopic:
    """The state as of the end of the topic. It follows the lives of the cluster: after a reset it is read anew. Belongs to the loop."""

    def __init__(self, lifetimes: Lifetimes, compatibility: str) -> None:
        self._lifetimes, self._compatibility = lifetimes, compatibility
        self._state = RegistryState(compatibility)
        self._partition: Partition | None = None
        self._next = 0
        self._unread = 0
        self._reading = asyncio.Lock()

    async def state(self) -> RegistryState:
        """What all committed records say. It changes with the next call. Raises RegistryError if it cannot be read."""
        if self._is_read():
            return self._state
        async with self._reading:
            try:
                await self._read()
            except (KafkaError, WireError, LookupError, OSError) as error:
                raise RegistryError(STORE, f"The topic {TOPIC} cannot be read: {error}") from error
        return self._state

    def state_if_read(self) -> RegistryState | None:
        """The same at once, where nothing is to be read; else None."""
        return self._state if self._lifetimes.current is not None and self._is_read() else None

    async def append(self, changes: Sequence[Change], state: RegistryState) -> None:
        """Append changes that were decided on ``state``, as one batch; returns when they are committed. Raises RegistryError, also if the
        state is that of another life of the cluster, and while another registry leads.
        """
        cluster = self._cluster()
        leader = await other_leader(cluster)
        if leader is not None:
            where = f", at {leader}" if leader else ""
            raise RegistryError(
                UNKNOWN_LEADER, f"Another schema registry leads, which has joined the group {GROUP}: ask it{where}"
            )
        if state is not self._state or cluster.partition(TOPIC, 0) is not self._partition:
            raise RegistryError(STORE, "The brokers were reset meanwhile")
        try:
            partition = await self._existing(cluster)
            now_ms = cluster.runtime.clock.now_ms()
            batch = CoordinatorBatch()
            async for each in in_turns(changes):  # a deleted subject may have thousands of versions
                batch.add([encode(each)])
            if self._cluster().partition(TOPIC, 0) is not partition:  # a life's logs may be given up when it has ended
                raise RegistryError(STORE, "The brokers were reset meanwhile")
            _, committed = batch.append(partition, now_ms)
            if committed is not None:
                await self._outcome(committed)
        except KafkaError as error:
            if error.code in _TOO_LARGE:
                raise RegistryError(TOO_LARGE, "Write failed because schema is too large") from error
            raise RegistryError(STORE, f"Writing to the topic {TOPIC} failed: {error}") from error

    def cluster_id(self) -> str:
        """The id of the cluster. Raises RegistryError."""
        return self._cluster().logs.cluster_id

    def _cluster(self) -> Cluster:
        if self._lifetimes.current is None:
            raise RegistryError(STORE, "The brokers are stopping or being reset")
        return self._lifetimes.current.cluster

    async def _outcome(self, wait: Deferred[T]) -> T:
        try:
            return await self._lifetimes.outcome(wait)
        except LifeEnded as error:
            raise RegistryError(STORE, str(error)) from error

    def _is_read(self) -> bool:
        partition = self._cluster().partition(TOPIC, 0)
        return partition is self._partition and (partition is None or self._next == partition.high_watermark)

    async def _read(self) -> None:
        while not self._is_read():
            cluster = self._cluster()
            partition = cluster.partition(TOPIC, 0)
            if partition is not self._partition:
                self._partition, self._state, self._next, self._unread = (
                    partition,
                    RegistryState(self._compatibility),
                    0,
                    0,
                )
            if partition is None:
                return
            if cluster.is_closed(partition):
                await self._outcome(cluster.open_logs([partition]))
                continue
            self._next = max(self._next, partition.log_start_offset)
            found = next(iter(partition.log.batches(self._next)), None)
            if found is None or found[0].base_offset >= partition.high_watermark:
                self._next = partition.high_watermark
                return
            await self._read_batch(partition, *found)

    async def _read_batch(self, partition: Partition, header: BatchHeader, batch: Buffer) -> None:
        """Replay a batch, of transactions too, as the other registry reads them. What it holds, decompressed, is bounded."""
        state = self._state
        try:
            if not header.is_control:
                payload = await asyncio.to_thread(unpacked, bytes(batch), header, _LARGEST_BATCH)
                read = 0
                for some in decode_some(payload, header, _AT_ONCE):
                    for record in some:
                        if record.offset >= self._next:
                            await self._replay(state, record)
                        read += _size(record)
                        if read > _READ_HERE:
                            await asyncio.sleep(0)
                            read = 0
                    await asyncio.sleep(0)
        except (TooMuchContent, WireError) as error:
            log.warning("The batch at offset %d of %s is left alone: %s", header.base_offset, TOPIC, error)
        if self._partition is partition:
            self._next = header.last_offset + 1

    async def _replay(self, state: RegistryState, record: Record) -> None:
        """A record that is not understood is left alone; the first ones of a topic have a line in the log."""
        try:
            if _size(record) <= _READ_HERE:
                change = decode(record.key, record.value)
            else:
                change = await asyncio.to_thread(decode, record.key, record.value)
            if change is not None:
                for _ in state.replay_in_steps(change):
                    await asyncio.sleep(0)
        except Unreadable as error:
            self._unread += 1
            if self._unread <= _MOST_LINES:
                log.warning("Record %d of %s is left alone: %s", record.offset, TOPIC, error)

    async def _existing(self, cluster: Cluster) -> Partition:
        found = cluster.partition(TOPIC, 0)
        if found is None:
            replicas = min(_MOST_REPLICAS, len(cluster.brokers))
            new = NewTopic(TOPIC, 1, replicas, configs={"cleanup.policy": "compact"})
            created = await self._outcome(cluster.controller.create_topics([new]))
            error = created.result[0].error
            if error is not None and error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise error
            found = cluster.partition(TOPIC, 0)
        if found is None:
            raise RegistryError(STORE, f"The topic {TOPIC} is there no more")
        if cluster.is_closed(found):
            await self._outcome(cluster.open_logs([found]))
        return found


def _size(record: Record) -> int:
    return len(record.key or b"") + len(record.value or b"")
