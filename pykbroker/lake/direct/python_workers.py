"""Spares Spark's Python processes work that they repeat before each task and each plan."""

from __future__ import annotations

import sys
from pathlib import Path
from zipimport import zipimporter

import pyspark


def forget_own_archives() -> None:
    """Remove the import caches of Spark's own archives.

    Before each task and each plan, PySpark calls ``importlib.invalidate_caches``, which reads the directory of every cached archive again. For
    Spark's archives, which never change, this takes a fifth of a second. The next import creates a removed cache again.
    """
    own = _own_places(Path(pyspark.__file__).parent)
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter) and not own.isdisjoint([Path(path), *Path(path).parents]):
            del sys.path_importer_cache[path]


def _own_places(package: Path) -> set[Path]:
    """The folders of Spark's archives. Its processes import PySpark from one of them. Archives that jobs bring may be elsewhere below
    Spark's home.
    """
    archive = package.parent
    if archive.suffix != ".zip":
        home = package
    elif archive.parts[-3:-1] == ("python", "lib"):
        home = archive.parents[2]
    else:
        return {archive}  # as YARN brings it
    return {home / "python" / "lib", home / "jars"}
