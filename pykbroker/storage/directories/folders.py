"""The directories of ``log.dirs`` together: which of them a partition lies in, and which a new one goes to."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random

from pykbroker.runtime.clock import Clock
from pykbroker.storage.checkpoints import TopicPartition
from pykbroker.storage.directories.folder import METADATA_LOG, DataFolder
from pykbroker.storage.directories.warming import directory_bytes, warm
from pykbroker.storage.directory import LogDirectory
from pykbroker.storage.disk import Disk

logger = logging.getLogger(__name__)


class Folders:
    """The first has the metadata log, and partitions as the others have, unless ``metadata_apart``."""

    def __init__(
        self, paths: Sequence[Path], disk: Disk, clock: Clock, random: Random, *, metadata_apart: bool
    ) -> None:
        self.all = [DataFolder(LogDirectory(str(path.absolute()), disk, clock, random)) for path in paths]
        #: Where partitions may lie.
        self.of_partitions = self.all[1:] if metadata_apart else self.all
        #: Where new partitions will lie, whose files are not made yet.
        self._placed: dict[TopicPartition, DataFolder] = {}

    def __iter__(self) -> Iterator[DataFolder]:
        return iter(self.all)

    @property
    def metadata(self) -> DataFolder:
        """The directory with the metadata log."""
        return self.all[0]

    def load(self, node_id: int, cluster_id: str) -> None:
        """See whose the directories are, and read what lies beside the logs; one that cannot be used is offline.

        Raises OSError where it is the one with the metadata log, or where none is left for partitions;
        ForeignFolderError where one belongs to another node or cluster.
        """
        for folder in self.all:
            try:
                folder.load(node_id, cluster_id)
            except OSError as error:
                folder.home.failed(error, "reading it at the start")
                if folder is self.metadata or all(each.home.offline for each in self.of_partitions):
                    raise

    @property
    def usable(self) -> list[DataFolder]:
        """Those that are not offline."""
        return [folder for folder in self.all if not folder.home.offline]

    def at(self, home: LogDirectory) -> DataFolder:
        """The one that is this directory."""
        return next(folder for folder in self.all if folder.home is home)

    # -- where partitions lie -----------------------------------------------------------------------------------------

    def place(self, key: TopicPartition) -> None:
        """Choose the directory of a new partition, whose files are made when it is first opened: as Kafka does, the one
        with the fewest partitions.
        """
        if len(self.of_partitions) > 1:
            self._place(key, self._emptiest())

    def place_in(self, folder: DataFolder, key: TopicPartition) -> bool:
        """Have a partition in a directory of choice; False where it has files in another one already."""
        holding = self.holding(key)
        if holding is None:
            self.forget_placed(key)
            self._place(key, folder)
        return holding in (None, folder)

    def _place(self, key: TopicPartition, folder: DataFolder) -> None:
        folder.partitions += 1
        self._placed[key] = folder

    def forget_placed(self, key: TopicPartition) -> None:
        """A partition that has no files yet will have none."""
        placed = self._placed.pop(key, None)
        if placed is not None:
            placed.partitions -= 1

    def holding(self, key: TopicPartition) -> DataFolder | None:
        """The directory that has a partition's files; None where they are nowhere, or in one that is offline."""
        name = f"{key[0]}-{key[1]}"
        return next((folder for folder in self.of_partitions if folder.holds(name)), None)

    def of(self, key: TopicPartition) -> DataFolder:
        """Where a partition lies, or is to be made. Raises KAFKA_STORAGE_ERROR where that is perhaps one that is offline."""
        if key[0] == METADATA_LOG:
            return self.metadata
        if len(self.of_partitions) == 1:
            return self.of_partitions[0]
        found = self._placed.pop(key, None) or self.holding(key)
        if found is None:
            for folder in self.of_partitions:
                folder.home.check()
            found = self._emptiest()
            found.partitions += 1
        return found

    def expected(self, key: TopicPartition) -> DataFolder:
        """Where a partition without files would be made."""
        return self._placed.get(key) or self._emptiest()

    def _emptiest(self) -> DataFolder:
        usable = [folder for folder in self.of_partitions if not folder.home.offline]
        return min(usable or self.of_partitions, key=lambda folder: folder.partitions)

    def existing(self) -> set[TopicPartition]:
        """The partitions that have files. Raises OSError."""
        usable = (folder for folder in self.of_partitions if not folder.home.offline)
        return {key for folder in usable for key in folder.partition_names()}

    def size_of(self, key: TopicPartition) -> tuple[LogDirectory, int]:
        """Where a log that is not open lies, or would lie, and how many bytes of batches it has.

        Waits for the disk; for any thread. Raises KAFKA_STORAGE_ERROR.
        """
        folder = self.holding(key)
        if folder is None:
            expected = self.expected(key).home
            expected.check()
            return expected, 0
        name = f"{key[0]}-{key[1]}"
        try:
            return folder.home, directory_bytes(folder.home.disk, f"{folder.path}/{name}")
        except OSError as error:
            raise folder.home.failed(error, f"looking at {name}") from error

    def warm(self, names: Iterable[str]) -> None:
        """Read what the opening of these logs will read, so that it need not wait for the disk; for any thread."""
        for name in names:
            for folder in self.of_partitions:
                warm(folder.home.disk, f"{folder.path}/{name}")

    # -- strays -------------------------------------------------------------------------------------------------------

    def put_strays_aside(self, known: Collection[TopicPartition]) -> None:
        """Rename the directories of partitions that the metadata does not know, as Kafka does: nothing is lost, and a new
        topic of that name begins empty. A kill between the end of a topic and that of its files leaves such; one between
        the two renames at the end of a move leaves a partition twice, and both are equal.
        """
        found: set[TopicPartition] = set()
        for folder in self.of_partitions:
            if folder.home.offline:
                continue
            try:
                for key in folder.partition_names():
                    if (key not in known or key in found) and key[0] != METADATA_LOG:
                        with contextlib.suppress(NotADirectoryError):
                            folder.home.disk.list(f"{folder.path}/{key[0]}-{key[1]}")
                            put_stray_aside(folder, key)
                    found.add(key)
            except OSError as error:
                folder.home.failed(error, "putting stray partitions aside")


def put_stray_aside(folder: DataFolder, key: TopicPartition) -> None:
    """Rename the directory of a partition of which only the name is known, or not even that. Raises OSError."""
    name = f"{key[0]}-{key[1]}"
    aside = folder.put_aside(name, "stray")
    logger.warning("%s/%s is of a topic that does not exist, or a second copy: renamed to %s", folder.path, name, aside)
    folder.forget(key)
