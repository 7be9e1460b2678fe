"""The server.properties of a container: the mounted file and the variables, else the image's own file.

As in Apache Kafka's image, the lines of the variables follow those of the mounted file, so that they win, and the
image's own file counts only without either. Settings that a container needs and nothing sets are appended.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from pykbroker.container import environment as variables
from pykbroker.storage.properties import parse_properties

MOUNTED: Final = Path("/mnt/shared/config/server.properties")
OWN: Final = Path("/etc/kafka/docker/server.properties")
#: Kafka's default; a loopback address would be unreachable from outside the container.
_LISTENERS: Final = "PLAINTEXT://:9092"


def text(environment: Mapping[str, str], data_dir: str, *, mounted: Path = MOUNTED, own: Path = OWN) -> str:
    """Return the file for an environment that ``derived`` has completed; ``data_dir`` is the default log directory.

    Raises OSError and PropertiesError.
    """
    said = "".join(f"{name}={value}\n" for name, value in variables.settings(environment).items())
    found = f"{mounted.read_text(encoding='utf-8')}\n{said}" if mounted.exists() else said
    if not found.strip():
        found = own.read_text(encoding="utf-8")
    return found + "".join(f"{name}={value}\n" for name, value in _still_open(parse_properties(found), data_dir))


def _still_open(given: Mapping[str, str], data_dir: str) -> list[tuple[str, str]]:
    added = [] if given.get("listeners") else [("listeners", _LISTENERS)]
    if not {"log.dirs", "log.dir"} & given.keys():
        added.append(("log.dirs", data_dir))
    return added


def write(content: str, path: Path) -> None:
    """Write the file, readable only for the container's user, since it may hold passwords. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        path.unlink()  # from an earlier start, perhaps of another user
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(content)
