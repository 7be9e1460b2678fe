"""What lies beside the logs of a log directory: whose it is, the offset checkpoints, the marker of a clean shutdown."""

from __future__ import annotations

import base64
import contextlib
import logging
import threading
from collections.abc import Callable, Collection, Iterable
from functools import partial
from random import Random

from pykbroker.storage import checkpoints, names
from pykbroker.storage.checkpoints import CorruptCheckpointError, TopicPartition
from pykbroker.storage.directories import closed_logs
from pykbroker.storage.directory import LogDirectory
from pykbroker.storage.disk import Disk, replace_file
from pykbroker.storage.log.leftovers import remove_leftovers
from pykbroker.storage.log.log import Log

logger = logging.getLogger(__name__)

METADATA_LOG = "__cluster_metadata"

#: What file systems take, and Kafka assumes.
_LONGEST_NAME = 255


class ForeignDirectoryError(ValueError):
    """The directory belongs to another node or cluster, or nobody can say to whom; the text says what to do."""


def check_ours(disk: Disk, path: str) -> None:
    """See that a directory is a broker's, or empty: nothing in it is touched otherwise. One that is missing may be made.

    Raises ForeignDirectoryError, or OSError where it cannot be read.
    """
    if not disk.exists(path) or "cluster.id" in checkpoints.read_meta_properties(disk, path):
        return
    found = disk.list(path)
    others = names.unowned(found)
    if f"{METADATA_LOG}-0" in others:
        raise ForeignDirectoryError(
            f"{path} holds data, but {checkpoints.META_PROPERTIES} in it is missing or damaged, which says to which "
            "cluster they belong: put that file back, or write one with the lines version=1, node.id=1 and cluster.id=ID, "
            "where 1 is the node's id and ID the cluster's (22 characters; any, if nobody remembers)"
        )
    if others:
        raise ForeignDirectoryError(
            f"it holds {_some(others)}, and no {checkpoints.META_PROPERTIES}, so it is not a broker's and is left as it "
            "is: choose an empty or a new one with --data-dir DIR (or log.dirs)"
        )


def _some(found: list[str]) -> str:
    return found[0] if len(found) == 1 else f"{found[0]} and {len(found) - 1} more"


