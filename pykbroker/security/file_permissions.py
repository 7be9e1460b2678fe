"""Warns of files with secrets that every user of the machine may read."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

log = logging.getLogger(__name__)


def warn_if_exposed(location: str | Path, holds: str) -> None:
    """Log a warning if all users may read a file. ``holds`` names its content for the log."""
    try:
        mode = Path(location).stat().st_mode
    except OSError:  # reported where the file is read
        return
    if mode & stat.S_IROTH:
        log.warning(
            "%s holds %s and is readable by every user of this machine: restrict it with chmod o-rwx", location, holds
        )
