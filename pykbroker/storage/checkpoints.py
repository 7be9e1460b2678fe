"""The small files beside the records, in Kafka's own formats, and their atomic replacement.

Offset checkpoints and the leader epoch checkpoint are text: a version line, a count line, a line per entry
(``CheckpointFile`` of Kafka). meta.properties and partition.metadata are lists of names and values.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pykbroker.storage.disk import Disk

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"

TopicPartition = tuple[str, int]


class CorruptCheckpointError(ValueError):
    """The content of a file is corrupt, for instance after a power loss."""


def replace_file(disk: Disk, path: str, data: bytes) -> None:
    """Replace the content of ``path`` by ``data``, so that a crash leaves the old or the new content, never a mixture."""
    temporary = path + ".tmp"
    disk.write(temporary, data)
    disk.rename(temporary, path)
    disk.sync_directory(os.path.dirname(path))  # noqa: PTH120 - a string


def encode_lines(lines: Iterable[str]) -> bytes:
    """The content of a checkpoint file."""
    entries = list(lines)
    return "".join(f"{line}\n" for line in ("0", str(len(entries)), *entries)).encode()


def decode_lines(data: bytes) -> list[list[str]]:
    """The entries, split in words. Raises CorruptCheckpointError."""
    try:
        lines = data.decode().splitlines()
        if not lines:
            return []
        version, count = int(lines[0]), int(lines[1]) if len(lines) > 1 else 0
    except ValueError as error:
        raise CorruptCheckpointError(f"not a checkpoint: {error}") from None
    entries = [line.split(" ") for line in lines[2:]]
    if version != 0 or count != len(entries):
        raise CorruptCheckpointError(f"version {version}, {count} entries promised, {len(entries)} found")
    return entries


def encode_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """An offset checkpoint: ``topic partition offset`` per line."""
    return encode_lines(f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items()))


def decode_offsets(data: bytes) -> dict[TopicPartition, int]:
    """Read an offset checkpoint. Raises CorruptCheckpointError."""
    try:
        return {(topic, int(partition)): int(offset) for topic, partition, offset in decode_lines(data)}
    except ValueError as error:
        raise CorruptCheckpointError(str(error)) from None


def read_offsets(disk: Disk, path: str) -> dict[TopicPartition, int]:
    """Read an offset checkpoint file; an absent one is empty. Raises CorruptCheckpointError."""
    return decode_offsets(disk.read(path)) if disk.exists(path) else {}


def write_offsets(disk: Disk, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Replace an offset checkpoint file."""
    replace_file(disk, path, encode_offsets(offsets))


def encode_epochs(epochs: Iterable[tuple[int, int]]) -> bytes:
    """A leader epoch checkpoint: ``epoch start_offset`` per line."""
    return encode_lines(f"{epoch} {start}" for epoch, start in epochs)


def decode_epochs(data: bytes) -> list[tuple[int, int]]:
    """Read a leader epoch checkpoint. Raises CorruptCheckpointError."""
    try:
        return [(int(epoch), int(start)) for epoch, start in decode_lines(data)]
    except ValueError as error:
        raise CorruptCheckpointError(str(error)) from None


def _uuid_text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def encode_partition_metadata(topic_id: bytes) -> bytes:
    """partition.metadata: the topic id of a partition's directory."""
    return f"version: 0\ntopic_id: {_uuid_text(topic_id)}".encode()


def decode_partition_metadata(data: bytes) -> bytes:
    """The topic id (16 bytes) of a partition.metadata file. Raises CorruptCheckpointError."""
    for line in data.decode(errors="replace").splitlines():
        name, _, value = line.partition(": ")
        if name == "topic_id":
            try:
                topic_id = base64.urlsafe_b64decode(value + "==")
            except ValueError as error:
                raise CorruptCheckpointError(f"topic id {value!r}: {error}") from None
            if len(topic_id) == 16:
                return topic_id
    raise CorruptCheckpointError("no topic id")


def read_topic_id(disk: Disk, path: str) -> bytes | None:
    """The topic id of a log's directory; None if it cannot be read, for instance after a power loss."""
    try:
        return decode_partition_metadata(disk.read(f"{path}/{PARTITION_METADATA}"))
    except (FileNotFoundError, CorruptCheckpointError):
        return None


def encode_properties(properties: Mapping[str, str]) -> bytes:
    """meta.properties, as java.util.Properties reads it."""
    written = dict(sorted(properties.items()))
    if all(
        value.isascii() and value.isprintable() and value == value.strip() and "\\" not in value
        for value in written.values()
    ):
        return "".join(f"{name}={value}\n" for name, value in written.items()).encode()
    from pykbroker.storage.properties import text_of

    return text_of(written).encode()


def decode_properties(data: bytes) -> dict[str, str]:
    """Names and values of a properties file; comments and blank lines are ignored."""
    text = data.decode(errors="replace")
    if "\\" in text:
        from pykbroker.storage.properties import PropertiesError, parse_properties

        with suppress(PropertiesError):
            return parse_properties(text)
    properties: dict[str, str] = {}
    for each in text.splitlines():
        line = each.strip()
        if line and line[0] not in "#!":
            name, _, value = line.partition("=")
            properties[name.strip()] = value.strip()
    return properties


def read_meta_properties(disk: Disk, directory: str) -> dict[str, str]:
    """The content of a log directory's meta.properties; empty if it is missing. Raises OSError."""
    path = f"{directory}/{META_PROPERTIES}"
    return decode_properties(disk.read(path)) if disk.exists(path) else {}


def encode_clean_shutdown(broker_epoch: int) -> bytes:
    """The marker of a clean shutdown (KIP-966: with the broker's epoch)."""
    return json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":")).encode()


def decode_clean_shutdown(data: bytes) -> int:
    """The broker epoch in a clean shutdown marker; -1 if it has none."""
    try:
        epoch = json.loads(data)["brokerEpoch"]
    except (ValueError, TypeError, KeyError):
        return -1
    return epoch if isinstance(epoch, int) else -1
