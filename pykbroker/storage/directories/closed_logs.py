"""Which logs lie as a clean shutdown left them, told after a kill: they need no recovery, and opening them can wait.

A clean shutdown writes down what the last files of every log look like, in a file of ours beside the checkpoints (Apache Kafka
does not look at it). All of them are on the disk then. Whoever appends, rolls or rebuilds an index changes a size or a time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pykbroker.storage.checkpoints import CorruptCheckpointError, TopicPartition, decode_lines, encode_lines
from pykbroker.storage.directory import CLEANED, DELETED, SEGMENT_SUFFIXES, SWAP
from pykbroker.storage.disk import Disk, replace_file

CLOSED_LOGS = "pykbroker-closed-logs"

#: Base offset of the last segment; size and time of change of its files.
Look = tuple[int, ...]


def look_now(disk: Disk, directory: str, key: TopicPartition) -> Look | None:
    """What the last files of a log look like; None where it is not there, or something in its directory is unfinished."""
    path = f"{directory}/{key[0]}-{key[1]}"
    try:
        names = set(disk.list(path))
        last = max((name for name in names if name.endswith(".log") and name[:-4].isdigit()), default="")
        if not last or any(name.endswith((SWAP, CLEANED, DELETED, ".tmp")) for name in names):
            return None
        look = [int(last[:-4])]
        for name in [last[:-4] + suffix for suffix in SEGMENT_SUFFIXES]:
            there = name in names
            look += (disk.size(f"{path}/{name}"), disk.modified_ms(f"{path}/{name}")) if there else (-1, -1)
    except OSError:  # opening the log reports it
        return None
    return tuple(look)


def read_looks(disk: Disk, directory: str) -> dict[TopicPartition, Look]:
    """What the last clean shutdown wrote down; nothing where that is missing or damaged. Raises OSError."""
    path = f"{directory}/{CLOSED_LOGS}"
    if not disk.exists(path):
        return {}
    try:
        return {
            (topic, int(partition)): tuple(map(int, look)) for topic, partition, *look in decode_lines(disk.read(path))
        }
    except (CorruptCheckpointError, ValueError):
        return {}


def write_looks(disk: Disk, directory: str, looks: Mapping[TopicPartition, Look]) -> None:
    """Replace what is written down, by nothing where there is no room for it; it is on the disk then. Raises OSError."""
    path = f"{directory}/{CLOSED_LOGS}"
    lines = (f"{topic} {partition} {' '.join(map(str, look))}" for (topic, partition), look in looks.items())
    try:
        replace_file(disk, path, encode_lines(lines))
    except OSError:
        disk.remove(path)
        disk.sync_directory(directory)


def drop_looks(disk: Disk, directory: str, gone: Collection[TopicPartition]) -> None:
    """Forget what is written down about partitions that are gone, before others have their names. Raises OSError."""
    looks = read_looks(disk, directory)
    left = {key: look for key, look in looks.items() if key not in gone}
    if len(left) < len(looks):
        write_looks(disk, directory, left)
