"""The log directories of brokers with copies of their own in one process: the folders ``1`` to ``N`` in the log directory, each as Apache
Kafka keeps that of a node, the first with the metadata log.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pykbroker.brokers.cluster import OwnStore
from pykbroker.brokers.division import PLAN, NotDivisibleError, divide
from pykbroker.process.log_directories import DirectoryPaths, StartFailed
from pykbroker.requests.peer_handlers import peer_handler
from pykbroker.storage.checkpoints import META_PROPERTIES
from pykbroker.storage.directories.manager import LogManager
from pykbroker.storage.directory_lock import DirectoryLock

if TYPE_CHECKING:
    import random

    from pykbroker.brokers.cluster import Cluster
    from pykbroker.brokers.store import Store
    from pykbroker.runtime.clock import Clock
    from pykbroker.storage.disk import Disk


def folders(paths: DirectoryPaths, ids: list[int]) -> list[DirectoryPaths]:
    """The log directory of each broker. Raises StartFailed for several, of which nobody could say whose they are."""
    if paths.others or paths.metadata_apart:
        raise StartFailed(
            "brokers with copies of their own take one log directory, in which each has a folder: name one"
        )
    return [DirectoryPaths(folder_of(paths.metadata, node_id), (), metadata_apart=False) for node_id in ids]


def take_over(
    directory: Path, ids: list[int], disk: Disk, rng: random.Random, open_shared: Callable[[], Cluster]
) -> list[DirectoryLock]:
    """Divide a log directory that brokers shared, or complete that; returns the lock on it. Raises StartFailed."""
    if not any(disk.exists(f"{directory}/{name}") for name in (META_PROPERTIES, PLAN)):
        return []
    try:
        lock = DirectoryLock(str(directory))
    except BlockingIOError as error:
        raise StartFailed(f"the log directory {directory} is in use by another broker") from error
    try:
        divide(str(directory), ids, disk, rng, open_shared)
    except NotDivisibleError as error:
        lock.release()
        raise StartFailed(str(error)) from error
    except BaseException:
        lock.release()
        raise
    return [lock]


def folder_of(directory: Path, node_id: int) -> Path:
    """The folder of one broker."""
    return directory / str(node_id)


def own_store(node_id: int) -> OwnStore:
    """The store of the first broker."""
    return OwnStore(node_id, peer_handler)


def open_store(cluster: Cluster, directory: Path, node_id: int, disk: Disk, clock: Clock) -> Store:
    """The store of a further broker. Raises OSError, KafkaError KAFKA_STORAGE_ERROR, or ForeignDirectoryError."""
    logs = LogManager(
        folder_of(directory, node_id),
        disk,
        clock,
        node_id=node_id,
        cluster_id=cluster.logs.cluster_id,
        random=cluster.runtime.random,
    )
    logs.load()
    store = cluster.new_store(logs, node_id)
    store.begin()
    return store
