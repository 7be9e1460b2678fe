"""``consume --value-files``: each value in a file of its own, named TOPIC-PARTITION-OFFSET."""

from __future__ import annotations

from pathlib import Path

from pykbroker.client.errors import ClientError
from pykbroker.client.offsets import TopicPartition
from pykbroker.runtime.escaping import escaped
from pykbroker.wire.records import Record


class ValueFiles:
    """A formatter that writes values to files and prints the paths, ``-`` for null. It overwrites nothing."""

    def __init__(self, folder: Path) -> None:
        """Create ``folder`` if it does not exist. Raises ClientError."""
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ClientError(f"{folder} cannot be created: {error.strerror}.") from error

    def __call__(self, partition: TopicPartition, record: Record) -> bytes:
        """Write the value; returns the line to print. Raises ClientError."""
        if record.value is None:
            return b"-\n"
        topic = escaped(partition.topic).replace(
            "/", "_"
        )  # topic names come from a broker and must not lead out of the folder
        path = self._folder / f"{topic}-{partition.number}-{record.offset}"
        try:
            with path.open("xb") as file:
                file.write(record.value)
        except FileExistsError:
            raise ClientError(f"{path} exists already; nothing is overwritten. Name another folder.") from None
        except OSError as error:
            raise ClientError(f"{path} cannot be written: {error.strerror}.") from error
        return str(path).encode("utf-8", "surrogateescape") + b"\n"
