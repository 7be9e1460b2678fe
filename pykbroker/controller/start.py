"""Starts the controller on a log directory: loads the metadata, or creates a new cluster."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import TYPE_CHECKING

from pykbroker.controller.controller import Controller
from pykbroker.controller.eligible_leaders import MIN_ISR, safety_records
from pykbroker.metadata.features import CURRENT, ELR_VERSION, METADATA_VERSION, SUPPORTED_RANGES, Features
from pykbroker.metadata.ids import CLUSTER_METADATA_ID
from pykbroker.metadata.image import MetadataImage
from pykbroker.metadata.local_log import LocalLog
from pykbroker.metadata.names import CLUSTER_METADATA
from pykbroker.metadata.quorum import Quorum
from pykbroker.metadata.replay import MetadataRecord
from pykbroker.metadata.snapshot import BOOTSTRAP, decode_snapshot, encode_snapshot
from pykbroker.runtime.runtime import Runtime
from pykbroker.storage.checkpoints import replace_file
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.log import Log
from pykbroker.storage.names import PARTITION, is_partition
from pykbroker.wire.internal.feature_level_record import FeatureLevelRecord
from pykbroker.wire.primitives import ZERO_UUID

if TYPE_CHECKING:
    from pykbroker.controller.config_alterations import ConfigRules
    from pykbroker.controller.internal_topics import Settings
    from pykbroker.runtime.clock import Clock
    from pykbroker.storage.disk import Disk
    from pykbroker.wire.internal.config_record import ConfigRecord

#: The settings of the metadata log: only a snapshot allows removals.
LOG_CONFIG = LogConfig(
    segment_bytes=1024**3, retention_bytes=-1, retention_ms=-1, max_message_bytes=8 * 1024**2, delete=False
)


class UnsupportedMetadataError(RuntimeError):
    """The metadata log has feature levels that this broker does not support."""


class LostMetadataError(RuntimeError):
    """There are partitions, and no metadata that know them."""


def open_metadata(
    open_log: Callable[[str, bytes, int, LogConfig], Log],
    disk: Disk,
    log_directory: str,
    *,
    node_id: int,
    cluster_id: str,
    runtime: Runtime,
    config: Settings,
    rules: ConfigRules,
    features: Features = CURRENT,
    directory_id: bytes = ZERO_UUID,
) -> Controller:
    """The controller of the cluster with the metadata log in ``log_directory``.

    ``open_log(topic, topic_id, partition, config)`` opens a log of that directory: ``LogManager.open``. A new
    directory becomes a new cluster. ``directory_id`` is that of ``log_directory``. Raises WireError, ReplayError, ForeignQuorumError, UnsupportedMetadataError or
    LostMetadataError, each with a message for operators, and KafkaError KAFKA_STORAGE_ERROR or OSError if the disk fails.
    """
    directory = posixpath.join(log_directory, f"{CLUSTER_METADATA}-0")
    if not disk.exists(directory):  # which is made now
        _check_unused(disk, log_directory)
    log = open_log(CLUSTER_METADATA, CLUSTER_METADATA_ID, 0, LOG_CONFIG)
    snapshot_bytes = config["metadata.log.max.record.bytes.between.snapshots"]
    quorum = Quorum(node_id, own_directory_id=directory_id)
    source = LocalLog(log, disk, directory, quorum, runtime.clock, snapshot_bytes=snapshot_bytes)
    image = MetadataImage(cluster_id)
    source.load(image)
    is_new = METADATA_VERSION not in image.features  # possibly formatted, but never used
    if is_new:
        _check_unused(disk, log_directory)
    source.open_epoch(image)
    controller = Controller(
        source,
        image,
        runtime,
        config=config,
        rules=rules,
        features=features,
    )
    if is_new:
        records = _bootstrap_records(disk, log_directory, runtime.clock, features)
        controller.commit([*records, *_settings_to_begin_with(records, image, config)])
    _check_features(image, features)
    return controller


def _check_unused(disk: Disk, log_directory: str) -> None:
    """Raises LostMetadataError if there are partitions, where Apache Kafka would put all of them aside as strays."""
    known = f"{CLUSTER_METADATA}-0"
    found = sorted(
        name
        for name in disk.list(log_directory)
        if name != known and PARTITION.fullmatch(name) and is_partition(disk, posixpath.join(log_directory, name))
    )
    if found:
        raise LostMetadataError(
            f"{log_directory} has partitions ({found[0]} and {len(found) - 1} others), and no metadata that know them: put {known} back from a "
            "copy, or choose an empty log directory."
        )


def _bootstrap_records(disk: Disk, log_directory: str, clock: Clock, features: Features) -> list[MetadataRecord]:
    """The first records of a new cluster: those of Kafka's format tool, or new ones."""
    path = posixpath.join(log_directory, BOOTSTRAP)
    if disk.exists(path):
        return [record for batch in decode_snapshot(disk.read(path)) for record in batch.records]
    records: list[MetadataRecord] = [
        FeatureLevelRecord(name=name, feature_level=level) for name, level in features.bootstrap.items()
    ]
    replace_file(disk, path, encode_snapshot(records, epoch=0, last_contained_ms=0, now_ms=clock.now_ms()))
    return records


def _settings_to_begin_with(
    records: list[MetadataRecord], image: MetadataImage, config: Settings
) -> list[ConfigRecord]:
    """Settings that the controller adds to the first records, as in Kafka: the format tool does not know them."""
    levels = {record.name: record.feature_level for record in records if isinstance(record, FeatureLevelRecord)}
    return safety_records(image, config[MIN_ISR]) if levels.get(ELR_VERSION, 0) > 0 else []


def _check_features(image: MetadataImage, features: Features) -> None:
    """Raises UnsupportedMetadataError for feature levels that this broker does not support."""
    for name, level in image.features.items():
        low = max(SUPPORTED_RANGES.get(name, (0, 0))[0], features.ranges.get(name, (0, 0))[0])
        high = features.ranges.get(name, (0, 0))[1]
        if not low <= level <= high:
            raise UnsupportedMetadataError(
                f"The metadata in this directory is at level {level} of {name}; this broker knows levels {low} to {high}."
            )
