"""The topic ``_schemas`` of the brokers of this process: one compacted partition, created with the first write, read in slices."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

from pykbroker.controller.topics import NewTopic
from pykbroker.partitions.internal_records import append_internal
from pykbroker.process.life import LifeEnded
from pykbroker.registry.errors import STORE, TOO_LARGE, RegistryError
from pykbroker.registry.records import Change, Unreadable, decode, encode
from pykbroker.registry.state import State
from pykbroker.seeding.dumping import committed_records
from pykbroker.wire.errors import ErrorCode, KafkaError, WireError

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.partitions.partition import Partition
    from pykbroker.process.life import Lifetimes
    from pykbroker.runtime.waits import Deferred

log = logging.getLogger(__name__)

T = TypeVar("T")

TOPIC: Final = "_schemas"
_MOST_REPLICAS: Final = 3
#: Records that are replayed in one turn of the loop, and bytes of one that is read there.
_AT_ONCE: Final = 20
_READ_HERE: Final = 16 * 1024
_TOO_LARGE: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)


class SchemasTopic:
    """The state as of the end of the topic. It follows the lives of the cluster: after a reset it is read anew. Belongs to the loop."""

    def __init__(self, lives: Lifetimes) -> None:
        self._lives = lives
        self._state = State()
        self._partition: Partition | None = None
        self._next = 0
        self._reading = asyncio.Lock()

    async def state(self) -> State:
        """What all committed records say. It changes with the next call. Raises RegistryError if it cannot be read."""
        if self._is_read():
            return self._state
        async with self._reading:
            try:
                await self._read()
            except (KafkaError, WireError, LookupError, OSError) as error:
                raise RegistryError(STORE, f"The topic {TOPIC} cannot be read: {error}") from error
        return self._state

    async def append(self, changes: Sequence[Change]) -> None:
        """Append changes as one batch; returns when they are committed. Raises RegistryError."""
        cluster = self._cluster()
        try:
            partition = await self._existing(cluster)
            now_ms = cluster.runtime.clock.now_ms()
            appended = append_internal(partition, [encode(each) for each in changes], now_ms)
            if appended.committed is not None:
                await self._outcome(appended.committed)
        except KafkaError as error:
            if error.code in _TOO_LARGE:
                raise RegistryError(TOO_LARGE, "Write failed because schema is too large") from error
            raise RegistryError(STORE, f"Writing to the topic {TOPIC} failed: {error}") from error

    def cluster_id(self) -> str:
        """The id of the cluster. Raises RegistryError."""
        return self._cluster().logs.cluster_id

    def _cluster(self) -> Cluster:
        if self._lives.current is None:
            raise RegistryError(STORE, "The brokers are stopping or being reset")
        return self._lives.current.cluster

    async def _outcome(self, wait: Deferred[T]) -> T:
        try:
            return await self._lives.outcome(wait)
        except LifeEnded as error:
            raise RegistryError(STORE, str(error)) from error

    def _is_read(self) -> bool:
        partition = self._cluster().partition(TOPIC, 0)
        return partition is self._partition and (partition is None or self._next == partition.last_stable_offset)

    async def _read(self) -> None:
        while not self._is_read():
            cluster = self._cluster()
            partition = cluster.partition(TOPIC, 0)
            if partition is not self._partition:
                self._partition, self._state, self._next = partition, State(), 0
            if partition is None:
                return
            if partition in cluster.dormant.partitions:
                await self._outcome(cluster.dormant.open([partition]))
                continue
            end = partition.last_stable_offset
            self._next = max(self._next, partition.log_start_offset)
            for record in list(islice(committed_records(partition, self._next, end), _AT_ONCE)):
                await self._replay(record.key, record.value, record.offset)
                if self._partition is not partition:
                    return
                self._next = record.offset + 1
            self._next = self._next if self._has_more(partition, end) else end
            await asyncio.sleep(0)

    def _has_more(self, partition: Partition, end: int) -> bool:
        return next(committed_records(partition, self._next, end), None) is not None

    async def _replay(self, key: bytes | None, value: bytes | None, offset: int) -> None:
        """A record that is not understood is left alone, with a line in the log."""
        try:
            if len(value or b"") <= _READ_HERE:
                change = decode(key, value)
            else:
                change = await asyncio.to_thread(partial(decode, key, value))
            if change is not None:
                self._state.replay(change)
        except Unreadable as error:
            log.warning("Record %d of %s is left alone: %s", offset, TOPIC, error)

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
        if found in cluster.dormant.partitions:
            await self._outcome(cluster.dormant.open([found]))
        return found
