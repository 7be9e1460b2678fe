"""All logs of a process: opening, deletion, retention, flushes, clean shutdown.

Log directories have Kafka's layout: a subdirectory ``<topic>-<partition>`` per log, with checkpoints and meta.properties
beside them (``DirectoryContents``). Logs are opened on first use, and recovered then after an unclean shutdown.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from pykbroker.storage import checkpoints
from pykbroker.storage.checkpoints import TopicPartition
from pykbroker.storage.directories.contents import METADATA_LOG, DirectoryContents
from pykbroker.storage.directories.log_directories import LogDirectories, put_stray_aside
from pykbroker.storage.directory import LogDirectory
from pykbroker.storage.log import recovery
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.flushing import end_flushes
from pykbroker.storage.log.log import Log
from pykbroker.storage.log.old_formats import OldFormatError
from pykbroker.storage.names import DELETE, strangers
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.wire.primitives import uuid_from_str

if TYPE_CHECKING:
    from pykbroker.runtime.clock import Clock
    from pykbroker.storage.compaction.scheduling import Compactions
    from pykbroker.storage.directories.moving import LogMove
    from pykbroker.storage.disk import Disk

_Outcomes = Iterable[KafkaError | None]
#: The weight of a log that is forgotten (``runtime/slices.py``).
_FORGOTTEN = 0.5
#: The ids of directories are few, and asked for with each replica.
_id = lru_cache(64)(uuid_from_str)


class LogToRecover(NamedTuple):
    """A log with files, as ``LogManager.open`` would open it."""

    key: TopicPartition
    topic_id: bytes
    config: LogConfig
    has_other_replicas: bool


class LogManager:
    """The owner of the logs. Runs in one thread, except for the ``run`` of plans.

    ``directory`` holds the metadata log and, unless ``metadata_apart``, partitions as ``others`` do.
    """

    def __init__(
        self,
        directory: Path,
        disk: Disk,
        clock: Clock,
        *,
        node_id: int,
        cluster_id: str,
        random: Random,
        others: Sequence[Path] = (),
        metadata_apart: bool = False,
    ) -> None:
        self.directories = LogDirectories((directory, *others), disk, clock, random, metadata_apart=metadata_apart)
        self.metadata_directory = self.directories.metadata.directory
        self.node_id = node_id
        self.cluster_id = cluster_id
        #: Written to the clean shutdown marker (KIP-966).
        self.broker_epoch = -1
        #: The logs opened so far.
        self.logs: dict[TopicPartition, Log] = {}
        self._compactions: Compactions | None = None

    def tell_offline(self, tell: Callable[[], object]) -> None:
        """Have ``tell`` called when a log directory goes offline, in whichever thread notices that."""
        for contents in self.directories:
            contents.directory.tell_offline(tell)

    @property
    def compactions(self) -> Compactions:
        """The compactions of these logs; created with the first round."""
        if self._compactions is None:
            from pykbroker.storage.compaction.scheduling import Compactions

            self._compactions = Compactions(self.directories, self.logs, self.metadata_directory.clock)
        return self._compactions

    def size_of(self, topic: str, partition: int) -> tuple[LogDirectory, int]:
        """The log directory of a log, and its size in bytes of batches. The log is not opened.

        Waits for the disk; in any thread. Raises KafkaError KAFKA_STORAGE_ERROR.
        """
        log = self.logs.get((topic, partition))
        if log is not None:
            log.directory.check()
            with contextlib.suppress(FileNotFoundError):  # segments were removed meanwhile
                return log.directory, log.size_bytes
        return self.directories.size_of((topic, partition))

    # -- starting and stopping ----------------------------------------------------------------------------------------

    def load(self) -> None:
        """Check the owners of the log directories and read their checkpoints.

        After an unclean shutdown (``clean`` is False) each log is recovered when it is opened, with its own settings; the
        broker opens all of them before it serves clients.

        A log directory that cannot be used is offline, and the others are served. Raises what ``LogDirectories.load``
        raises.
        """
        self.directories.load(self.node_id, self.cluster_id)

    @property
    def clean(self) -> bool:
        """Whether the last shutdown was clean."""
        return all(contents.clean for contents in self.directories.usable)

    @property
    def previous_epoch(self) -> int:
        """The broker's epoch before its last shutdown, if that was clean in all log directories; else -1."""
        epochs = {contents.previous_epoch for contents in self.directories}
        return epochs.pop() if len(epochs) == 1 else -1

    @property
    def directory_ids(self) -> list[str]:
        """directory.id of each online log directory of partitions."""
        return [contents.directory_id for contents in self.directories.of_partitions if not contents.directory.offline]

    def id_of(self, directory: LogDirectory) -> bytes:
        """directory.id of one of the log directories."""
        return _id(next(each.directory_id for each in self.directories.all if each.directory is directory))

    @property
    def cordoned_ids(self) -> list[str]:
        """directory.id of each of them that gets no new replicas."""
        here = self.directories.of_partitions
        return [each.directory_id for each in here if each.directory.cordoned and not each.directory.offline]

    @property
    def metadata_directory_id(self) -> str:
        """directory.id of the log directory that holds the metadata log."""
        return self.directories.metadata.directory_id

    def shutdown(self, apply: Callable[[Callable[[Log], KafkaError | None], Iterable[Log]], _Outcomes] = map) -> None:
        """Flush and close every log, write the checkpoints, and last the clean shutdown marker.

        ``apply`` calls a function with each log, like ``map``; with a thread pool the syncs overlap. Raises KafkaError
        KAFKA_STORAGE_ERROR if any of it failed, once all else is done; the next start then recovers.
        """
        logs = list(self.logs.values())
        closed = list(zip(logs, apply(_close, logs), strict=True))
        self.note_checkpoints(logs)

        def end(contents: DirectoryContents) -> None:
            contents.plan_checkpoints()()
            for log, error in closed:
                if log.directory is contents.directory and error is not None:
                    raise error
            contents.mark_clean_shutdown(self.broker_epoch, self._logs_in(contents))

        _all(partial(end, contents) for contents in self.directories.usable)

    # -- logs ---------------------------------------------------------------------------------------------------------

    def open(
        self, topic: str, topic_id: bytes, partition: int, config: LogConfig, *, has_other_replicas: bool = False
    ) -> Log:
        """Open the log of a partition, created if it does not exist. Raises KafkaError KAFKA_STORAGE_ERROR.

        With other replicas, each a copy, it is committed up to its checkpoint, without them up to its end. A directory of the same name with another topic id is renamed: the topic was deleted and recreated.
        """
        key = (topic, partition)
        log = self.logs.get(key)
        if log is not None and log.topic_id == topic_id:
            log.directory.check()
            log.update_config(config)
            return log
        if log is not None:
            self.delete(log)
        contents = self.directories.of(key, topic_id)
        contents.directory.check()
        try:
            log = self._load_log(contents, key, topic_id, config, has_other_replicas)
        except OSError as error:
            raise contents.directory.refused(error, f"opening {topic}-{partition}") from error
        self.logs[key] = log
        return log

    def _load_log(
        self,
        contents: DirectoryContents,
        key: TopicPartition,
        topic_id: bytes,
        config: LogConfig,
        has_other_replicas: bool,
    ) -> Log:
        disk = contents.directory.disk
        log = Log(contents.directory, key[0], key[1], topic_id=topic_id, config=config)
        stored = checkpoints.read_topic_id(disk, log.path)
        clean = contents.clean or key in contents.closed
        # A power loss may have taken the id of an earlier topic of the name, whose records would pass for those of other replicas.
        unknown = stored is None and has_other_replicas and not clean and key[0] != METADATA_LOG and _has_batches(log)
        if unknown or stored not in (None, topic_id):
            put_stray_aside(contents, key)
            contents.partitions += 1
            stored = None
        contents.make(key)
        metadata = f"{log.path}/{checkpoints.PARTITION_METADATA}"
        if stored is None:
            _check_free(disk, log)
            disk.write(metadata, checkpoints.encode_partition_metadata(topic_id), sync=False)
        if stored is None or not clean:  # a killed process may have written it without syncing
            log.must_sync([metadata])
        recovery.load(
            log,
            clean=clean,
            recovery_point=contents.recovery_points.get(key, 0),
            log_start_offset=contents.log_starts.get(key, 0),
            compacted_to=contents.cleaner_offsets.get(key, 0),
            high_watermark=contents.high_watermarks.get(key, 0) if has_other_replicas else None,
        )
        contents.note_cut(log)
        contents.closed.discard(key)
        return log

    def plan_recovery(self, wanted: Iterable[LogToRecover]) -> Callable[[], list[Log]]:
        """The work for a thread: recover logs that nobody uses meanwhile, for ``adopt``. One that cannot be recovered is left out."""
        places = [(each, self.directories.of(each.key)) for each in wanted]

        def recover() -> list[Log]:
            recovered = []
            for each, contents in places:
                with contextlib.suppress(OSError, KafkaError, OldFormatError):  # told when it is opened
                    log = self._load_log(contents, each.key, each.topic_id, each.config, each.has_other_replicas)
                    if log.needs_flush_before_ack:
                        log.flush()
                    recovered.append(log)
            return recovered

        return recover

    def adopt(self, log: Log, *, wanted: bool) -> None:
        """Keep a log of ``plan_recovery`` open, or close it."""
        if wanted:
            self.logs[log.topic, log.partition] = log
            return
        for segment in log.segments:
            segment.close()

    def needs_recovery(self, key: TopicPartition) -> bool:
        """Whether opening the log, which has files, would recover it. Raises KafkaError KAFKA_STORAGE_ERROR."""
        contents = self.directories.of(key)
        return not contents.clean and key not in contents.closed

    def forget_opened(self) -> Generator[float, None, None]:
        """As a crash of the broker does, in slices: its logs are not closed, and each is recovered when it is opened again. The metadata log is
        not the broker's, and goes on.
        """
        for contents in self.directories.usable:
            contents.forget_clean_shutdown()
        for key, log in [*self.logs.items()]:
            if log.topic != METADATA_LOG:
                end_flushes(log)
                log.unpin()
                self._forget_compactions(log)
                del self.logs[key]
                yield _FORGOTTEN

    def try_again(self) -> None:
        """As the start of a broker after a crash does: log directories that have failed are tried again, and recovered."""
        for contents in self.directories.of_partitions:
            if contents.directory.offline:
                contents.directory.try_again()
                contents.forget_clean_shutdown()

    def is_open(self, log: Log) -> bool:
        """Whether the log is in use: opened and not deleted since."""
        return self.logs.get((log.topic, log.partition)) is log

    def delete(self, log: Log) -> None:
        """Delete a log; its files are removed after file.delete.delay.ms. Raises KafkaError KAFKA_STORAGE_ERROR."""
        key = log.topic, log.partition
        end_flushes(log)
        log.unpin()
        self._forget_compactions(log)
        self.logs.pop(key, None)
        for segment in log.segments:
            segment.close()
        log.moved(self._discard(self.directories.at(log.directory), key, log.config))

    def delete_unopened(self, topic: str, topic_id: bytes, partition: int, config: LogConfig) -> None:
        """Delete a log that is not open and may have no files. Raises KafkaError KAFKA_STORAGE_ERROR."""
        key = topic, partition
        self.directories.forget_placed(key)
        contents = self.directories.holding(key)
        if contents is not None and _belongs(contents.directory.disk, f"{contents.path}/{topic}-{partition}", topic_id):
            self._discard(contents, key, config)

    def _discard(
        self, contents: DirectoryContents, key: TopicPartition, config: LogConfig, *, sync: bool = False
    ) -> str:
        """Rename a partition's directory, to be removed later; returns the new path. With ``sync`` the rename is synced."""
        contents.forget(key)
        try:
            aside = contents.put_aside(key, DELETE)
            if sync:
                contents.directory.disk.sync_directory(contents.path)
        except OSError as error:
            raise contents.directory.failed(error, f"deleting {key[0]}-{key[1]}") from error
        contents.directory.remove_later(aside, config.file_delete_delay_ms)
        return aside

    def finish_move(self, move: LogMove) -> None:
        """Complete the move of a log, which is opened again in its new log directory. Raises OSError or KafkaError
        KAFKA_STORAGE_ERROR; the log is then still served from the old one.

        Nothing is appended before the rename of the old directory is synced: otherwise a power loss could restore it.
        """
        log, key = move.log, (move.log.topic, move.log.partition)
        source, target = self.directories.at(log.directory), move.target
        move.complete()
        source.note(log)
        target.adopt(key, source)
        try:
            target.plan_checkpoints()()
            move.install()
        except (OSError, KafkaError):
            target.forget(key)
            raise
        del self.logs[key]
        end_flushes(log)
        self._forget_compactions(log)
        with contextlib.suppress(KafkaError):  # the old log directory is offline
            log.moved(self._discard(source, key, log.config, sync=True))

    def unopened(self, names: Collection[TopicPartition]) -> list[TopicPartition]:
        """Those of the partitions with files whose log is not open. Raises OSError."""
        there = self.directories.existing()
        return [key for key in names if key in there and key not in self.logs]

    def _logs_in(self, contents: DirectoryContents) -> list[Log]:
        return [log for log in self.logs.values() if log.directory is contents.directory]

    def _forget_compactions(self, log: Log) -> None:
        if self._compactions is not None:
            self._compactions.forget(log)

    # -- housekeeping -------------------------------------------------------------------------------------------------

    def retain(self, logs: Iterable[Log], now_ms: int) -> None:
        """Apply retention to these logs; ``retention.look_ahead`` may have read what it needs. Raises KafkaError
        KAFKA_STORAGE_ERROR if a log directory failed, after the logs of the others.
        """
        from pykbroker.storage.log.retention import apply_retention

        _all(partial(apply_retention, log, now_ms) for log in logs if self.is_open(log) and not log.directory.offline)

    def forget_producers(self, now_ms: int, expiration_ms: int, some: Iterable[Log] | None = None) -> None:
        """Remove expired producer states without an open transaction from ``some`` logs, or from all that are open."""
        for log in self.logs.values() if some is None else some:
            log.producers.remove_expired(now_ms, expiration_ms)

    @property
    def removals_due(self) -> bool:
        """Whether the delay of any deleted file is over."""
        return any(contents.directory.removals_due for contents in self.directories.usable)

    def plan_removals(self) -> Callable[[], None]:
        """The removal of the files whose delay is over: to be called once, in any thread. It raises KafkaError
        KAFKA_STORAGE_ERROR.
        """
        plans = [contents.directory.plan_removals() for contents in self.directories.usable]
        return lambda: _all(plans)

    def due_flushes(self, some: Iterable[Log] | None = None) -> list[Log]:
        """Those of ``some`` logs, or of all, to ``flush`` now, in any thread: flush.ms has passed, or they have a new segment."""
        now = self.metadata_directory.clock.monotonic()
        looked_at = self.logs.values() if some is None else some
        return [log for log in looked_at if not log.directory.offline and log.begin_flush_if_due(now)]

    def flush(self, logs: Iterable[Log]) -> None:
        """Flush these logs; in any thread. Raises KafkaError KAFKA_STORAGE_ERROR if one failed, after all others."""
        _all(log.flush for log in logs)

    def note_checkpoints(self, some: Iterable[Log]) -> None:
        """Let the next offset checkpoints have the present values of these logs."""
        for log in some:
            self.directories.at(log.directory).note(log)

    def plan_checkpoints(self) -> Callable[[], None]:
        """The writing of the offset checkpoints with the values that were noted last: to be called once, in any thread. It raises
        KafkaError KAFKA_STORAGE_ERROR if a log directory failed, after those of the others.
        """
        plans = [contents.plan_checkpoints() for contents in self.directories]
        return lambda: _all(plans)


