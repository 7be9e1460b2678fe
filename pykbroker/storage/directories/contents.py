"""One log directory: meta.properties, the offset checkpoints, the directories of partitions, the clean shutdown marker."""

from __future__ import annotations

import base64
import contextlib
import logging
import threading
from collections.abc import Callable, Collection, Iterable
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from pykbroker.storage import checkpoints, names
from pykbroker.storage.checkpoints import CorruptCheckpointError, TopicPartition, replace_file
from pykbroker.storage.directories import closed_logs
from pykbroker.storage.directory import LogDirectory
from pykbroker.storage.log.leftovers import remove_leftovers
from pykbroker.storage.log.log import Log

if TYPE_CHECKING:
    from pykbroker.storage.disk import Disk

logger = logging.getLogger(__name__)

METADATA_LOG = "__cluster_metadata"

#: What lies beside the folders of brokers that have copies of their own: the plan of a division, the mark of ``--security``.
_OWN_FILES = "pykbroker-"

#: How many partitions a log line names.
_SOME = 3


class ForeignDirectoryError(ValueError):
    """The directory belongs to another node or cluster, or its owner is unknown; the text says what to do."""


def check_ours(disk: Disk, path: str) -> None:
    """Check that a directory is a log directory, empty, or missing: nothing in any other is touched.

    Raises ForeignDirectoryError, or OSError if it cannot be read.
    """
    if not disk.exists(path) or "cluster.id" in checkpoints.read_meta_properties(disk, path):
        return
    found = disk.list(path)
    others = names.unowned(found)
    brokers = {name for name in others if _of_broker(disk, path, name)}
    if brokers:
        others = [name for name in others if name not in brokers and not name.startswith(_OWN_FILES)]
    if f"{METADATA_LOG}-0" in others:
        raise ForeignDirectoryError(
            f"{path} holds data, but its {checkpoints.META_PROPERTIES}, which names their cluster, is missing or damaged: "
            "restore that file, or write one with the lines version=1, node.id=1 and cluster.id=ID, where 1 is the node's "
            "id and ID the cluster's (22 characters; any, if it is not known)"
        )
    if others:
        raise ForeignDirectoryError(
            f"it holds {_some(others)} but no {checkpoints.META_PROPERTIES}, so it is not a log directory and is left "
            "unchanged: choose an empty or a new one with --data-dir DIR (or log.dirs)"
        )


def brokers_in(disk: Disk, path: str) -> list[int]:
    """The node ids of the brokers that have copies of their own in folders of this log directory. Raises OSError."""
    names_of_ids = [name for name in disk.list(path) if _is_id(name)] if disk.exists(path) else []
    return sorted(int(name) for name in names_of_ids if disk.exists(f"{path}/{name}/{checkpoints.META_PROPERTIES}"))


def _of_broker(disk: Disk, path: str, name: str) -> bool:
    """Whether this is the folder of a broker, which its first start may have left unfinished."""
    if not _is_id(name):
        return False
    try:
        found = disk.list(f"{path}/{name}")
    except NotADirectoryError:
        return False
    return checkpoints.META_PROPERTIES in found or not names.unowned(found)


def _is_id(name: str) -> bool:
    return name.isascii() and name.isdecimal() and str(int(name)) == name


def _some(found: list[str]) -> str:
    return found[0] if len(found) == 1 else f"{found[0]} and {len(found) - 1} more"


