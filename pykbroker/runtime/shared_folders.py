"""Folders in which every user may make files, such as /tmp: what is at a name there may be another user's."""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

_EVERYBODYS: Final = stat.S_ISVTX | stat.S_IWOTH


def check_not_planted(path: str | os.PathLike[str]) -> None:
    """Raises PermissionError if ``path`` exists in a folder that is everybody's (sticky, as /tmp) and belongs to another user
    than this one and root, or is another user's link.
    """
    path = os.path.abspath(path)  # noqa: PTH100 - pathlib doubles the cost
    try:
        owner = os.lstat(path).st_uid
        parent = os.stat(os.path.dirname(path)).st_mode  # noqa: PTH116, PTH120 - see above
    except FileNotFoundError:
        return
    if parent & _EVERYBODYS == _EVERYBODYS and owner not in (0, os.geteuid()):
        raise PermissionError(errno.EPERM, f"another user (uid {owner}) made it in a folder that is everybody's", path)
