"""The server.properties of a container: the mounted file and the variables, else the image's own file.

As in Apache Kafka's image, the lines of the variables follow those of the mounted file, so that they win, and the
image's own file counts only without either. Settings that a container needs and nothing sets are appended.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pykbroker.container import environment as variables
from pykbroker.container import jaas_file
from pykbroker.storage.properties import parse_properties, text_of

MOUNTED: Final = Path("/mnt/shared/config/server.properties")
OWN: Final = Path("/etc/kafka/docker/server.properties")
#: Kafka's default; a loopback address would be unreachable from outside the container.
_LISTENERS: Final = "PLAINTEXT://:9092"


def text(environment: Mapping[str, str], data_dir: str, *, mounted: Path = MOUNTED, own: Path = OWN) -> str:
    """Return the file for an environment that ``derived`` has completed; ``data_dir`` is the default log directory.

    Raises OSError, PropertiesError, and BadEnvironment for a JAAS file that cannot be used.
    """
    said = "".join(f"{name}={value}\n" for name, value in variables.settings(environment).items())
    found = f"{mounted.read_text(encoding='utf-8')}\n{said}" if mounted.exists() else said
    if not found.strip():
        found = own.read_text(encoding="utf-8")
    given = parse_properties(found)
    added = {} if given.get("listeners") else {"listeners": _LISTENERS}
    if not {"log.dirs", "log.dir"} & given.keys():
        added["log.dirs"] = data_dir
    return found + text_of(added | jaas_file.settings(environment, given))
