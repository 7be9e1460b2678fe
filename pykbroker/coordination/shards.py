"""The shards of a broker's coordinator, one for each partition of its topic that the broker leads.

A shard is loaded from its partition's log on first use, and when the leadership of its partition moves here. When it moves away,
the shard is dropped; the broker then answers NOT_COORDINATOR, as for any partition that it does not lead.

After an unexpected error while loading, the shard has failed, as in Kafka: it answers NOT_COORDINATOR until the partition has
a new leader. After a disk error the next request loads it again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from pykbroker.coordination.shard import Shard
from pykbroker.runtime.slices import WEIGHT_OF_A_TURN
from pykbroker.runtime.waits import attempt
from pykbroker.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from pykbroker.coordination.host import CoordinationHost
    from pykbroker.coordination.log_replay import LogReplay
    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.partitions.partition import Partition
    from pykbroker.runtime.slices import Steps
    from pykbroker.runtime.timers import Timer
    from pykbroker.runtime.waits import Deferred

log = logging.getLogger(__name__)

S = TypeVar("S", bound=Shard)

#: The delay of the log line about loaded partitions, in milliseconds, so that it covers several.
_TOLD_AFTER_MS = 1000


class Loaded(Generic[S]):
    """A loaded shard, with its partition and the runtime's state of it."""

    __slots__ = ("_ends", "_floor", "alarms", "newest", "partition", "shard", "to_begin")

    def __init__(self, partition: Partition, shard: S) -> None:
        self.partition = partition
        self.shard = shard
        #: What was not committed when it was appended: key to the end offset of its last record, the highest of them, and the end of the
        #: log when the shard was loaded. Zero and empty where all is committed.
        self._ends: dict[str, int] = {}
        self._floor = self.newest = 0
        if partition.opened_log is not None and partition.high_watermark < partition.log_end_offset:
            self._floor = self.newest = partition.log_end_offset
        #: Keys that were loaded and not begun.
        self.to_begin: dict[str, None] = {}
        #: Key to its deadline and timer (``deadlines.py``).
        self.alarms: dict[str, tuple[float, Timer]] = {}

    def uncommitted(self, keys: Iterable[str], end: int) -> None:
        """Note that the state of these keys was changed by records before the offset ``end``, which are not committed yet."""
        self.newest = end
        self._ends.update(dict.fromkeys(keys, end))

    def committed(self, key: str | None) -> Deferred[None] | None:
        """The wait until the state of a key, of all for None, is committed; None if it is already.

        It fails with KafkaError KAFKA_STORAGE_ERROR when some of it may be lost.
        """
        if not self.newest:
            return None
        end = self.newest if key is None else max(self._ends.get(key, 0), self._floor)
        wait = self.partition.committed(end)
        if wait is None and self.partition.high_watermark >= self.newest:
            self._floor = self.newest = 0
            self._ends.clear()
        return wait


