"""All log directories (``log.dirs``): finds the one of each partition, and selects one for a new partition."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, TypeVar

from pykbroker.storage.checkpoints import PARTITION_METADATA, TopicPartition, read_topic_id
from pykbroker.storage.directories.contents import METADATA_LOG, DirectoryContents, check_ours
from pykbroker.storage.directory import LogDirectory
from pykbroker.storage.log.leftovers import offset_in
from pykbroker.storage.names import STRAY, is_partition
from pykbroker.wire.errors import KafkaError

if TYPE_CHECKING:
    from pykbroker.runtime.clock import Clock
    from pykbroker.storage.disk import Disk

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
#: Less than the end of any log.
_NO_END = (False, -1, -1)


class LogDirectories:
    """The log directories of a process. The first one holds the metadata log and, unless ``metadata_apart``, partitions too."""

    def __init__(
        self, paths: Sequence[Path], disk: Disk, clock: Clock, random: Random, *, metadata_apart: bool
    ) -> None:
        self.all = [DirectoryContents(LogDirectory(str(path.absolute()), disk, clock, random)) for path in paths]
        #: The log directories of partitions.
        self.of_partitions = self.all[1:] if metadata_apart else self.all
        #: The log directories of new partitions without files.
        self._placed: dict[TopicPartition, DirectoryContents] = {}

    def __iter__(self) -> Iterator[DirectoryContents]:
        return iter(self.all)

    @property
    def metadata(self) -> DirectoryContents:
        """The log directory with the metadata log."""
        return self.all[0]

    def load(self, node_id: int, cluster_id: str) -> None:
        """Check the owners of the log directories and read their checkpoints; one that cannot be used is offline.

        Raises OSError if it is the one with the metadata log, or none is left for partitions;
        ForeignDirectoryError if one belongs to another node or cluster.
        """
        for contents in self.all:  # before anything is written in any
            with contextlib.suppress(OSError):
                check_ours(contents.directory.disk, contents.path)
        for contents in self.all:
            try:
                contents.load(node_id, cluster_id)
            except OSError as error:
                contents.directory.failed(error, "loading it at the start")
                if contents is self.metadata or all(each.directory.offline for each in self.of_partitions):
                    raise

    @property
    def usable(self) -> list[DirectoryContents]:
        """The log directories that are not offline."""
        return [contents for contents in self.all if not contents.directory.offline]

    def cordon(self, is_cordoned: Callable[[Path], bool]) -> None:
        """Keep new partitions out of these log directories from now on, and of no other; where all are, the controller places none here."""
        for contents in self.of_partitions:
            contents.directory.cordoned = is_cordoned(Path(contents.path))

    def at(self, directory: LogDirectory) -> DirectoryContents:
        """The contents of this log directory."""
        return next(contents for contents in self.all if contents.directory is directory)

    # -- where partitions lie -----------------------------------------------------------------------------------------

    def plan_room(self, keys: Collection[TopicPartition]) -> Callable[[], None] | None:
        """The work that frees these names for new partitions, None if they are free. It waits for the disk and is to be
        called once, in any thread, before the new partitions are published.
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
        """Choose the log directory of a new partition: as in Kafka, the one with the fewest partitions, of those that are not
        cordoned. Files are created on first use.
        """
        if len(self.of_partitions) > 1:
            self._place(key, self._emptiest())

    def place_in(self, contents: DirectoryContents, key: TopicPartition) -> bool:
        """Set the log directory of a partition without files; False if it has files in another one."""
        holding = self.holding(key)
        if holding is None:
            self.forget_placed(key)
            self._place(key, contents)
        return holding in (None, contents)

    def _place(self, key: TopicPartition, contents: DirectoryContents) -> None:
        contents.partitions += 1
        self._placed[key] = contents

    def forget_placed(self, key: TopicPartition) -> None:
        """Forget the chosen log directory of a partition that was deleted before it had files."""
        placed = self._placed.pop(key, None)
        if placed is not None:
            placed.partitions -= 1

    def holding(self, key: TopicPartition) -> DirectoryContents | None:
        """The log directory with a partition's files; None if there is none, or it is offline.

        Another log directory may have an entry of that name that is no partition: a foreign one, or one that lost all its
        files in a power loss.
        """
        name = f"{key[0]}-{key[1]}"
        found = [contents for contents in self.of_partitions if contents.holds(name)]
        if len(found) > 1:
            found = [contents for contents in found if contents.holds(f"{name}/{PARTITION_METADATA}")] or found
        return found[0] if found else None

    def of(self, key: TopicPartition, topic_id: bytes | None = None) -> DirectoryContents:
        """The log directory of a partition, existing or new. Raises KafkaError KAFKA_STORAGE_ERROR if the partition may be in an
        offline one: then files of the same name elsewhere are used only if they have this ``topic_id``, since they may be
        those of an earlier topic.
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
        """Whether ``found`` certainly has the partition. If no log directory is offline, the start has checked it."""
        if not any(contents.directory.offline for contents in self.of_partitions):
            return True
        path = f"{found.path}/{key[0]}-{key[1]}"
        try:
            return read_topic_id(found.directory.disk, path) == topic_id
        except OSError as error:
            found.directory.failed(error, f"reading the topic id of {path}")
            return False

    def expected(self, key: TopicPartition) -> DirectoryContents:
        """The log directory in which a partition without files would be created."""
        return self._placed.get(key) or self._emptiest()

    def _emptiest(self) -> DirectoryContents:
        usable = [contents for contents in self.of_partitions if not contents.directory.offline]
        usable = [contents for contents in usable if not contents.directory.cordoned] or usable
        return min(usable or self.of_partitions, key=lambda contents: contents.partitions)

    def existing(self) -> set[TopicPartition]:
        """The partitions with files. Raises OSError."""
        usable = (contents for contents in self.of_partitions if not contents.directory.offline)
        return {key for contents in usable for key in contents.partition_names()}

    def size_of(self, key: TopicPartition) -> tuple[LogDirectory, int]:
        """The log directory of a closed log, and its size in bytes of batches.

        Waits for the disk; in any thread. Raises KafkaError KAFKA_STORAGE_ERROR.
        """
        from pykbroker.storage.directories.warming import directory_bytes

        contents = self.holding(key)
        if contents is None:
            expected = self.expected(key).directory
            expected.check()
            return expected, 0
        name = f"{key[0]}-{key[1]}"
        try:
            return contents.directory, directory_bytes(contents.directory.disk, f"{contents.path}/{name}")
        except OSError as error:
            raise contents.directory.failed(error, f"determining the size of {name}") from error

    def warm(self, names: Iterable[str]) -> None:
        """Read the files that opening these logs reads, so that it does not wait for the disk; in any thread."""
        from pykbroker.storage.directories import warming

        for name in names:
            for contents in self.of_partitions:
                warming.warm(contents.directory.disk, f"{contents.path}/{name}")

    # -- strays -------------------------------------------------------------------------------------------------------

    def put_strays_aside(self, known: Mapping[TopicPartition, bytes]) -> None:
        """Rename the directories of partitions that are not in the metadata (``known`` are the topic ids), as Kafka does:
        nothing is lost, and a new topic of that name begins empty. A kill between the deletion of a topic and that of its
        files leaves strays. Directories with other content are no partitions and stay.
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
    """Selects the log directory of a partition from those with files of its name: the one with the longest log of the topic.
    None if the topic does not exist, or no files are its.

    Several have such files after a move was killed between its renames (both logs are equal) or failed there with a disk
    error (the log in use is longer), and if one was offline while the topic was deleted and recreated (it has the old topic
    id). Files without a readable topic id, which a power loss may leave, are used only if there are no others.
    """
    if topic_id is None:
        return None
    if len(found) == 1:
        return found[0]
    ends = [_tried(contents, partial(_end_of, contents, key, topic_id)) or _NO_END for contents in found]
    return None if max(ends) == _NO_END else found[ends.index(max(ends))]


def _end_of(contents: DirectoryContents, key: TopicPartition, topic_id: bytes) -> tuple[bool, int, int]:
    """Whether the directory has the topic's id, and the end of the log: base offset and size of its last segment; ``_NO_END``
    if it has another topic's id. Raises OSError.
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
    """The result of the action; None if the log directory is offline, or goes offline because the action fails."""
    if not contents.directory.offline:
        try:
            return action()
        except OSError as error:
            contents.directory.failed(error, "putting stray partitions aside")
    return None


def put_stray_aside(contents: DirectoryContents, key: TopicPartition) -> None:
    """Rename the directory of a stray partition. Raises OSError."""
    aside = contents.put_aside(key, STRAY)
    logger.warning(
        "Stray partition %s/%s-%d (its topic does not exist, or it is a second copy) renamed to %s",
        contents.path,
        *key,
        aside,
    )
    contents.forget(key)
