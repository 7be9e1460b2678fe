"""``produce --file``: each file as one record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pykbroker.client.errors import ClientError


def file_contents(paths: Iterable[Path]) -> Iterator[list[bytes]]:
    """Yield the content of each file, in the form of ``line_groups``. Raises ClientError."""
    for path in paths:
        try:
            yield [path.read_bytes()]
        except OSError as error:
            raise ClientError(f"{path} cannot be read: {error.strerror}.") from error
