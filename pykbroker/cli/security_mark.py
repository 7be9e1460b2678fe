"""A file in the log directory that says where ``serve --security`` keeps its keys and passwords.

With a backup of the log directory alone, a start would make new ones, and no client that has connected before could connect again.
Apache Kafka ignores the file, as every file of the log directory that it does not know.
"""

from __future__ import annotations

import posixpath
from typing import Final

from pykbroker.storage.checkpoints import decode_properties, encode_properties, replace_file
from pykbroker.storage.real_disk import RealDisk

MARK: Final = "pykbroker-security.properties"
_FOLDER: Final = "folder"


def folder_in(directory: str) -> str | None:
    """Return the folder that the log directory's mark names; None without a mark. Raises OSError."""
    disk, path = RealDisk(), posixpath.join(directory, MARK)
    return decode_properties(disk.read(path)).get(_FOLDER, "") if disk.exists(path) else None


def mark(directory: str, folder: str) -> None:
    """Write the mark, unless it is there. Raises OSError."""
    if folder_in(directory) != folder:
        replace_file(RealDisk(), posixpath.join(directory, MARK), encode_properties({_FOLDER: folder}))
