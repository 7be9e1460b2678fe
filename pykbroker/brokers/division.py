"""Divides a log directory that brokers shared: each partition goes to the folder of one of its replicas, which alone is in sync then, and the
other replicas copy it.

First the cluster is opened as it is, so that logs are recovered; the metadata say who has what, and it is closed. Then a plan is written,
and everything is moved by renames, ``meta.properties`` last, by which the directory is known. So a crash leaves a directory that is still
shared, or a plan, which the next start carries out again from its beginning: what was moved is not there any more.
"""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pykbroker.metadata.ids import random_id
from pykbroker.metadata.snapshot import BOOTSTRAP
from pykbroker.storage import checkpoints
from pykbroker.storage.directories.closed_logs import CLOSED_LOGS
from pykbroker.storage.names import PARTITION, put_aside_as
from pykbroker.wire.internal.partition_change_record import PartitionChangeRecord
from pykbroker.wire.primitives import uuid_from_str, uuid_to_str

if TYPE_CHECKING:
    from pykbroker.brokers.cluster import Cluster
    from pykbroker.metadata.image import MetadataImage, PartitionImage
    from pykbroker.storage.disk import Disk

log = logging.getLogger(__name__)

PLAN = "pykbroker-division"
_CHECKPOINTS = (
    checkpoints.RECOVERY_POINTS,
    checkpoints.LOG_STARTS,
    checkpoints.HIGH_WATERMARKS,
    checkpoints.CLEANER_OFFSETS,
)
#: Records of one change of the metadata.
_AT_ONCE = 1000


class NotDivisibleError(ValueError):
    """A partition has no replica on any of the brokers; the text says what to do."""


def divide(
    directory: str, ids: Sequence[int], disk: Disk, rng: random.Random, open_shared: Callable[[], Cluster]
) -> None:
    """Divide ``directory`` among the brokers ``ids``, unless it is new or divided already. ``open_shared`` opens the cluster that it
    holds. Raises NotDivisibleError, before anything is changed, OSError, and what ``open_shared`` raises.
    """
    plan_path = f"{directory}/{PLAN}"
    if not disk.exists(plan_path):
        if not disk.exists(f"{directory}/{checkpoints.META_PROPERTIES}"):
            return
        log.info("Log directory %s is divided among brokers %s", directory, ", ".join(map(str, ids)))
        plan = _prepared(open_shared(), ids, rng)
        checkpoints.replace_file(disk, plan_path, json.dumps(plan).encode())
    _carry_out(directory, json.loads(disk.read(plan_path)), disk)
    disk.remove(plan_path)
    disk.sync_directory(directory)


def _prepared(cluster: Cluster, ids: Sequence[int], rng: random.Random) -> dict[str, Any]:
    """Write to the metadata who will have what, and close the cluster; the plan says the same."""
    controller, image = cluster.local_controller, cluster.metadata.image
    owners = {f"{name}-{index}": owner for name, index, owner in _owners(image, ids)}
    controller.stop_brokers()  # after a crash some are still registered as running
    own = {node_id: random_id(rng) for node_id in ids}
    own[ids[0]] = uuid_from_str(cluster.logs.metadata_directory_id)
    changes = [
        _change(topic.id, state, owners[f"{topic.name}-{state.index}"], own)
        for topic in image.topics.values()
        for state in topic.in_order()
    ]
    for begin in range(0, len(changes), _AT_ONCE):
        controller.commit(changes[begin : begin + _AT_ONCE])
    epochs = {node_id: image.brokers[node_id].epoch if node_id in image.brokers else -1 for node_id in ids}
    cluster.shutdown()
    return {
        "cluster.id": cluster.logs.cluster_id,
        "owners": owners,
        "brokers": [[node_id, uuid_to_str(own[node_id]), epochs[node_id]] for node_id in ids],
    }


def _owners(image: MetadataImage, ids: Sequence[int]) -> Iterator[tuple[str, int, int]]:
    """Topic, index and new owner of each partition: its first replica among the brokers."""
    for topic in image.topics.values():
        for state in topic.in_order():
            owner = next((replica for replica in state.replicas if replica in ids), None)
            if owner is None:
                raise NotDivisibleError(
                    f"{topic.name}-{state.index} has replicas on brokers {', '.join(map(str, state.replicas))} only: start with "
                    f"as many brokers as before, or reassign it first"
                )
            yield topic.name, state.index, owner


def _change(topic_id: bytes, state: PartitionImage, owner: int, own: dict[int, bytes]) -> PartitionChangeRecord:
    """The owner alone is in sync, and each replica is in its broker's only log directory."""
    known = bool(state.eligible_leader_replicas or state.last_known_elr)
    return PartitionChangeRecord(
        partition_id=state.index,
        topic_id=topic_id,
        isr=[owner],
        directories=[own.get(replica, own[owner]) for replica in state.replicas],
        eligible_leader_replicas=[] if known else None,
        last_known_elr=[] if known else None,
    )


def _carry_out(directory: str, plan: dict[str, Any], disk: Disk) -> None:
    """Move everything; what was moved before is left where it is."""
    brokers: list[tuple[int, str, int]] = [(each[0], each[1], each[2]) for each in plan["brokers"]]
    first = f"{directory}/{brokers[0][0]}"
    for node_id, _, epoch in brokers:
        folder = f"{directory}/{node_id}"
        disk.make_directory(folder, sync=True)
        for name in _CHECKPOINTS:
            if disk.exists(f"{directory}/{name}"):
                checkpoints.replace_file(disk, f"{folder}/{name}", disk.read(f"{directory}/{name}"))
        checkpoints.replace_file(
            disk, f"{folder}/{checkpoints.CLEAN_SHUTDOWN}", checkpoints.encode_clean_shutdown(epoch)
        )
    owners: dict[str, int] = plan["owners"]
    for name in sorted(disk.list(directory)):
        if name in owners:
            disk.rename(f"{directory}/{name}", f"{directory}/{owners[name]}/{name}")
        elif (
            PARTITION.fullmatch(name) or put_aside_as(name) or name == BOOTSTRAP
        ):  # the metadata log, and what is to be removed
            disk.rename(f"{directory}/{name}", f"{first}/{name}")
    for node_id, directory_id, _ in brokers:
        if node_id != brokers[0][0]:
            properties = {
                "version": "1",
                "node.id": str(node_id),
                "cluster.id": plan["cluster.id"],
                "directory.id": directory_id,
            }
            path = f"{directory}/{node_id}/{checkpoints.META_PROPERTIES}"
            checkpoints.replace_file(disk, path, checkpoints.encode_properties(properties))
        disk.sync_directory(f"{directory}/{node_id}")
    for name in (*_CHECKPOINTS, CLOSED_LOGS, checkpoints.CLEAN_SHUTDOWN):
        if disk.exists(f"{directory}/{name}"):
            disk.remove(f"{directory}/{name}")
    disk.sync_directory(directory)
    if disk.exists(f"{directory}/{checkpoints.META_PROPERTIES}"):
        disk.rename(f"{directory}/{checkpoints.META_PROPERTIES}", f"{first}/{checkpoints.META_PROPERTIES}")
    disk.sync_directory(first)
    disk.sync_directory(directory)
