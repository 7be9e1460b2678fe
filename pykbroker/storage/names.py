"""The names that a broker uses in a log directory. Anything with another name is foreign and is never removed or renamed."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pykbroker.storage.disk import Disk

logger = logging.getLogger(__name__)

#: Suffixes of a partition's directory: about to be removed, the target of a move, a stray.
DELETE, FUTURE, STRAY = "-delete", "-future", "-stray"

#: The longest file name, as file systems limit it and Kafka assumes.
LONGEST: Final = 255

#: The name of a partition's directory.
PARTITION: Final = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<index>\d+)")
_ASIDE: Final = r"[a-zA-Z0-9._-]+-\d+\.[0-9a-f]{32}(?P<why>-delete|-future|-stray)"
#: Segments, their indexes, producer and metadata snapshots begin with an offset.
_IN_A_PARTITION: Final = (
    r"(\d{20}[.-][\w.-]+|partition\.metadata|leader-epoch-checkpoint|quorum-state|pykbroker-compacted)(\.tmp)?"
)
#: A partition has at least one of these, unless a power loss took all.
_PARTITION_FILES: Final = r"\d{20}\.log.*|partition\.metadata"
#: The socket in the first log directory by which a process is steered.
CONTROL_SOCKET: Final = "control.sock"
#: What may be there before meta.properties: files of an interrupted first start, and the socket, which outlives a reset.
_BEFORE_META_PROPERTIES: Final = frozenset({"meta.properties", "meta.properties.tmp", CONTROL_SOCKET})
#: Directories that file systems keep at the root of a mount.
_OF_FILE_SYSTEMS: Final = frozenset({"lost+found"})


def renamed(name: str, number: int, suffix: str) -> str:
    """The name of a partition's directory put aside, as in Kafka: ``suffix`` is DELETE, FUTURE or STRAY, ``number`` random bits."""
    return f"{name}.{number:032x}{suffix}"


def put_aside_as(name: str) -> str | None:
    """DELETE, FUTURE or STRAY for a directory that a broker has renamed; None for any other name."""
    if not name.endswith((DELETE, FUTURE, STRAY)):
        return None
    match = re.fullmatch(_ASIDE, name)  # compiled on first use: start-up counts
    return None if match is None else match["why"]


def strangers(names: Iterable[str]) -> list[str]:
    """The foreign names in a partition's directory."""
    return sorted(name for name in names if re.fullmatch(_IN_A_PARTITION, name) is None)


def is_partition(disk: Disk, path: str) -> bool:
    """Whether a directory holds a partition's files and nothing else; False for a file. Raises OSError."""
    try:
        names = disk.list(path)
    except NotADirectoryError:
        return False
    return not strangers(names) and any(re.fullmatch(_PARTITION_FILES, name) for name in names)


def remove_partition(disk: Disk, path: str) -> bool:
    """Remove a renamed directory of a partition; False if it holds foreign files, and all of it stays.

    Raises OSError.
    """
    try:
        foreign = strangers(disk.list(path))
    except NotADirectoryError:
        return False
    if foreign:
        logger.warning("%s is not removed: %s in it is no broker's. Remove it by hand.", path, foreign[0])
        return False
    disk.remove_tree(path)
    return True


def unowned(names: Collection[str]) -> list[str]:
    """Foreign names in a directory without meta.properties: all except hidden ones and those that file systems keep."""
    ours = _BEFORE_META_PROPERTIES | _OF_FILE_SYSTEMS
    return sorted(name for name in names if name not in ours and not name.startswith("."))
