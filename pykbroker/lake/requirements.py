"""Checks before Spark is started: Java, packages, jars, files and folders. Each raises Missing, which says what to do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from zipfile import is_zipfile

from pykbroker.extras import install_hint
from pykbroker.lake.description import FILE, Format
from pykbroker.lake.errors import Missing
from pykbroker.lake.spark_versions import need_jars_of

JAVA = 17  # the oldest that Spark 4 runs on


def need_package(name: str, extra: str) -> None:
    """Raises Missing if a package is not installed; ``extra`` installs it."""
    try:
        found = find_spec(name)
    except ModuleNotFoundError:  # the package that would contain it
        found = None
    if found is None:
        raise Missing(f"This needs the Python package {name}: {install_hint(extra)}.")


def need_spark(jars: Collection[str] = ()) -> None:
    """Raises Missing if PySpark is not installed, or in a version on which the lake does not run, or for which one of the jars is not."""
    need_package("pyspark", "spark")
    import pyspark

    need_jars_of(pyspark.__version__, jars)


def need_java() -> None:
    """Raises Missing if JAVA_HOME or, without it, the path has no Java on which Spark 4 runs."""
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
    """17 for ``openjdk version "17.0.15"``, 8 for ``java version "1.8.0_402"``, None for other text."""
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None


def need_jars(jars: Iterable[str]) -> None:
    """Raises Missing for a jar that is not on this machine or is no archive; a URL is not checked."""
    for jar in jars:
        if "://" in jar:
            continue
        if not Path(jar).is_file():
            raise Missing(
                f"There is no jar {jar}. --jars and PYKBROKER_SPARK_JARS name files, with commas between them."
            )
        if not is_zipfile(jar):
            raise Missing(f"{jar} is no jar, or it is damaged.")


def need_file(path: Path, what: str) -> None:
    """Raises Missing if there is no file ``path``."""
    if not path.is_file():
        raise Missing(f"There is no {what} {path}.")


def need_lake(path: str) -> None:
    """Raises Missing if there is no lake at ``path``. A lake that is not on this machine is checked when Spark runs."""
    local = local_path(path)
    if local is None:
        return
    with _readable(path):
        if not local.is_dir():
            raise Missing(f"There is no folder {path}.")
        if not (local / FILE).is_file():
            raise Missing(
                f"{path} is no lake of ours: it has no {FILE}. `pykbroker lake archive --to {path}` makes one."
            )


def need_lake_or_room(path: str) -> None:
    """Raises Missing if ``path`` is neither a lake nor free for one. A path that is not on this machine is checked when Spark runs."""
    local = local_path(path)
    if local is None:
        return
    with _readable(path):
        if (local / FILE).is_file() or not local.exists():
            return
        if not local.is_dir():
            raise Missing(f"{path} is no folder.")
        if any(not each.name.startswith(".") for each in local.iterdir()):
            raise Missing(f"{path} is not empty and no lake of ours; name another folder with --to.")


_OBJECT_STORES = frozenset(["s3", "s3a", "s3n", "gs", "oss", "obs", "cosn", "wasb", "wasbs"])
"""Schemes of object stores, which copy where a file system renames."""


def need_atomic_renames(path: str, table: Format) -> None:
    """Raises Missing for plain Parquet in an object store: a kill while files are moved would leave some twice, or readers without."""
    if table is Format.PARQUET and path.partition("://")[0] in _OBJECT_STORES and "://" in path:
        raise Missing(
            f"{path} is in an object store, where plain Parquet cannot be added exactly once: nothing is renamed there in one step. "
            "Use --format delta."
        )


def need_writable(file: Path, option: str) -> None:
    """Raises Missing if ``file`` cannot be written; ``option`` names it."""
    if not file.parent.is_dir():
        raise Missing(f"There is no folder {file.parent}; name a file in another with {option}.")
    if file.is_dir():
        raise Missing(f"{file} is a folder; name a file with {option}.")
    is_new = not file.exists()
    try:
        with file.open("ab"):  # root may write where nothing can be written, such as /proc: only trying tells
            pass
        if is_new:
            file.unlink()
    except OSError as error:
        raise Missing(f"{file} cannot be written: {error.strerror}; name another file with {option}.") from None


@contextmanager
def _readable(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Missing(f"{path} cannot be read: {error.strerror}.") from None


def local_path(path: str) -> Path | None:
    """The path on this machine; None for URIs such as hdfs:// and s3a://."""
    if "://" not in path:
        return Path(path.removeprefix("file:"))
    return Path(path.removeprefix("file://")) if path.startswith("file://") else None
