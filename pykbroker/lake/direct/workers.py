"""What Spark's Python processes do before each task and each plan, and need not."""

from __future__ import annotations

import sys
from pathlib import Path
from zipimport import zipimporter

import pyspark


def forget_own_archives() -> None:
    """Before each task and each plan PySpark has Python forget its caches of modules, and read anew the directories of all archives on
    its path: a fifth of a second for those of Spark's own, which never change. A cache that is not there is not read; who imports
    makes it again.
    """
    own = _own_places(Path(pyspark.__file__).parent)
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter) and not own.isdisjoint([Path(path), *Path(path).parents]):
            del sys.path_importer_cache[path]


def _own_places(package: Path) -> set[Path]:
    """Where Spark's archives lie. Its processes import PySpark from one of them; what jobs bring may lie elsewhere below Spark's home."""
    archive = package.parent
    if archive.suffix != ".zip":
        home = package
    elif archive.parts[-3:-1] == ("python", "lib"):
        home = archive.parents[2]
    else:
        return {archive}  # as YARN brings it
    return {home / "python" / "lib", home / "jars"}
