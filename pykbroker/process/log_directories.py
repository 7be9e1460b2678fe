"""Selects and locks the log directories before anything in them is read, and explains errors."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pykbroker.config.broker import BrokerConfig
from pykbroker.storage import checkpoints
from pykbroker.storage.directories.contents import ForeignDirectoryError, brokers_in, check_ours
from pykbroker.storage.directory_lock import DirectoryLock
from pykbroker.storage.real_disk import RealDisk

if TYPE_CHECKING:
    from pykbroker.storage.disk import Disk

log = logging.getLogger(__name__)

_ADVICE = {
    errno.ENOSPC: "the disk is full: make room on it",
    errno.EDQUOT: "the quota of this user is used up: make room, or raise it",
    errno.EFBIG: "files there must not grow: raise the limit of this user (ulimit -f)",
    errno.EROFS: "it is on a read-only file system: mount it so that it can be written",
    errno.EACCES: "this user may not write there: change its owner or its mode",
    errno.EPERM: "this user may not write there: change its owner or its mode",
    errno.ENOTDIR: "a file is in its place",
    errno.EEXIST: "a file is in its place",
    errno.EIO: "the disk fails: replace it, or take the data from a backup",
}


class StartFailed(Exception):
    """The broker cannot start; the text says why and what to do."""


class DirectoryPaths(NamedTuple):
    """``metadata`` holds the metadata log, and partitions as ``others`` do, unless ``metadata_apart``."""

    metadata: Path
    others: tuple[Path, ...]
    metadata_apart: bool


def named_by(config: BrokerConfig) -> DirectoryPaths:
    """The log directories in log.dirs (or log.dir) and metadata.log.dir."""
    metadata = Path(config.metadata_log_dir)
    every = tuple(map(Path, config.log_dirs))
    return DirectoryPaths(metadata, tuple(path for path in every if path != metadata), metadata not in every)


def with_node_id(paths: DirectoryPaths, config: BrokerConfig, disk: Disk | None = None) -> BrokerConfig:
    """The settings, by default with the node id of the log directory, on this machine's disk or another one. Raises StartFailed."""
    if config.is_explicit("node.id"):
        return config
    disk = disk or RealDisk()
    try:
        node_id = checkpoints.read_meta_properties(disk, str(paths.metadata)).get("node.id")
        if node_id is None and (kept := brokers_in(disk, str(paths.metadata))):
            node_id = str(kept[0])
    except OSError as error:
        raise unusable(paths.metadata, error) from error
    return config if node_id is None else config.with_texts({"node.id": node_id})


def check_brokers(paths: DirectoryPaths, ids: Sequence[int], disk: Disk) -> None:
    """Check that brokers with copies of their own, which are there, are among those that start, and the first of them, which has the
    metadata, is the first: partitions would be offline, or a cluster would begin anew beside them. Raises StartFailed.
    """
    try:
        kept = brokers_in(disk, str(paths.metadata))
    except OSError as error:
        raise unusable(paths.metadata, error) from error
    if kept and (len(ids) == 1 or kept[0] != ids[0] or kept[-1] > ids[-1]):
        raise StartFailed(
            f"the log directory {paths.metadata} has folders of the brokers {', '.join(map(str, kept))}, each with its replicas: "
            f"start them all, with --brokers {kept[-1] - kept[0] + 1} and node.id={kept[0]}"
        )


def lock(paths: DirectoryPaths) -> list[DirectoryLock]:
    """Lock every log directory, until the locks are released.

    One that cannot be used is skipped and will be offline; for the one with the metadata log it raises StartFailed.
    """
    _check_whose(paths)
    locks = []
    for path in (paths.metadata, *paths.others):
        try:
            locks.append(DirectoryLock(str(path)))
        except BlockingIOError as error:
            raise StartFailed(
                f"the log directory {path} is in use by another broker; stop that one, or choose another with "
                "--data-dir DIR"
            ) from error
        except OSError as error:
            if path == paths.metadata:
                raise unusable(path, error) from error
            log.error("The log directory %s cannot be locked: %s", path, error.strerror)
    return locks


def _check_whose(paths: DirectoryPaths) -> None:
    """Check that each is a log directory or empty, before anything, a lock included, is written in any. Raises StartFailed."""
    seen: dict[str, Path] = {}
    for path in (paths.metadata, *paths.others):
        same = seen.setdefault(os.path.realpath(path), path)
        if same is not path:  # each partition would be found twice
            raise StartFailed(f"the log directories {same} and {path} are one directory: name it once")
        try:
            check_ours(RealDisk(), str(path))
        except ForeignDirectoryError as error:
            raise unusable(path, error) from error
        except OSError:  # locking the directory reports it
            continue


def unusable(path: Path, error: Exception) -> StartFailed:
    """The error for a log directory that cannot be used, with what to do."""
    cause = error if isinstance(error, OSError) else error.__cause__
    advice = _ADVICE.get(cause.errno or 0) if isinstance(cause, OSError) else None
    text = f"the log directory {path} cannot be used: {error}"
    return StartFailed(
        text if advice is None else f"{text}. {advice[0].upper()}{advice[1:]}, or choose another with --data-dir DIR."
    )
