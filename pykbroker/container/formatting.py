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
from pykbroker.storage.directories.contents import brokers_in, check_ours
from pykbroker.storage.real_disk import RealDisk
from pykbroker.wire.internal.feature_level_record import FeatureLevelRecord

#: metadata.version of a new cluster.
RELEASE_VERSION: Final = "4.4-IV2"


def directories(config: BrokerConfig) -> list[str]:
    """Return the metadata log directory, then the others."""
    return list(dict.fromkeys([config.metadata_log_dir, *config.log_dirs]))


def formatted(directory: str) -> bool:
    """Whether the directory belongs to a cluster, itself or by its brokers' folders. Raises OSError."""
    disk = RealDisk()
    return "cluster.id" in checkpoints.read_meta_properties(disk, directory) or bool(brokers_in(disk, directory))


def format_new(config: BrokerConfig, cluster_id: str, users: Sequence[MetadataRecord] = ()) -> list[str]:
    """Format the directories that are not formatted, and return them.

    Any text is a cluster id, as for Kafka's storage tool (``random-uuid`` makes 22 characters of base64). Raises OSError, and
    ForeignDirectoryError for a directory with other content.
    """
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
