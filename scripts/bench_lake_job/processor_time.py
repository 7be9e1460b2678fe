"""Processor time of this process and its descendants, which other load on the machine changes less than wall time."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds() -> float:
    """Return the seconds of this process and its descendants, including those that exited and were waited for."""
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal() and (fields := _fields(path / "stat")):
            parents[int(path.name)] = int(fields[1])
            seconds[int(path.name)] = sum(map(int, fields[11:15])) / _TICKS
    return sum(each for process, each in seconds.items() if _is_ours(process, parents))


def _fields(path: Path) -> list[str]:
    """Return the fields after the program's name, which may contain anything."""
    try:
        return path.read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _is_ours(process: int, parents: dict[int, int]) -> bool:
    while process in parents:
        if process == os.getpid():
            return True
        process = parents[process]
    return False
