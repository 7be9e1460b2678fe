"""Formats log directories for a given cluster id, as Kafka's ``kafka-storage format`` does.

A broker formats them by itself, with a random cluster id; formatting them first sets the id, and users with SCRAM
passwords.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from pykbroker.config.broker import BrokerConfig
from pykbroker.metadata.features import BOOTSTRAP_LEVELS
from pykbroker.metadata.replay import MetadataRecord
from pykbroker.metadata.snapshot import BOOTSTRAP, encode_snapshot
from pykbroker.runtime.clock import SystemClock
from pykbroker.storage import checkpoints
from pykbroker.storage.checkpoints import replace_file
from pykbroker.storage.directories.contents import check_ours
from pykbroker.storage.real_disk import RealDisk
from pykbroker.wire.internal.feature_level_record import FeatureLevelRecord
from pykbroker.wire.primitives import uuid_from_str

#: metadata.version of a new cluster.
RELEASE_VERSION: Final = "4.3-IV0"


def directories(config: BrokerConfig) -> list[str]:
    """Return the metadata log directory, then the others."""
    return list(dict.fromkeys([config.metadata_log_dir, *config.log_dirs]))


def formatted(directory: str) -> bool:
    """Whether the directory belongs to a cluster. Raises OSError."""
    return "cluster.id" in checkpoints.read_meta_properties(RealDisk(), directory)


def check_cluster_id(text: str) -> None:
    """Raises ValueError for an id that is not 16 bytes in 22 characters of base64."""
    try:
        uuid_from_str(text)
    except ValueError as error:
        raise ValueError(
            f"{text!r} is not a cluster id: 16 bytes, as 22 characters of base64. `kafka-storage random-uuid` makes one."
        ) from error


def format_new(config: BrokerConfig, cluster_id: str, users: Sequence[MetadataRecord] = ()) -> list[str]:
    """Format the directories that are not formatted, and return them.

    Raises OSError, ValueError for an invalid id, and ForeignDirectoryError for a directory with other content.
    """
    check_cluster_id(cluster_id)
    new = [directory for directory in directories(config) if not formatted(directory)]
    disk = RealDisk()
    for directory in new:
        check_ours(disk, directory)
    for directory in new:
        disk.make_directory(directory, sync=True)
        if directory == config.metadata_log_dir:
            _write_bootstrap(disk, directory, users)
        properties = {"version": "1", "node.id": str(config.node_id), "cluster.id": cluster_id}
        replace_file(disk, f"{directory}/{checkpoints.META_PROPERTIES}", checkpoints.encode_properties(properties))
    return new


def _write_bootstrap(disk: RealDisk, directory: str, users: Sequence[MetadataRecord]) -> None:
    levels = [FeatureLevelRecord(name=name, feature_level=level) for name, level in BOOTSTRAP_LEVELS.items()]
    now_ms = SystemClock().now_ms()
    content = encode_snapshot([*levels, *users], epoch=0, last_contained_ms=0, now_ms=now_ms)
    mask = os.umask(0o077)  # credentials of the users
    try:
        replace_file(disk, f"{directory}/{BOOTSTRAP}", content)
    finally:
        os.umask(mask)
