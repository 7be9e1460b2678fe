"""Divides the limit on open files between log files and connections.

Connections must not take the descriptors of logs: a log that cannot be opened takes its log directory offline.
"""

from __future__ import annotations

import resource
from typing import NamedTuple

#: The most log files that are kept open.
_FILES = 1024
#: Descriptors for everything else: the loop, listeners, directories, reading threads, the cleaner's pipes.
_OTHERS = 64


class Descriptors(NamedTuple):
    """The most open log files and connections."""

    files: int
    connections: int


def divided(limit: int) -> Descriptors:
    """Divide a limit: half of a small one is for log files."""
    others = min(_OTHERS, limit // 4)
    files = min(_FILES, (limit - others) // 2)
    return Descriptors(files, limit - others - files)


def allowed() -> Descriptors:
    """Divide the process's present limit, RLIMIT_NOFILE."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return divided(1 << 30 if soft == resource.RLIM_INFINITY else soft)