class DirectoryContents:
    """One directory of ``log.dirs``, in Kafka's layout. Runs in one thread, except for the writing of checkpoints."""

    def __init__(self, directory: LogDirectory) -> None:
        self.directory = directory
        #: directory.id of meta.properties: 22 characters.
        self.directory_id = ""
        #: Whether the last shutdown was clean: set by ``load``.
        self.clean = False
        #: The clean shutdown marker that was found.
        self._marker = b""
        #: The number of partitions here.
        self.partitions = 0
        #: Closed logs that are unchanged since a clean shutdown, although the last one was unclean.
        self.closed: set[TopicPartition] = set()
        self.recovery_points: dict[TopicPartition, int] = {}
        self.log_starts: dict[TopicPartition, int] = {}
        self.high_watermarks: dict[TopicPartition, int] = {}
        self.cleaner_offsets: dict[TopicPartition, int] = {}
        #: Partitions with renamed directories, whose renames may not be synced, and the new names.
        self._aside: dict[TopicPartition, str] = {}
        #: The content of the checkpoint files.
        self._written: dict[str, dict[TopicPartition, int]] = {}
        self._writing = threading.Lock()
        #: The number of the newest plan to write them, and of the newest one carried out.
        self._planned = self._carried_out = 0
        #: Partitions that are gone, and the number of the last plan that may include them.
        self._forgotten: dict[TopicPartition, int] = {}

    @property
    def path(self) -> str:
        return self.directory.path

    # -- starting -----------------------------------------------------------------------------------------------------

    def load(self, node_id: int, cluster_id: str) -> None:
        """Create the directory if missing, check its owner, read the checkpoints, remove deleted partitions' files.

        Raises OSError if the directory cannot be used, ForeignDirectoryError if it belongs to another node or cluster.
        """
        disk, path = self.directory.disk, self.path
        disk.make_directory(path, sync=True)
        check_ours(disk, path)
        found = set(disk.list(path))
        self._load_meta_properties(node_id, cluster_id)
        for name in sorted(found):
            # The copy of an interrupted move (Kafka's, too) is removed: the log itself is elsewhere.
            left_over = names.put_aside_as(name) in (names.DELETE, names.FUTURE)
            if left_over and names.remove_partition(disk, f"{path}/{name}"):
                logger.info("Removed %s/%s, left over from the last run", path, name)
        there = set(_partitions(found))
        self.partitions = len(there)
        self.recovery_points = self._read(checkpoints.RECOVERY_POINTS, there)
        self.log_starts = self._read(checkpoints.LOG_STARTS, there)
        self.high_watermarks = self._read(checkpoints.HIGH_WATERMARKS, there)
        self.cleaner_offsets = self._read(checkpoints.CLEANER_OFFSETS, there)
        self.clean = checkpoints.CLEAN_SHUTDOWN in found
        if self.clean:
            self._marker = disk.read(f"{path}/{checkpoints.CLEAN_SHUTDOWN}")
            disk.remove(f"{path}/{checkpoints.CLEAN_SHUTDOWN}")
            disk.sync_directory(path)
        elif found:
            self._find_closed(found)

    @property
    def previous_epoch(self) -> int:
        """The broker's epoch before its last clean shutdown (KIP-966); -1 if that was unclean, or is unknown."""
        return checkpoints.decode_clean_shutdown(self._marker) if self._marker else -1

    def forget_clean_shutdown(self) -> None:
        """The logs here were not closed."""
        self.clean, self._marker = False, b""
        self.closed.clear()

    def _load_meta_properties(self, node_id: int, cluster_id: str) -> None:
        disk, path = self.directory.disk, f"{self.path}/{checkpoints.META_PROPERTIES}"
        found = checkpoints.read_meta_properties(disk, self.path)
        for name, mine in (("node.id", str(node_id)), ("cluster.id", cluster_id)):
            theirs = found.get(name, mine)
            if theirs != mine:
                raise ForeignDirectoryError(
                    f"{self.path} belongs to {name} {theirs}, not {mine}: use another directory"
                    + (f", or set node.id to {theirs}" if name == "node.id" else "")
                )
        self.directory_id = found.get("directory.id") or _random_uuid_text(self.directory.random)
        properties = {
            **found,
            "version": "1",
            "node.id": str(node_id),
            "cluster.id": cluster_id,
            "directory.id": self.directory_id,
        }
        if properties != found:
            replace_file(disk, path, checkpoints.encode_properties(properties))

    def _find_closed(self, found: Iterable[str]) -> None:
        """Find the logs that need no recovery. The stored states of the others are removed, on the disk too: a power loss
        may undo their recovery, and the result must not pass for a cleanly closed log.
        """
        disk, path = self.directory.disk, self.path
        looks = closed_logs.read_looks(disk, path)
        still = {key: look for key, look in looks.items() if closed_logs.look_now(disk, path, key) == look}
        self._remove_leftovers(found, still)
        if len(still) < len(looks):
            closed_logs.write_looks(disk, path, still)
        self.closed.update(still)

    def _remove_leftovers(self, found: Iterable[str], closed: Collection[TopicPartition]) -> None:
        """Remove the files of unfinished compactions before any log is opened: they may fill the disk, and opening writes.
        A log that was closed cleanly has none.
        """
        disk = self.directory.disk
        for name in sorted(found):
            match = names.PARTITION.fullmatch(name)
            if match is not None and (match["topic"], int(match["index"])) not in closed:
                directory = f"{self.path}/{name}"
                with contextlib.suppress(NotADirectoryError):
                    remove_leftovers(disk, directory, disk.list(directory))

    def _read(self, name: str, there: set[TopicPartition]) -> dict[TopicPartition, int]:
        """The checkpoint's entries for the partitions that are ``there``; the others belong to deleted topics."""
        try:
            offsets = checkpoints.read_offsets(self.directory.disk, f"{self.path}/{name}")
        except CorruptCheckpointError as error:
            logger.warning("Checkpoint %s/%s is corrupt (%s): logs are read in full instead", self.path, name, error)
            return {}
        if offsets:
            self._written[name] = offsets
        return {key: offset for key, offset in offsets.items() if key in there}

    # -- serving ------------------------------------------------------------------------------------------------------

    def holds(self, name: str) -> bool:
        """Whether the partition ``name``, or a file in its directory, is here."""
        return not self.directory.offline and self.directory.disk.exists(f"{self.path}/{name}")

    def partition_names(self) -> list[tuple[str, int]]:
        """Topic and index of the partitions with files here, including those of deleted topics. Raises OSError."""
        return _partitions(self.directory.disk.list(self.path))

    def adopt(self, key: TopicPartition, other: DirectoryContents) -> None:
        """Take over a partition whose log was closed cleanly in the log directory ``other``."""
        self.partitions += 1
        self.closed.add(key)
        for mine, theirs in zip(self._checkpoints, other._checkpoints, strict=True):
            if key in theirs:
                mine[key] = theirs[key]

    @property
    def _checkpoints(self) -> tuple[dict[TopicPartition, int], ...]:
        return self.recovery_points, self.log_starts, self.high_watermarks, self.cleaner_offsets

    def forget(self, key: TopicPartition) -> None:
        """Drop a partition that is no longer here."""
        self.partitions -= 1
        self.closed.discard(key)
        for offsets in self._checkpoints:
            offsets.pop(key, None)
        self._forgotten[key] = self._planned

    def make(self, key: TopicPartition) -> None:
        """Create the directory of a partition if missing, after ``plan_room``'s work. Raises OSError or KafkaError
        KAFKA_STORAGE_ERROR.
        """
        path = f"{self.path}/{key[0]}-{key[1]}"
        if self.directory.disk.exists(path):
            return
        for offsets in self._checkpoints:
            offsets.pop(key, None)
        make_room = self.plan_room((key,))
        if make_room is not None:
            make_room()
        # The metadata log holds credentials of SCRAM, and passwords in altered settings.
        self.directory.disk.make_directory(path, private=key[0] == METADATA_LOG)

    def plan_room(self, keys: Collection[TopicPartition]) -> Callable[[], None] | None:
        """The work that frees these names for new partitions, None if they are free: to be called once, in any thread. It
        raises OSError or KafkaError KAFKA_STORAGE_ERROR.

        It syncs the renames of old directories, so that none returns under its old name after a power loss, and removes
        the old partitions from the checkpoints.
        """
        if self._aside.keys().isdisjoint(keys) and not self._may_be_written(keys):
            return None
        return partial(self._make_room_for_others, dict(self._aside), self.plan_checkpoints())

    def _may_be_written(self, keys: Collection[TopicPartition]) -> bool:
        """Whether a checkpoint file has, or a pending write may add, an entry of a partition that is gone."""
        forgotten = self._forgotten  # a thread that has written replaces it
        if any(forgotten[key] >= self._carried_out for key in forgotten.keys() & keys):
            return True
        return not all(offsets.keys().isdisjoint(keys) for offsets in list(self._written.values()))

    def _make_room_for_others(self, aside: dict[TopicPartition, str], write_checkpoints: Callable[[], None]) -> None:
        if aside:
            self.directory.disk.sync_directory(self.path)
            closed_logs.drop_looks(self.directory.disk, self.path, aside.keys())
            for key, name in aside.items():
                if self._aside.get(key) == name:
                    del self._aside[key]
        write_checkpoints()

    def put_aside(self, key: TopicPartition, why: str) -> str:
        """Rename a partition's directory to ``<name>.<32 hex digits>-<why>``, as Kafka does; returns the new path. A long
        topic name is cut.
        """
        topic, partition = key
        end = names.renamed(f"-{partition}", self.directory.random.getrandbits(128), why)
        aside = f"{self.path}/{topic[: names.LONGEST - len(end)]}{end}"
        self.directory.disk.rename(f"{self.path}/{topic}-{partition}", aside)
        self._aside[key] = aside
        return aside

    def note(self, log: Log) -> None:
        """Apply the checkpoints to an open log."""
        key = log.topic, log.partition
        if log.topic != METADATA_LOG:
            self.recovery_points[key] = log.recovery_point
            self.high_watermarks[key] = log.high_watermark
            if log.log_start_offset > 0:
                # Kafka omits log start offsets at a segment's base offset; but a power loss can restore a removed segment.
                self.log_starts[key] = log.log_start_offset
            else:
                self.log_starts.pop(key, None)

    def note_cut(self, log: Log) -> None:
        """If a loaded log ends before its recovery point, correct the checkpoint before anything is appended: otherwise the
        next recovery would skip new batches. Raises KafkaError KAFKA_STORAGE_ERROR.
        """
        if log.log_end_offset < self.recovery_points.get((log.topic, log.partition), 0):
            self.note(log)
            self.plan_checkpoints()()

    def plan_checkpoints(self) -> Callable[[], None]:
        """The writing of the offset checkpoints, with what was noted: to be called once, in any thread."""
        content = {
            checkpoints.RECOVERY_POINTS: dict(self.recovery_points),
            checkpoints.HIGH_WATERMARKS: dict(self.high_watermarks),
            checkpoints.LOG_STARTS: dict(self.log_starts),
            checkpoints.CLEANER_OFFSETS: dict(self.cleaner_offsets),
        }
        self._planned += 1
        self._forgotten = {key: last for key, last in self._forgotten.items() if last >= self._carried_out}
        return partial(self._write_checkpoints, content, self._planned)

    def _write_checkpoints(self, content: dict[str, dict[TopicPartition, int]], number: int) -> None:
        """A plan older than one carried out does nothing; partitions that have left since it was made are omitted."""
        with self._writing:
            if number < self._carried_out:
                return
            self._carried_out = number
            for key, last in self._forgotten.copy().items():
                if number <= last:
                    for offsets in content.values():
                        offsets.pop(key, None)
            try:
                for name, offsets in content.items():
                    if not self.directory.offline and self._written.get(name) != offsets:
                        checkpoints.write_offsets(self.directory.disk, f"{self.path}/{name}", offsets)
                        self._written[name] = offsets
            except OSError as error:
                raise self.directory.refused(error, "writing checkpoints") from error

    def mark_clean_shutdown(self, broker_epoch: int, logs: Iterable[Log]) -> None:
        """Write the states of the closed ``logs`` and of those that were not opened, which help the start after an unclean
        shutdown, and the clean shutdown marker, which spares the next start every recovery. A log that still waits for its
        recovery keeps the marker from being written. Raises KafkaError KAFKA_STORAGE_ERROR.
        """
        disk, path = self.directory.disk, self.path
        try:
            closed = {(log.topic, log.partition) for log in logs if log.topic != METADATA_LOG}
            looks = closed_logs.read_looks(disk, path)
            found = {key: closed_logs.look_now(disk, path, key) for key in sorted(closed | looks.keys())}
            looks_now = {
                key: look for key, look in found.items() if look is not None and (key in closed or look == looks[key])
            }
            if looks_now != looks:
                closed_logs.write_looks(disk, path, looks_now)
            unrecovered = self._unrecovered(closed)
            if unrecovered:
                logger.warning(
                    "Log directory %s has no clean shutdown marker: %d logs there have not been recovered since the last "
                    "unclean shutdown, %s among them. Each start tries again.",
                    path,
                    len(unrecovered),
                    ", ".join(f"{topic}-{partition}" for topic, partition in unrecovered[:_SOME]),
                )
                return
            disk.write(f"{path}/{checkpoints.CLEAN_SHUTDOWN}", checkpoints.encode_clean_shutdown(broker_epoch))
            disk.sync_directory(path)
        except OSError as error:
            raise self.directory.failed(error, "marking the clean shutdown") from error

    def _unrecovered(self, opened: Collection[TopicPartition]) -> list[TopicPartition]:
        """The partitions that the last shutdown, an unclean one, may have left torn and that were not opened since, as one
        that was refused while another log directory was offline. Raises OSError.
        """
        if self.clean:
            return []
        others = set(self.partition_names()) - self.closed - set(opened)
        return [
            (topic, partition)
            for topic, partition in sorted(others)
            if topic != METADATA_LOG and names.is_partition(self.directory.disk, f"{self.path}/{topic}-{partition}")
        ]


def _partitions(found: Iterable[str]) -> list[TopicPartition]:
    """The partitions whose directories have these names."""
    matches = (names.PARTITION.fullmatch(name) for name in found)
    return [(match["topic"], int(match["index"])) for match in matches if match is not None]


def _random_uuid_text(random: Random) -> str:
    """A random id in Kafka's form: 16 bytes in URL-safe base64, not beginning with a dash."""
    while True:
        raw = bytearray(random.getrandbits(128).to_bytes(16, "big"))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        text = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
        if not text.startswith("-"):
            return text
