"""What must be there before Spark is started: Java, packages, jars, folders. Each check raises Missing, in words."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from pykbroker.lake.description import FILE
from pykbroker.lake.trouble import Missing

JAVA = 17  # the oldest that Spark 4 runs on


def need_package(name: str, extra: str) -> None:
    """Raises Missing, with the extra that brings the package."""
    try:
        found = find_spec(name)
    except ModuleNotFoundError:  # what it is a part of
        found = None
    if found is None:
        raise Missing(f"This needs the Python package {name}: pip install 'pykbroker[{extra}]' brings it.")


def need_java() -> None:
    """A Java that Spark 4 runs on, where Spark will look: in JAVA_HOME, else on the path."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if program is None:
        raise Missing(
            f"Spark needs Java {JAVA} or later, and there is none on the path (on Debian: apt-get install openjdk-17-jre-headless)."
        )
    try:
        said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
    except OSError:
        raise Missing(f"JAVA_HOME is {home}, and there is no Java in it that can be run.") from None
    version = java_version(said)
    if version is not None and version < JAVA:
        raise Missing(f"Spark needs Java {JAVA} or later; {program} is Java {version}. JAVA_HOME may name another.")


def java_version(said: str) -> int | None:
    """17 of ``openjdk version "17.0.15"``, 8 of ``java version "1.8.0_402"``; None of anything else."""
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None


def need_jars(jars: Iterable[str]) -> None:
    """Raises Missing for a jar that is not on this machine."""
    for jar in jars:
        if "://" not in jar and not Path(jar).is_file():
            raise Missing(f"There is no jar {jar}.")


def need_file(path: Path, what: str) -> None:
    """Raises Missing."""
    if not path.is_file():
        raise Missing(f"There is no {what} {path}.")


def need_lake(path: str) -> None:
    """A lake at ``path``; one that lies elsewhere than on this machine is looked for when Spark is there."""
    local = local_path(path)
    if local is None:
        return
    if not local.is_dir():
        raise Missing(f"There is no folder {path}.")
    if not (local / FILE).is_file():
        raise Missing(f"{path} is no lake of ours: it has no {FILE}. `pykbroker lake archive --to {path}` makes one.")


def need_lake_or_room(path: str) -> None:
    """A lake at ``path``, or nothing: one is made there. What lies elsewhere than on this machine is looked at by Spark."""
    local = local_path(path)
    if local is None or (local / FILE).is_file() or not local.exists():
        return
    if not local.is_dir():
        raise Missing(f"{path} is no folder.")
    if any(not each.name.startswith(".") for each in local.iterdir()):
        raise Missing(f"{path} is not empty and no lake of ours; name another folder with --to.")


def local_path(path: str) -> Path | None:
    """Where ``path`` lies on this machine; None for hdfs://, s3a:// and their like."""
    if "://" not in path:
        return Path(path.removeprefix("file:"))
    return Path(path.removeprefix("file://")) if path.startswith("file://") else None