def _all(actions: Iterable[Callable[[], object]]) -> None:
    """Do all actions, then raise the first error, so that one that always fails does not block the others."""
    failed = []
    for action in actions:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - raised below
            failed.append(error)
    if failed:
        raise failed[0]


def _check_free(disk: Disk, log: Log) -> None:
    """Check that no foreign directory has the log's name. Raises KafkaError KAFKA_STORAGE_ERROR."""
    foreign = strangers(disk.list(log.path))
    if foreign:
        raise KafkaError(
            ErrorCode.KAFKA_STORAGE_ERROR,
            f"{log.path} holds {foreign[0]}, which is no broker's: move it away, then {log.name} can be made.",
        )


def _has_batches(log: Log) -> bool:
    disk = log.directory.disk
    return disk.exists(log.path) and any(
        name.endswith(".log") and disk.size(f"{log.path}/{name}") for name in disk.list(log.path)
    )


def _belongs(disk: Disk, path: str, topic_id: bytes) -> bool:
    """Whether the directory is the topic's. The name alone is no proof: it may hold foreign files."""
    stored = checkpoints.read_topic_id(disk, path)
    return stored == topic_id or (stored is None and not strangers(disk.list(path)))


def _close(log: Log) -> KafkaError | None:
    try:
        log.close()
    except KafkaError as error:
        return error
    return None
