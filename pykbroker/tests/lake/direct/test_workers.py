from __future__ import annotations

import sys
from pathlib import Path
from zipfile import ZipFile
from zipimport import zipimporter

import pyspark
import pytest

from pykbroker.lake.direct.workers import forget_own_archives


def test_only_archives_of_sparks_own_are_forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Others may have changed, and must be looked at before each task."""
    own = Path(pyspark.__file__).parent / "python" / "lib" / "pyspark.zip"
    other = tmp_path / "job.zip"
    with ZipFile(other, "w") as archive:
        archive.writestr("job.py", "")
    cache = {str(path): zipimporter(str(path)) for path in (own, other)} | {str(tmp_path): None}
    monkeypatch.setattr(sys, "path_importer_cache", cache)
    forget_own_archives()
    assert set(cache) == {str(other), str(tmp_path)}
