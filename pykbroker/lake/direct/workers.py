"""What Spark's Python workers do before each task, and need not."""

from __future__ import annotations

import sys
from pathlib import Path
from zipimport import zipimporter

import pyspark


def forget_own_archives() -> None:
    """PySpark has Python forget its caches of modules before each task, and read anew the directories of all archives on its path:
    a fifth of a second for those of Spark's own, which never change. A cache that is not there is not read; who imports makes it again.
    """
    home = Path(pyspark.__file__).parent
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter) and home in Path(path).parents:
            del sys.path_importer_cache[path]
