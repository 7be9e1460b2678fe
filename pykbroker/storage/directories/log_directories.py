"""The directories of ``log.dirs`` together: which of them a partition lies in, and which a new one goes to."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import TypeVar

from pykbroker.runtime.clock import Clock
from pykbroker.storage.checkpoints import PARTITION_METADATA, TopicPartition, read_topic_id
from pykbroker.storage.directories.contents import METADATA_LOG, DirectoryContents, check_ours
from pykbroker.storage.directories.warming import directory_bytes, warm
from pykbroker.storage.directory import LogDirectory
from pykbroker.storage.disk import Disk
from pykbroker.storage.log.leftovers import offset_in
from pykbroker.storage.names import STRAY, is_partition
from pykbroker.wire.errors import KafkaError

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
#: Before any end of a log.
_NO_END = (False, -1, -1)


class LogDirectories:
    """The first has the metadata log, and partitions as the others have, unless ``metadata_apart``."""

    def __init__(
        self, paths: Sequence[Path], disk: Disk, clock: Clock, random: Random, *, metadata_apart: bool
    ) -> None:
        self.all = [DirectoryContents(LogDirectory(str(path.absolute()), disk, clock, random)) for path in paths]
        #: Where partitions may lie.
        self.of_partitions = self.all[1:] if metadata_apart else self.all
        #: Where new partitions will lie, whose files are not made yet.
        self._placed: dict[TopicPartition, DirectoryContents] = {}

    def __iter__(self) -> Iterator[DirectoryContents]:
        return iter(self.all)

    @property
    def metadata(self) -> DirectoryContents:
        """The directory with the metadata log."""
        return self.all[0]

    def load(self, node_id: int, cluster_id: str) -> None:
        """See whose the directories are, and read what lies beside the logs; one that cannot be used is offline.

        Raises OSError where it is the one with the metadata log, or where none is left for partitions;
        ForeignDirectoryError where one belongs to another node or cluster.
        """
        for contents in self.all:  # before anything is written in any
            with contextlib.suppress(OSError):
                check_ours(contents.directory.disk, contents.path)
        for contents in self.all:
            try:
                contents.load(node_id, cluster_id)
            except OSError as error:
                contents.directory.failed(error, "reading it at the start")
                if contents is self.metadata or all(each.directory.offline for each in self.of_partitions):
                    raise

    @property
    def usable(self) -> list[DirectoryContents]:
        """Those that are not offline."""
        return [contents for contents in self.all if not contents.directory.offline]

    def at(self, directory: LogDirectory) -> DirectoryContents:
        """The one that is this directory."""
        return next(contents for contents in self.all if contents.directory is directory)

    # -- where partitions lie -----------------------------------------------------------------------------------------

    def plan_room(self, keys: Collection[TopicPartition]) -> Callable[[], None] | None:
        """What makes room for new partitions of these names, of which others were deleted: it waits for the disk, and is to
        be called once, in any thread, before anybody is told of the new ones. None where there is room.
        """
        plans = [
            (contents.directory, plan)
            for contents in self.of_partitions
            if not contents.directory.offline and (plan := contents.plan_room(keys)) is not None
        ]

        def make_room() -> None:
            for directory, plan in plans:
                try:
                    plan()
                except OSError as error:
                    directory.failed(error, "making room for new partitions")
                except KafkaError as error:
                    logger.error(
                        "Checkpoints still name deleted partitions, until partitions of these names are opened again: %s",
                        error,
                    )

        return make_room if plans else None

    def place(self, key: TopicPartition) -> None:
        """Choose the directory of a new partition, whose files are made when it is first opened: as Kafka does, the one
        with the fewest partitions.
        """
        if len(self.of_partitions) > 1:
            self._place(key, self._emptiest())

    def place_in(self, contents: DirectoryContents, key: TopicPartition) -> bool:
        """Have a partition in a directory of choice; False where it has files in another one already."""
        holding = self.holding(key)
        if holding is None:
            self.forget_placed(key)
            self._place(key, contents)
        return holding in (None, contents)

    def _place(self, key: TopicPartition, contents: DirectoryContents) -> None:
        contents.partitions += 1
        self._placed[key] = contents

    def forget_placed(self, key: TopicPartition) -> None:
        """A partition that has no files yet will have none."""
        placed = self._placed.pop(key, None)
        if placed is not None:
            placed.partitions -= 1

    def holding(self, key: TopicPartition) -> DirectoryContents | None:
        """The directory that has a partition's files; None where they are nowhere, or in one that is offline.

        Something of that name may lie in another one too, which is no partition: somebody's, or one that lost all its files
        with the power.
        """
        name = f"{key[0]}-{key[1]}"
        found = [contents for contents in self.of_partitions if contents.holds(name)]
        if len(found) > 1:
            found = [contents for contents in found if contents.holds(f"{name}/{PARTITION_METADATA}")] or found
        return found[0] if found else None

    def of(self, key: TopicPartition, topic_id: bytes | None = None) -> DirectoryContents:
        """Where a partition lies, or is to be made. Raises KAFKA_STORAGE_ERROR where that is perhaps one that is offline: what a
        former topic of the name has left in another one does not stand in for it, where ``topic_id`` says whose the partition is.
        """
        if key[0] == METADATA_LOG:
            return self.metadata
        if len(self.of_partitions) == 1:
            return self.of_partitions[0]
        placed = self._placed.pop(key, None)
        if placed is not None:
            return placed
        found = self.holding(key)
        if found is None or (topic_id is not None and not self._is_surely_in(found, key, topic_id)):
            for contents in self.of_partitions:
                contents.directory.check()
        if found is None:
            found = self._emptiest()
            found.partitions += 1
        return found

    def _is_surely_in(self, found: DirectoryContents, key: TopicPartition, topic_id: bytes) -> bool:
        """Where all directories can be read, that was seen to at the start, and no id is read again."""
        if not any(contents.directory.offline for contents in self.of_partitions):
            return True
        path = f"{found.path}/{key[0]}-{key[1]}"
        try:
            return read_topic_id(found.directory.disk, path) == topic_id
        except OSError as error:
            found.directory.failed(error, f"looking whose {path} is")
            return False

    def expected(self, key: TopicPartition) -> DirectoryContents:
        """Where a partition without files would be made."""
        return self._placed.get(key) or self._emptiest()

    def _emptiest(self) -> DirectoryContents:
        usable = [contents for contents in self.of_partitions if not contents.directory.offline]
        return min(usable or self.of_partitions, key=lambda contents: contents.partitions)

    def existing(self) -> set[TopicPartition]:
        """The partitions that have files. Raises OSError."""
        usable = (contents for contents in self.of_partitions if not contents.directory.offline)
        return {key for contents in usable for key in contents.partition_names()}

    def size_of(self, key: TopicPartition) -> tuple[LogDirectory, int]:
        """Where a log that is not open lies, or would lie, and how many bytes of batches it has.

        Waits for the disk; for any thread. Raises KAFKA_STORAGE_ERROR.
        """
        contents = self.holding(key)
        if contents is None:
            expected = self.expected(key).directory
            expected.check()
            return expected, 0
        name = f"{key[0]}-{key[1]}"
        try:
            return contents.directory, directory_bytes(contents.directory.disk, f"{contents.path}/{name}")
        except OSError as error:
            raise contents.directory.failed(error, f"looking at {name}") from error

    def warm(self, names: Iterable[str]) -> None:
        """Read what the opening of these logs will read, so that it need not wait for the disk; for any thread."""
        for name in names:
            for contents in self.of_partitions:
                warm(contents.directory.disk, f"{contents.path}/{name}")

    # -- strays -------------------------------------------------------------------------------------------------------

    def put_strays_aside(self, known: Mapping[TopicPartition, bytes]) -> None:
        """Rename the directories of partitions that the metadata does not know, as Kafka does: nothing is lost, and a new
        topic of that name begins empty. ``known``: the topic ids. A kill between the end of a topic and that of its files
        leaves such. What holds anything else is no partition, whatever its name, and stays.
        """
        places: dict[TopicPartition, list[DirectoryContents]] = {}
        for contents in self.of_partitions:
            for key in _tried(contents, contents.partition_names) or ():
                places.setdefault(key, []).append(contents)
        for key, found in places.items():
            home = _home(key, known.get(key), found)
            for contents in found:
                if contents is not home and key[0] != METADATA_LOG:
                    _tried(contents, partial(_put_aside_if_partition, contents, key))


def _home(key: TopicPartition, topic_id: bytes | None, found: list[DirectoryContents]) -> DirectoryContents | None:
    """Which of the directories with files of its name has a partition.

    There are two after a kill between the renames at the end of a move, and then both are equal; where a disk failed there, the
    log that went on ends behind the other one; and a directory that was offline while the topic was deleted and made again
    has the old one's. One that cannot say whose it is, as a loss of power may leave it, has it where no other one does.
    """
    if topic_id is None:
        return None
    if len(found) == 1:
        return found[0]
    ends = [_tried(contents, partial(_end_of, contents, key, topic_id)) or _NO_END for contents in found]
    return None if max(ends) == _NO_END else found[ends.index(max(ends))]


def _end_of(contents: DirectoryContents, key: TopicPartition, topic_id: bytes) -> tuple[bool, int, int]:
    """Whether the directory names the topic, and where the log ends: base offset and size of its last segment; ``_NO_END`` where
    it names another one. Raises OSError.
    """
    disk, path = contents.directory.disk, f"{contents.path}/{key[0]}-{key[1]}"
    stored = read_topic_id(disk, path)
    if stored not in (topic_id, None):
        return _NO_END
    logs = [name for name in disk.list(path) if name.endswith(".log")]
    end = max(((offset_in(name), disk.size(f"{path}/{name}")) for name in logs), default=(0, 0))
    return stored is not None, *end


def _put_aside_if_partition(contents: DirectoryContents, key: TopicPartition) -> None:
    """Raises OSError."""
    if is_partition(contents.directory.disk, f"{contents.path}/{key[0]}-{key[1]}"):
        put_stray_aside(contents, key)


def _tried(contents: DirectoryContents, action: Callable[[], _T]) -> _T | None:
    """What the action returns; None where it fails, which takes the directory offline, or it is that already."""
    if not contents.directory.offline:
        try:
            return action()
        except OSError as error:
            contents.directory.failed(error, "putting stray partitions aside")
    return None


def put_stray_aside(contents: DirectoryContents, key: TopicPartition) -> None:
    """Rename the directory of a partition of which only the name is known, or not even that. Raises OSError."""
    aside = contents.put_aside(key, STRAY)
    logger.warning(
        "Stray partition %s/%s-%d (its topic does not exist, or it is a second copy) renamed to %s",
        contents.path,
        *key,
        aside,
    )
    contents.forget(key)
