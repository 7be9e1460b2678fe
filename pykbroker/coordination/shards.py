"""The shards of a coordinator, one for each partition of the topic in which it keeps its state.

A shard is read from its partition's log when it is first needed. Only the broker that leads the partition may use it; the
others answer NOT_COORDINATOR, so that clients behave as they would with brokers on several machines. Where another
broker leads, the shard is dropped, and read anew for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pykbroker.metadata.image import NO_LEADER
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.host import CoordinationHost, Node
    from pykbroker.coordination.log_replay import LogReplay
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.partitions.partition import Partition

log = logging.getLogger(__name__)

S = TypeVar("S")

#: What a client is told when a record cannot be appended or read for this reason (CoordinatorOperationExceptionHelper,
#: TransactionStateManager).
_SHOWN_AS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def shown(code: ErrorCode) -> ErrorCode:
    """An error of the log as a coordinator's client is to see it."""
    return _SHOWN_AS.get(code, code)


class Loaded(Generic[S]):
    """A shard in use, with its partition."""

    __slots__ = ("partition", "shard")

    def __init__(self, partition: Partition, shard: S) -> None:
        self.partition = partition
        self.shard = shard


L = TypeVar("L", bound=Loaded[Any])


class Shards(Generic[L]):
    """See the module.

    ``begin`` makes the replay of a partition, ``complete`` what is in use from one that has come to its end; ``opened`` is
    told of it then, and ``dropped`` when it is not in use any more. Where a partition has a new leader, what was in use
    is read again at once; with ``eager`` every shard is, also one that nobody has asked for.
    """

    def __init__(
        self,
        cluster: CoordinationHost,
        topic: str,
        *,
        begin: Callable[[Partition], LogReplay],
        complete: Callable[[Any], L],
        opened: Callable[[L], None],
        dropped: Callable[[L], None],
        eager: bool,
    ) -> None:
        self.loaded: dict[int, L] = {}
        self._cluster = cluster
        self._topic = topic
        self._begin = begin
        self._complete = complete
        self._opened = opened
        self._dropped = dropped
        self._eager = eager
        self._loading: dict[int, LogReplay] = {}

    def is_in_use(self, loaded: L) -> bool:
        """False once the partition has moved or is gone."""
        return self.loaded.get(loaded.partition.index) is loaded

    def at(self, broker: Node | None, index: int) -> L:
        """The shard of a partition, for the broker that leads it; None stands for this process itself.

        Raises KafkaError with NOT_COORDINATOR, or COORDINATOR_LOAD_IN_PROGRESS while it is read: all others are served
        meanwhile.
        """
        found = self._cluster.partition(self._topic, index)
        if found is None or found.leader == NO_LEADER or (broker is not None and found.leader != broker.node_id):
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        loaded = self.loaded.get(index)
        return self._load(found) if loaded is None else loaded

    def led_by(self, broker: Node) -> Iterator[L]:
        """Every shard of the broker; those that were never needed are loaded. Raises KafkaError as ``at``."""
        for index in range(self._count()):
            found = self._cluster.partition(self._topic, index)
            if found is not None and found.leader == broker.node_id:
                yield self.at(broker, index)

    def follow(self, delta: MetadataDelta) -> None:
        """Drop what another broker leads now, or nobody, and everything when the topic is deleted."""
        for change in delta.partitions:
            if change.moves_state_of(self._topic):
                index = change.after.index
                wanted = self._eager or index in self.loaded or index in self._loading
                self._drop(index)
                if wanted and change.after.leader != NO_LEADER:
                    self._cluster.runtime.timers.after(0, partial(self._load_moved, index))
        if any(topic.name == self._topic for topic in delta.deleted_topics):
            for index in (*self._loading, *self.loaded):
                self._drop(index)

    def _count(self) -> int:
        topic = self._cluster.metadata.image.topic(self._topic)
        return 0 if topic is None else len(topic.partitions)

    def _drop(self, index: int) -> None:
        self._loading.pop(index, None)
        loaded = self.loaded.pop(index, None)
        if loaded is not None:
            self._dropped(loaded)

    def _load_moved(self, index: int) -> None:
        with suppress(KafkaError):  # in progress, or logged already: the next request tries again
            self.at(None, index)

    def _load(self, found: Partition) -> L:
        index = found.index
        if index not in self._loading:
            replay = self._loading[index] = self._begin(found)
            warm = self._cluster.dormant.bring_into_memory(found).settled()
            warm.map(lambda _: self._load_some(replay)).or_log("loading %r", found)
        loaded = self.loaded.get(index)
        if loaded is None:
            in_progress = index in self._loading
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if in_progress else ErrorCode.NOT_COORDINATOR)
        return loaded

    def _load_some(self, replay: LogReplay) -> None:
        found = replay.partition
        if self._loading.get(found.index) is not replay:
            return  # the topic was deleted, or the partition moved, meanwhile
        try:
            done = replay.advance()
        except KafkaError as error:
            log.warning("What the coordinator keeps in %r cannot be read: %s", found, error)
            del self._loading[found.index]  # the next request tries again
            return
        if not done:
            self._cluster.runtime.timers.after(0, partial(self._load_some, replay))
            return
        del self._loading[found.index]
        loaded = self.loaded[found.index] = self._complete(replay)
        self._opened(loaded)
