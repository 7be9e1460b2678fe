"""Files with secrets that every user of the machine may read: the log says so, for nothing else would."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

log = logging.getLogger(__name__)


def tell_if_exposed(location: str | Path, holds: str) -> None:
    """Log a warning where others may read a file. ``holds`` is what is in it."""
    try:
        mode = Path(location).stat().st_mode
    except OSError:  # whoever reads it says why it cannot be read
        return
    if mode & stat.S_IROTH:
        log.warning(
            "%s holds %s, and every user of this machine may read it: take that away by chmod o-rwx", location, holds
        )
