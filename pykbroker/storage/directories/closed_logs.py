"""Detects, after an unclean shutdown, the logs that are unchanged since the last clean one: these need no recovery.

A clean shutdown syncs every log and stores size and time of change of its last files, in a file beside the checkpoints that
Apache Kafka ignores. Appends, rolls and rebuilt indexes change a size or a time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from pykbroker.storage.checkpoints import (
    CorruptCheckpointError,
    TopicPartition,
    decode_lines,
    encode_lines,
    replace_file,
)
from pykbroker.storage.directory import CLEANED, DELETED, SEGMENT_SUFFIXES, SWAP

if TYPE_CHECKING:
    from pykbroker.storage.disk import Disk

CLOSED_LOGS = "pykbroker-closed-logs"

#: The base offset of the last segment; size and time of change of its files.
Look = tuple[int, ...]


def look_now(disk: Disk, directory: str, key: TopicPartition) -> Look | None:
    """The present state of a log's last files; None if the log does not exist or its directory has unfinished files."""
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
    """The states stored by the last clean shutdown; empty if the file is missing or damaged. Raises OSError."""
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
    """Replace the stored states and sync them; without disk space, by none. Raises OSError."""
    path = f"{directory}/{CLOSED_LOGS}"
    lines = (f"{topic} {partition} {' '.join(map(str, look))}" for (topic, partition), look in looks.items())
    try:
        replace_file(disk, path, encode_lines(lines))
    except OSError:
        disk.remove(path)
        disk.sync_directory(directory)


def drop_looks(disk: Disk, directory: str, gone: Collection[TopicPartition]) -> None:
    """Remove the states of deleted partitions, before new ones have their names. Raises OSError."""
    looks = read_looks(disk, directory)
    left = {key: look for key, look in looks.items() if key not in gone}
    if len(left) < len(looks):
        write_looks(disk, directory, left)
