"""The folder ``artifacts``, which Spark 4.0 makes in the working directory at its first query, and leaves there when it ends."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pykbroker.lake.errors import Missing

FOLDER = "artifacts"


def need_room() -> None:
    """Raises Missing if Spark cannot make its folder in the working directory."""
    was_there = Path(FOLDER).exists()
    try:
        Path(FOLDER).mkdir(exist_ok=True)
        Path(tempfile.mkdtemp(dir=FOLDER)).rmdir()
        if not was_there:
            Path(FOLDER).rmdir()
    except OSError as error:
        raise Missing(
            f"Spark makes a folder {FOLDER} in the working directory, and {Path.cwd()} cannot be written ({error.strerror}): start the "
            "command in another."
        ) from None


@contextlib.contextmanager
def removed(spark: Any) -> Iterator[None]:
    """Remove what Spark makes within, and nothing else: other files may be in a folder of this name."""
    was_there = Path(FOLDER).exists()
    ours = Path(spark._jsparkSession.artifactManager().artifactRootPath().toString())  # noqa: SLF001 - Python has no name for it
    try:
        yield
    finally:
        shutil.rmtree(ours, ignore_errors=True)
        if not was_there and ours.parent.name == FOLDER:
            with contextlib.suppress(OSError):  # another command has its own in it
                ours.parent.rmdir()
