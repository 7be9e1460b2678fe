"""The memory that this process may use, of which the memory budget is a part: the container's (cgroup v1 or v2) or the machine's."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from pykbroker.config.broker import BrokerConfig
from pykbroker.runtime.memory import MemoryBudget

#: The part of the memory that the budget takes where no setting says how much; the rest is for the program, logs and groups,
#: the sockets, and the page cache.
PART = 4
_AT_LEAST = 8 * 1024 * 1024
#: A budget up to this size is small; and from this size on a buffer is large: that of a large request is, the slices in which answers
#: are read are not, since one comes after the other.
_SMALL = 256 * 1024 * 1024
_LARGE = 640 * 1024
#: The parameter of mallopt.
_M_MMAP_THRESHOLD = -3


def set_limits(budget: MemoryBudget, config: BrokerConfig) -> None:
    """Apply the settings pykbroker.memory.bytes and queued.max.request.bytes."""
    own = config["pykbroker.memory.bytes"]
    limit = own if own > 0 else max(_AT_LEAST, available() // PART)
    budget.bound(limit, max(config["queued.max.request.bytes"], 0))
    if budget.limit <= _SMALL:
        _return_freed_buffers()


def _return_freed_buffers() -> None:
    """Have the C library give each large buffer back to the system when it is freed, instead of keeping it for the next one.

    What it keeps may be as much as the budget again, in each thread. Each new buffer has new pages then, so it is for small memory.
    """
    import ctypes

    with contextlib.suppress(OSError, AttributeError):  # not the GNU C library
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)


def available(root: Path = Path("/")) -> int:
    """Bytes of memory that the process may use. ``root`` is where /proc and /sys are."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([machine, *_cgroup_limits(root)])


def _cgroup_limits(root: Path) -> Iterator[int]:
    """The limits of the process's cgroup and those above it; in a container the own one is at the top."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, _, named = line.partition(":")
        controllers, _, path = named.partition(":")
        if not path:
            continue
        if not controllers:
            top, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            top, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        folder = top / path.lstrip("/")
        for each in (folder, *folder.parents):
            limit = _number(each / name)
            if limit:
                yield limit
            if each == top:
                break


def _number(path: Path) -> int:
    """The number in a file; 0 if there is none, as where the limit is "max"."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return 0