class DirectoryContents:
    """One directory of ``log.dirs``, in Kafka's layout. Runs in one thread, but for the writing of checkpoints."""

    def __init__(self, directory: LogDirectory) -> None:
        self.directory = directory
        #: directory.id of meta.properties: 22 characters.
        self.directory_id = ""
        #: Whether the last shutdown was clean: set by ``load``.
        self.clean = False
        #: How many partitions lie here.
        self.partitions = 0
        #: Logs that are not open and lie as they were closed, although the last shutdown was unclean.
        self.closed: set[TopicPartition] = set()
        self.recovery_points: dict[TopicPartition, int] = {}
        self.log_starts: dict[TopicPartition, int] = {}
        self.high_watermarks: dict[TopicPartition, int] = {}
        self.cleaner_offsets: dict[TopicPartition, int] = {}
        #: Partitions whose directories were renamed, perhaps not on the disk yet, and the new names.
        self._aside: dict[TopicPartition, str] = {}
        #: What the checkpoint files say.
        self._written: dict[str, dict[TopicPartition, int]] = {}
        self._writing = threading.Lock()
        #: Numbers of the newest plan to write them, and of the newest that was carried out.
        self._planned = self._carried_out = 0
        #: Partitions that left, and the number of the last plan that may know of them.
        self._forgotten: dict[TopicPartition, int] = {}

    @property
    def path(self) -> str:
        return self.directory.path

    # -- starting -----------------------------------------------------------------------------------------------------

    def load(self, node_id: int, cluster_id: str) -> None:
        """Make the directory where it is missing, see whose it is, read the checkpoints, remove what was deleted.

        Raises OSError where the directory cannot be used, ForeignDirectoryError where it belongs to somebody else.
        """
        disk, path = self.directory.disk, self.path
        disk.make_directory(path, sync=True)
        check_ours(disk, path)
        found = set(disk.list(path))
        self._load_meta_properties(node_id, cluster_id)
        for name in sorted(found):
            # The copy of an interrupted move (Kafka's, too) is removed: the log itself lies elsewhere.
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
            disk.remove(f"{path}/{checkpoints.CLEAN_SHUTDOWN}")
            disk.sync_directory(path)
        elif found:
            self._find_closed(found)

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
        """See which logs need no recovery. The others are forgotten, on the disk too: what recovery makes of their files may
        be lost with the power, and whatever that leaves must not look as if it had been closed.
        """
        disk, path = self.directory.disk, self.path
        looks = closed_logs.read_looks(disk, path)
        still = {key: look for key, look in looks.items() if closed_logs.look_now(disk, path, key) == look}
        self._remove_leftovers(found, still)
        if len(still) < len(looks):
            closed_logs.write_looks(disk, path, still)
        self.closed.update(still)

    def _remove_leftovers(self, found: Iterable[str], closed: Collection[TopicPartition]) -> None:
        """Remove what a compaction was writing when the process ended, before anything is opened: it may fill the disk, and
        opening writes. A log that lies as it was closed has none of that.
        """
        disk = self.directory.disk
        for name in sorted(found):
            match = names.PARTITION.fullmatch(name)
            if match is not None and (match["topic"], int(match["index"])) not in closed:
                directory = f"{self.path}/{name}"
                with contextlib.suppress(NotADirectoryError):
                    remove_leftovers(disk, directory, disk.list(directory))

    def _read(self, name: str, there: set[TopicPartition]) -> dict[TopicPartition, int]:
        """What a checkpoint says of the partitions that are ``there``; what it says of others is of topics that are gone."""
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
        """Whether the directory of the partition ``name``, or a file in such a one, lies here."""
        return not self.directory.offline and self.directory.disk.exists(f"{self.path}/{name}")

    def partition_names(self) -> list[tuple[str, int]]:
        """Topic and index of the partitions that have files here, of topics that may be gone. Raises OSError."""
        return _partitions(self.directory.disk.list(self.path))

    def adopt(self, key: TopicPartition, other: DirectoryContents) -> None:
        """A partition will lie here, whose log was closed well in another directory."""
        self.partitions += 1
        self.closed.add(key)
        for mine, theirs in zip(self._checkpoints, other._checkpoints, strict=True):
            if key in theirs:
                mine[key] = theirs[key]

    @property
    def _checkpoints(self) -> tuple[dict[TopicPartition, int], ...]:
        return self.recovery_points, self.log_starts, self.high_watermarks, self.cleaner_offsets

    def forget(self, key: TopicPartition) -> None:
        """A partition is no longer here."""
        self.partitions -= 1
        self.closed.discard(key)
        for offsets in self._checkpoints:
            offsets.pop(key, None)
        self._forgotten[key] = self._planned

    def make(self, key: TopicPartition) -> None:
        """Make the directory of a partition where it is missing, and room for it before. Raises OSError or
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
        self.directory.disk.make_directory(path)

    def plan_room(self, keys: Collection[TopicPartition]) -> Callable[[], None] | None:
        """What makes room for new partitions of these names; None where there is room. To be called once, in any thread; it
        raises OSError or KAFKA_STORAGE_ERROR.

        A directory that was put aside does not come back under its old name after a power loss then, and what is written down
        beside the logs says nothing of it.
        """
        if not any(key in self._aside or self._may_be_written(key) for key in keys):
            return None
        return partial(self._make_room_for_others, dict(self._aside), self._plan_writing())

    def _may_be_written(self, key: TopicPartition) -> bool:
        """Whether a checkpoint file says something of a partition that is no longer here, or a writer may be about to."""
        written = list(self._written.values())
        return self._forgotten.get(key, -1) >= self._carried_out or any(key in offsets for offsets in written)

    def _make_room_for_others(self, aside: dict[TopicPartition, str], write_checkpoints: Callable[[], None]) -> None:
        if aside:
            self.directory.disk.sync_directory(self.path)
            closed_logs.drop_looks(self.directory.disk, self.path, aside.keys())
            for key, name in aside.items():
                if self._aside.get(key) == name:
                    del self._aside[key]
        write_checkpoints()

    def put_aside(self, key: TopicPartition, why: str) -> str:
        """Rename a partition's directory to ``<name>.<32 hex digits>-<why>``, as Kafka does; its new path. Of a topic's long
        name only the beginning stays.
        """
        topic, partition = key
        end = f"-{partition}.{self.directory.random.getrandbits(128):032x}{why}"
        aside = f"{self.path}/{topic[: _LONGEST_NAME - len(end)]}{end}"
        self.directory.disk.rename(f"{self.path}/{topic}-{partition}", aside)
        self._aside[key] = aside
        return aside

    def note(self, log: Log) -> None:
        """Take over what the checkpoints say of an open log."""
        key = log.topic, log.partition
        if log.topic != METADATA_LOG:
            self.recovery_points[key] = log.recovery_point
            self.high_watermarks[key] = log.high_watermark
            if log.log_start_offset > 0:
                # Kafka leaves out starts at a segment's beginning; a power loss can bring a removed segment back.
                self.log_starts[key] = log.log_start_offset
            else:
                self.log_starts.pop(key, None)

    def note_cut(self, log: Log) -> None:
        """Where a log that was just loaded ends before its recovery point, have the checkpoint say so before anything is
        appended: the next recovery would begin behind that otherwise. Raises KAFKA_STORAGE_ERROR.
        """
        if log.log_end_offset < self.recovery_points.get((log.topic, log.partition), 0):
            self.note(log)
            self._plan_writing()()

    def plan_checkpoints(self, logs: Iterable[Log]) -> Callable[[], None]:
        """What writes the offset checkpoints as the open ``logs`` of this directory make them; to be called once, in any
        thread.
        """
        for log in logs:
            self.note(log)
        return self._plan_writing()

    def _plan_writing(self) -> Callable[[], None]:
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
        """An older plan than one that was carried out does nothing, and none writes of partitions that left after it was made."""
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
        """Leave the marker that spares the next start a recovery, and what the one after that needs should it end with a kill:
        how the ``logs`` of this directory lie, which were closed, and those that nobody opened. Raises KAFKA_STORAGE_ERROR.
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
            marker = checkpoints.encode_clean_shutdown(broker_epoch)
            self.directory.disk.write(f"{self.path}/{checkpoints.CLEAN_SHUTDOWN}", marker)
            self.directory.disk.sync_directory(self.path)
        except OSError as error:
            raise self.directory.failed(error, "marking the clean shutdown") from error


def _partitions(found: Iterable[str]) -> list[TopicPartition]:
    """The partitions that have directories of these names."""
    matches = (names.PARTITION.fullmatch(name) for name in found)
    return [(match["topic"], int(match["index"])) for match in matches if match is not None]


def _random_uuid_text(random: Random) -> str:
    """A random id in Kafka's form: 16 bytes in base64 for URLs; never one that begins with a dash, as Kafka's."""
    while True:
        raw = bytearray(random.getrandbits(128).to_bytes(16, "big"))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        text = base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
        if not text.startswith("-"):
            return text