class Shards(Generic[S]):
    """See the module.

    ``begin`` creates the replay of a partition; ``opened`` is called at its end, ``dropped`` when the shard is dropped.
    """

    def __init__(
        self,
        host: CoordinationHost,
        topic: str,
        *,
        begin: Callable[[Partition], LogReplay[S]],
        opened: Callable[[Loaded[S]], None],
        dropped: Callable[[Loaded[S]], None],
    ) -> None:
        self.loaded: dict[int, Loaded[S]] = {}
        self._host = host
        self._topic = topic
        self._begin = begin
        self._opened = opened
        self._dropped = dropped
        self._loading: dict[int, LogReplay[S]] = {}
        self._failed: set[int] = set()
        #: The number of groups or ids of each partition loaded since the last log line.
        self._untold: list[int] = []

    def is_in_use(self, loaded: Loaded[S]) -> bool:
        """False once the partition has another leader or was deleted."""
        return self.loaded.get(loaded.partition.index) is loaded

    def at(self, index: int) -> Loaded[S]:
        """The shard of a partition that the broker leads.

        Raises KafkaError NOT_COORDINATOR, or COORDINATOR_LOAD_IN_PROGRESS while it is loaded.
        """
        loaded = self.loaded.get(index)
        found = self._host.partition(self._topic, index) if loaded is None else loaded.partition
        if found is None or found.leader != self._host.node_id:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return self._load(found) if loaded is None else loaded

    def led(self) -> Iterator[Loaded[S]]:
        """Every shard of the broker; unloaded ones are loaded. Raises what ``at`` raises."""
        for index in self.led_partitions():
            yield self.at(index)

    def led_partitions(self) -> Iterator[int]:
        """The partitions that the broker leads."""
        for index in range(self._count()):
            found = self._host.partition(self._topic, index)
            if found is not None and found.leader == self._host.node_id:
                yield index

    def tell_loaded(self, partition: Partition, noun: str, count: int) -> None:
        """Log how many groups or ids were loaded, in one line for partitions loaded at about the same time."""
        log.debug("Loaded %d %s(s) of %s-%d", count, noun, partition.topic, partition.index)
        if not self._untold and count:
            self._host.runtime.timers.after(_TOLD_AFTER_MS, partial(self._tell, noun))
        if count:
            self._untold.append(count)

    def _tell(self, noun: str) -> None:
        total, partitions = sum(self._untold), len(self._untold)
        self._untold.clear()
        log.info("Loaded %d %s(s) from %d partition(s) of %s", total, noun, partitions, self._topic)

    def follow(self, delta: MetadataDelta) -> None:
        """Drop shards that have another leader epoch, all if the topic is deleted; load those that the broker leads now."""
        for change in delta.by_topic.get(self._topic, ()):
            if change.moves_state_of(self._topic):
                index = change.after.index
                self._drop(index)
                if change.after.leader == self._host.node_id:
                    self._host.runtime.timers.after(0, partial(self._load_moved, index))
        if any(topic.name == self._topic for topic in delta.deleted_topics):
            self.drop_all()

    def drop_all(self) -> None:
        """Drop every shard."""
        for index in [*self._loading, *self.loaded, *self._failed]:
            self._drop(index)

    def _count(self) -> int:
        topic = self._host.metadata.image.topic(self._topic)
        return 0 if topic is None else len(topic.partitions)

    def _drop(self, index: int) -> None:
        self._loading.pop(index, None)
        self._failed.discard(index)
        loaded = self.loaded.pop(index, None)
        if loaded is not None:
            try:
                self._dropped(loaded)
            except Exception:
                log.exception(
                    "Coordinator state of %s is unloaded, and some requests that wait in it are not answered",
                    _name(loaded.partition),
                )

    def _load_moved(self, index: int) -> None:
        with suppress(KafkaError):  # in progress, or logged already: the next request tries again
            self.at(index)

    def _load(self, found: Partition) -> Loaded[S]:
        index = found.index
        if index not in self._loading and index not in self._failed:
            replay = self._loading[index] = self._begin(found)
            if found in self._host.dormant.new:
                self._open(replay)
                return self.loaded[index]
            warm = attempt(self._host.dormant.bring_into_memory, found).settled()
            warm.map(lambda _: self._load_some(replay)).or_log("loading %r", found)
        loaded = self.loaded.get(index)
        if loaded is None:
            in_progress = index in self._loading
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if in_progress else ErrorCode.NOT_COORDINATOR)
        return loaded

    def _load_some(self, replay: LogReplay[S]) -> None:
        found = replay.partition
        if self._loading.get(found.index) is not replay:
            replay.close()
            return  # the topic was deleted, or the partition moved, meanwhile
        try:
            more = replay.advance()
            if more is None:
                self._open(replay)
            else:
                add = self._host.runtime.slices.add
                more.map(lambda _: add(self._load_later(replay))).or_log("loading %r", found)
        except KafkaError as error:
            log.warning("Coordinator state in %s cannot be loaded: %s", _name(found), error)
            replay.close()
            self._drop(found.index)  # the next request tries again
        except Exception:
            log.exception(
                "Coordinator state in %s cannot be loaded: its requests are refused until the partition has another leader, or the broker "
                "is started again",
                _name(found),
            )
            replay.close()
            self._drop(found.index)
            self._failed.add(found.index)

    def _load_later(self, replay: LogReplay[S]) -> Steps:
        """The work of one turn: partitions that are loaded at the same time take turns."""
        self._load_some(replay)
        yield WEIGHT_OF_A_TURN

    def _open(self, replay: LogReplay[S]) -> None:
        found = replay.partition
        del self._loading[found.index]
        loaded = self.loaded[found.index] = Loaded(found, replay.shard)
        self._opened(loaded)


def _name(partition: Partition) -> str:
    return f"{partition.topic}-{partition.index}"
