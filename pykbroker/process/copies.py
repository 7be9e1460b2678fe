"""The log directories of brokers with copies of their own in one process: the folders ``1`` to ``N`` in the log directory, each as Apache
Kafka keeps that of a node, the first with the metadata log. Of several log directories each broker has a folder in each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pykbroker.brokers.cluster import OwnStore
from pykbroker.brokers.division import PLAN, NotDivisibleError, divide
from pykbroker.process.log_directories import DirectoryPaths, StartFailed
from pykbroker.requests.peer_handlers import peer_handler
from pykbroker.storage.checkpoints import META_PROPERTIES
from pykbroker.storage.directories.contents import brokers_in
from pykbroker.storage.directories.manager import LogManager

if TYPE_CHECKING:
    import random

    from pykbroker.brokers.cluster import Cluster
    from pykbroker.brokers.store import Store
    from pykbroker.runtime.clock import Clock
    from pykbroker.storage.disk import Disk


def folders(paths: DirectoryPaths, ids: list[int]) -> list[DirectoryPaths]:
    """The log directories of each broker: its folder in each."""
    return [
        DirectoryPaths(
            paths.metadata / str(node_id), tuple(path / str(node_id) for path in paths.others), paths.metadata_apart
        )
        for node_id in ids
    ]


def take_over(
    paths: DirectoryPaths, ids: list[int], disk: Disk, rng: random.Random, open_shared: Callable[[], Cluster]
) -> None:
    """Divide a log directory that brokers shared, or complete that. Raises StartFailed, before anything is changed."""
    directory = str(paths.metadata)
    if not any(disk.exists(f"{directory}/{name}") for name in (META_PROPERTIES, PLAN)):
        return
    if not disk.exists(f"{directory}/{PLAN}") and (there := brokers_in(disk, directory)):
        raise StartFailed(
            f"the log directory {directory} has a {META_PROPERTIES} of its own beside the folders of the brokers "
            f"{', '.join(map(str, there))}, which are a cluster: move one of both elsewhere"
        )
    if paths.others:
        raise StartFailed(
            f"the log directory {directory} is one broker's, or was shared by several: it is divided among brokers only where it is "
            "the only one. Move its partitions there and leave the others out of log.dirs, or start one broker"
        )
    try:
        divide(directory, ids, disk, rng, open_shared)
    except NotDivisibleError as error:
        raise StartFailed(str(error)) from error


def own_store(node_id: int) -> OwnStore:
    """The store of the first broker."""
    return OwnStore(node_id, peer_handler)


def open_store(cluster: Cluster, paths: DirectoryPaths, node_id: int, disk: Disk, clock: Clock) -> Store:
    """The store of a further broker. Raises OSError, KafkaError KAFKA_STORAGE_ERROR, or ForeignDirectoryError."""
    logs = LogManager(
        paths.metadata,
        disk,
        clock,
        node_id=node_id,
        cluster_id=cluster.logs.cluster_id,
        random=cluster.runtime.random,
        others=paths.others,
        metadata_apart=paths.metadata_apart,
    )
    logs.load()
    store = cluster.new_store(logs, node_id)
    store.begin()
    return store
