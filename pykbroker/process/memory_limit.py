"""The memory that this process may use, of which the memory budget is a part: the container's (cgroup v1 or v2) or the machine's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pykbroker.config.broker import BrokerConfig
from pykbroker.runtime.memory import MemoryBudget

#: The part of the memory that the budget takes where no setting says how much; the rest is for the program, logs and groups,
#: the sockets, and the page cache.
PART = 4
_AT_LEAST = 8 * 1024 * 1024


def set_limits(budget: MemoryBudget, config: BrokerConfig) -> None:
    """Apply the settings pykbroker.memory.bytes and queued.max.request.bytes."""
    own = config["pykbroker.memory.bytes"]
    budget.limit = own if own > 0 else max(_AT_LEAST, available() // PART)
    budget.received.own_limit = max(config["queued.max.request.bytes"], 0)


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
