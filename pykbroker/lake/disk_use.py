"""The room that a lake takes: files of data, and of all that tells what the data is."""

from __future__ import annotations

from typing import NamedTuple

from pykbroker.lake.ledger_files import Readable

_LOGS = frozenset(["metadata", "_delta_log"])


class DiskUse(NamedTuple):
    """Data files are those that readers of a table open, or that old snapshots have; metadata are the tables' logs and the lake's own files."""

    files: int = 0
    bytes: int = 0
    metadata_files: int = 0
    metadata_bytes: int = 0


def disk_use(folder: Readable) -> DiskUse:
    """The use of a lake's folder."""
    data, logs = [0, 0], [0, 0]
    for name, size in folder.files("").items():
        *above, file = name.split("/")
        is_data = file.endswith(".parquet") and not _LOGS & set(above)
        counted = data if is_data else logs
        counted[0] += 1
        counted[1] += size
    return DiskUse(*data, *logs)
