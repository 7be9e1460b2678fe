"""How many descriptors a process may have, and who may have how many of them.

Clients must not take those that the logs need: a log that cannot be opened takes its directory offline.
"""

from __future__ import annotations

import resource
from typing import NamedTuple

#: Files that are worth being kept open, where there is room for all.
_FILES = 1024
#: For what is neither a log's file nor a client: the loop, listeners, directories, threads that read, the cleaner's pipes.
_OTHERS = 64


class Descriptors(NamedTuple):
    """Log files, and clients' connections, that may be open at once."""

    files: int
    connections: int


def divided(limit: int) -> Descriptors:
    """How a limit is shared: half of a small one goes to the files."""
    others = min(_OTHERS, limit // 4)
    files = min(_FILES, (limit - others) // 2)
    return Descriptors(files, limit - others - files)


def allowed() -> Descriptors:
    """Under the process's present limit, RLIMIT_NOFILE."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return divided(1 << 30 if soft == resource.RLIM_INFINITY else soft)
