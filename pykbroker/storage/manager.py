"""All logs of one data directory: opening, deleting, checkpoints, the rounds of housekeeping, clean stop.

The directory is Kafka's: a subdirectory ``<topic>-<partition>`` per log, checkpoints and meta.properties beside them.
Logs are opened when they are first asked for, and recovered then if the last stop was not a clean one.
"""

from __future__ import annotations

import base64
import logging
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

from pykbroker.clock import Clock
from pykbroker.storage import checkpoints, recovery
from pykbroker.storage.checkpoints import CorruptCheckpointError, TopicPartition
from pykbroker.storage.cleaning import CleaningResult
from pykbroker.storage.compaction import Cleanable, CompactionPlan, cleanable
from pykbroker.storage.config import LogConfig
from pykbroker.storage.directory import LogDirectory
from pykbroker.storage.disk import Disk, replace_file
from pykbroker.storage.log import Log
from pykbroker.storage.retention import apply_retention
from wire.errors import KafkaError

logger = logging.getLogger(__name__)

METADATA_LOG = "__cluster_metadata"

_Outcomes = Iterable[KafkaError | None]


class LogManager:
    """Owner of the logs of a data directory. Runs in one thread, but for the ``run`` of plans."""

    def __init__(
        self,
        directory: Path,
        disk: Disk,
        clock: Clock,
        *,
        node_id: int,
        cluster_id: str,
        random: Random,
        producer_expiration_ms: int = 24 * 3600 * 1000,
        cleaner_memory_bytes: int = 128 * 1024**2,
    ) -> None:
        self.home = LogDirectory(str(directory.absolute()), disk, clock, random)
        self.node_id = node_id
        self.cluster_id = cluster_id
        self.producer_expiration_ms = producer_expiration_ms
        self.cleaner_memory_bytes = cleaner_memory_bytes
        #: Written into the marker of a clean stop (KIP-966).
        self.broker_epoch = -1
        #: The logs opened so far.
        self.logs: dict[TopicPartition, Log] = {}
        #: directory.id of meta.properties: 22 characters.
        self.directory_id = ""
        #: Whether the last stop was a clean one: set by ``load``.
        self.clean = True
        self._recovery_points: dict[TopicPartition, int] = {}
        self._log_starts: dict[TopicPartition, int] = {}
        self._high_watermarks: dict[TopicPartition, int] = {}
        self._cleaner_offsets: dict[TopicPartition, int] = {}
        self._uncleanable: set[Log] = set()
        self._written: dict[str, dict[TopicPartition, int]] = {}
        self._writing = threading.Lock()

    @property
    def directory(self) -> str:
        """Path of the data directory."""
        return self.home.path

    @property
    def offline(self) -> bool:
        """Whether a disk error has taken the directory out of use."""
        return self.home.offline

    def space(self) -> tuple[int, int]:
        """(total, usable) bytes of the volume; (-1, -1) where that cannot be told."""
        try:
            return self.home.disk.free_bytes(self.home.path)
        except OSError:
            return -1, -1

    # -- starting and stopping ----------------------------------------------------------------------------------------

    def load(self) -> None:
        """Read or write meta.properties, read the checkpoints.

        Where the last stop was not a clean one (``clean`` is False then), each log is recovered when it is opened, with
        its own settings; whoever does not want to wait for that later opens all of them before serving.

        Raises OSError where the directory cannot be used, ValueError where it belongs to another node or cluster.
        """
        disk, path = self.home.disk, self.home.path
        disk.make_directory(path, sync=True)
        names = set(disk.list(path))
        self._load_meta_properties(checkpoints.META_PROPERTIES in names)
        self._recovery_points = self._read(checkpoints.RECOVERY_POINTS)
        self._log_starts = self._read(checkpoints.LOG_STARTS)
        self._high_watermarks = self._read(checkpoints.HIGH_WATERMARKS)
        self._cleaner_offsets = self._read(checkpoints.CLEANER_OFFSETS)
        self.clean = checkpoints.CLEAN_SHUTDOWN in names
        if self.clean:
            disk.remove(f"{path}/{checkpoints.CLEAN_SHUTDOWN}")
            disk.sync_directory(path)
        self._remove_left_overs(names)

    def _load_meta_properties(self, exists: bool) -> None:
        disk, path = self.home.disk, f"{self.home.path}/{checkpoints.META_PROPERTIES}"
        found = checkpoints.decode_properties(disk.read(path)) if exists else {}
        self._check_owner(found)
        self.directory_id = found.get("directory.id") or _random_uuid_text(self.home.random)
        properties = {
            **found,
            "version": "1",
            "node.id": str(self.node_id),
            "cluster.id": self.cluster_id,
            "directory.id": self.directory_id,
        }
        if properties != found:
            replace_file(disk, path, checkpoints.encode_properties(properties))

    def _check_owner(self, found: dict[str, str]) -> None:
        for name, mine in (("node.id", str(self.node_id)), ("cluster.id", self.cluster_id)):
            theirs = found.get(name, mine)
            if theirs != mine:
                raise ValueError(
                    f"the data directory {self.home.path} belongs to {name} {theirs}, not {mine}: "
                    f"use another directory, or set {name} to {theirs}"
                )

    def _read(self, name: str) -> dict[TopicPartition, int]:
        try:
            return checkpoints.read_offsets(self.home.disk, f"{self.home.path}/{name}")
        except CorruptCheckpointError as error:
            logger.warning("%s/%s is damaged (%s): logs are read in full instead", self.home.path, name, error)
            return {}

    def _remove_left_overs(self, names: set[str]) -> None:
        for name in names:
            if name.endswith("-delete"):
                self.home.disk.remove_tree(f"{self.home.path}/{name}")

    def shutdown(self, apply: Callable[[Callable[[Log], KafkaError | None], Iterable[Log]], _Outcomes] = map) -> None:
        """Flush and close every log, write the checkpoints, and last the marker of a clean stop.

        ``apply`` calls a function with each of the logs, like ``map``; that of a thread pool lets their syncs share the
        disk. Raises KAFKA_STORAGE_ERROR where any of it failed, when all else is done; the next start recovers then.
        """
        failed = [error for error in apply(_close, list(self.logs.values())) if error is not None]
        self.checkpoint_round()
        if failed:
            raise failed[0]
        if not self.home.offline:
            path = f"{self.home.path}/{checkpoints.CLEAN_SHUTDOWN}"
            try:
                self.home.disk.write(path, checkpoints.encode_clean_shutdown(self.broker_epoch))
                self.home.disk.sync_directory(self.home.path)
            except OSError as error:
                raise self.home.failed(error, "marking the clean stop") from error

    # -- logs ---------------------------------------------------------------------------------------------------------

    def open(self, topic: str, topic_id: bytes, partition: int, config: LogConfig) -> Log:
        """The log of a partition; made if it is not there. Raises KAFKA_STORAGE_ERROR.

        A directory of the same name that belonged to another topic id is put aside and removed: the topic was deleted
        and made again.
        """
        self.home.check()
        key = (topic, partition)
        log = self.logs.get(key)
        if log is not None and log.topic_id == topic_id:
            log.update_config(config)
            return log
        try:
            if log is not None:
                self.delete(log)
            path = f"{self.home.path}/{topic}-{partition}"
            if self._stored_topic_id(path) not in (None, topic_id):
                self._put_aside(path, config.file_delete_delay_ms)
            log = self._load_log(key, topic_id, config)
        except OSError as error:
            raise self.home.refused(error, f"opening {topic}-{partition}") from error
        self.logs[key] = log
        return log

    def _stored_topic_id(self, path: str) -> bytes | None:
        """Which topic a log's directory belongs to; None where that cannot be read, for instance after a power loss."""
        try:
            data = self.home.disk.read(f"{path}/{checkpoints.PARTITION_METADATA}")
            return checkpoints.decode_partition_metadata(data)
        except (FileNotFoundError, CorruptCheckpointError):
            return None

    def _load_log(self, key: TopicPartition, topic_id: bytes, config: LogConfig) -> Log:
        disk = self.home.disk
        log = Log(self.home, key[0], key[1], topic_id=topic_id, config=config)
        disk.make_directory(log.path)
        if self._stored_topic_id(log.path) is None:
            metadata = f"{log.path}/{checkpoints.PARTITION_METADATA}"
            disk.write(metadata, checkpoints.encode_partition_metadata(topic_id), sync=False)
            log.unsynced.append(metadata)
        recovery.load(
            log,
            clean=self.clean,
            recovery_point=self._recovery_points.get(key, 0),
            log_start_offset=self._log_starts.get(key, 0),
            compacted_to=self._cleaner_offsets.get(key, 0),
        )
        log.flushed_ms = self.home.clock.now_ms()
        return log

    def delete(self, log: Log) -> None:
        """Take a log out of use at once; its files are removed after file.delete.delay.ms."""
        log.cleaning = None
        self._uncleanable.discard(log)
        self.logs.pop((log.topic, log.partition), None)
        for offsets in (self._recovery_points, self._log_starts, self._high_watermarks, self._cleaner_offsets):
            offsets.pop((log.topic, log.partition), None)
        for segment in log.segments:
            segment.close()
        try:
            self._put_aside(log.path, log.config.file_delete_delay_ms)
        except OSError as error:
            raise self.home.failed(error, f"deleting {log.name}") from error

    def _put_aside(self, path: str, delay_ms: int) -> None:
        """Rename a log's directory to ``<name>.<32 hex digits>-delete``, as Kafka does."""
        doomed = f"{path}.{self.home.random.getrandbits(128):032x}-delete"
        self.home.disk.rename(path, doomed)
        self.home.remove_later(doomed, delay_ms)

    # -- housekeeping -------------------------------------------------------------------------------------------------

    def retention_round(self, now_ms: int) -> None:
        """Drop what the logs' settings no longer keep, forget idle producers, remove files whose delay is over."""
        for log in list(self.logs.values()):
            apply_retention(log, now_ms)
            log.producers.remove_expired(now_ms, self.producer_expiration_ms)
        self.home.remove_due(now_ms)

    def plan_compaction(self, now_ms: int) -> CompactionPlan | None:
        """The compaction that is most wanted; None where none is due. See ``finish_compaction``. Raises
        KAFKA_STORAGE_ERROR.
        """
        self.home.check()
        best: Cleanable | None = None
        for key, log in self.logs.items():
            if not log.config.compact or log in self._uncleanable:
                continue
            try:
                found = cleanable(log, self._cleaner_offsets.get(key), now_ms)
            except OSError as error:
                raise self.home.failed(error, f"looking for what to compact in {log.name}") from error
            if found is not None and found.due and (best is None or found.ratio > best.ratio):
                best = found
        return CompactionPlan(best, now_ms, self.cleaner_memory_bytes) if best is not None else None

    def finish_compaction(self, plan: CompactionPlan, result: CleaningResult | BaseException) -> None:
        """Take over what ``cleaning.clean(plan.job, disk)`` returned, in any thread or process, or the error it raised.

        A log whose compaction failed is left alone until the next start. Raises KAFKA_STORAGE_ERROR.
        """
        log = plan.log
        if isinstance(result, BaseException):
            if log.cleaning is plan:
                log.cleaning = None
                self._uncleanable.add(log)
                logger.error("Compaction of %s failed and is not tried again before a restart: %r", log.name, result)
            return
        end_offset = plan.finish(result)
        if end_offset is not None:
            self._cleaner_offsets[log.topic, log.partition] = end_offset

    def due_flushes(self, now_ms: int) -> list[Log]:
        """Logs to ``flush`` now, in any thread: flush.ms has passed, or they have begun a new segment."""
        due: list[Log] = []
        for log in self.logs.values():
            rolled = log.active.base_offset > log.recovery_point
            if rolled or (log.unflushed and now_ms - log.flushed_ms >= log.config.flush_ms):
                log.flushed_ms = now_ms
                due.append(log)
        return due

    def flush_round(self, now_ms: int) -> None:
        """Flush what is due, in this thread."""
        for log in self.due_flushes(now_ms):
            log.flush()

    def checkpoint_round(self) -> None:
        """Write the offset checkpoints that have changed since they were last written, in this thread."""
        self.plan_checkpoints()()

    def plan_checkpoints(self) -> Callable[[], None]:
        """What writes the offset checkpoints as they are now; to be called once, in any thread."""
        for key, log in self.logs.items():
            if log.topic != METADATA_LOG:
                self._recovery_points[key] = log.recovery_point
                self._high_watermarks[key] = log.log_end_offset
                if log.log_start_offset > 0:
                    # Kafka leaves out starts at a segment's beginning; a power loss can bring a removed segment back.
                    self._log_starts[key] = log.log_start_offset
                else:
                    self._log_starts.pop(key, None)
        content = {
            checkpoints.RECOVERY_POINTS: dict(self._recovery_points),
            checkpoints.HIGH_WATERMARKS: dict(self._high_watermarks),
            checkpoints.LOG_STARTS: dict(self._log_starts),
            checkpoints.CLEANER_OFFSETS: dict(self._cleaner_offsets),
        }
        return lambda: self._write_checkpoints(content)

    def _write_checkpoints(self, content: dict[str, dict[TopicPartition, int]]) -> None:
        with self._writing:
            try:
                for name, offsets in content.items():
                    if not self.home.offline and self._written.get(name) != offsets:
                        checkpoints.write_offsets(self.home.disk, f"{self.home.path}/{name}", offsets)
                        self._written[name] = offsets
            except OSError as error:
                raise self.home.refused(error, "writing checkpoints") from error


def _close(log: Log) -> KafkaError | None:
    try:
        log.close()
    except KafkaError as error:
        return error
    return None


def _random_uuid_text(random: Random) -> str:
    """A random id in Kafka's form: 16 bytes in base64 for URLs; never one that begins with a dash, as Kafka's."""
    while True:
        raw = bytearray(random.getrandbits(128).to_bytes(16, "big"))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        text = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
        if not text.startswith("-"):
            return text
