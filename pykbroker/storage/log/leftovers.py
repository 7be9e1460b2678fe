"""Removes files that interrupted deletions, writes and compactions leave in a log's directory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pykbroker.storage.directory import CLEANED, DELETED, SWAP
from pykbroker.storage.names import strangers

if TYPE_CHECKING:
    from pykbroker.storage.disk import Disk

_DIGITS = 20


def offset_in(name: str) -> int:
    """The offset in a file name of 20 digits and a suffix; -1 in other names."""
    stem, dot, _ = name.partition(".")
    return int(stem) if dot and len(stem) == _DIGITS and stem.isdigit() else -1


def remove_leftovers(disk: Disk, directory: str, names: Iterable[str]) -> set[str]:
    """Remove useless files with a broker's names from the directory of a closed log; returns the remaining names. Raises OSError.

    The ``.swap`` files of a compaction that is complete stay: recovery installs them.
    """
    kept = set(names)
    cleaned = min((offset_in(name) for name in kept if name.endswith(CLEANED)), default=2**63)
    for name in _in_order(kept):
        unfinished = name.endswith(SWAP) and (offset_in(name) >= cleaned or _log_of(name) not in kept)
        if unfinished or (name.endswith((DELETED, CLEANED, ".tmp")) and not strangers((name,))):
            disk.remove(f"{directory}/{name}")
            kept.discard(name)
    return kept


def remove_unused_segments(disk: Disk, directory: str) -> None:
    """Remove all files of a failed compaction of a log in use; in any thread. Raises OSError.

    Nothing is removed if the log's directory was renamed meanwhile.
    """
    try:
        names = disk.list(directory)
    except FileNotFoundError:
        return
    for name in _in_order(name for name in names if name.endswith((CLEANED, SWAP))):
        disk.remove(f"{directory}/{name}")


def _in_order(names: Iterable[str]) -> list[str]:
    """Names in the order of removal, a segment's .log first: without it the other files are ignored after a crash."""
    return sorted(names, key=lambda name: (".log" not in name, name))


def _log_of(name: str) -> str:
    """The .log that a ``.swap`` file belongs to."""
    return f"{name.partition('.')[0]}.log{SWAP}"
