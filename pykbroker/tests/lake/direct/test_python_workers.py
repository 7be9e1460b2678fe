from __future__ import annotations

import sys
from pathlib import Path
from zipfile import ZipFile
from zipimport import zipimporter

import pytest

pytest.importorskip("numpy")
pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

import pyspark
from pyspark.sql.types import StructType

from pykbroker.lake.direct.python_workers import forget_own_archives
from pykbroker.lake.direct.source import Segments

HOME = Path(pyspark.__file__).parent
ARCHIVE = HOME / "python" / "lib" / "pyspark.zip"


def known(monkeypatch: pytest.MonkeyPatch, *archives: Path) -> dict[str, zipimporter | None]:
    """Python's cache, as if modules had been looked for in these archives and in a folder."""
    cache = {str(path): zipimporter(str(path)) for path in archives} | {"/": None}
    monkeypatch.setattr(sys, "path_importer_cache", cache)
    return cache


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """It may have changed, and must be looked at before each task."""
    path = tmp_path / "job.zip"
    with ZipFile(path, "w") as archive:
        archive.writestr("job.py", "")
    return path


@pytest.mark.parametrize("package", [HOME, ARCHIVE / "pyspark"], ids=["installed", "as Spark's processes import it"])
def test_only_archives_of_sparks_own_are_forgotten(monkeypatch: pytest.MonkeyPatch, other: Path, package: Path) -> None:
    jar = next((HOME / "jars").glob("spark-core_*.jar"))
    cache = known(monkeypatch, ARCHIVE, ARCHIVE / "pyspark" / "sql", jar, other)
    monkeypatch.setattr(pyspark, "__file__", str(package / "__init__.py"))
    forget_own_archives()
    assert set(cache) == {str(other), "/"}


def test_beside_an_archive_that_was_brought_others_are_kept(
    monkeypatch: pytest.MonkeyPatch, other: Path, tmp_path: Path
) -> None:
    brought = tmp_path / "pyspark.zip"
    with ZipFile(brought, "w") as archive:
        archive.writestr("pyspark/__init__.py", "")
    cache = known(monkeypatch, brought, brought / "pyspark", other)
    monkeypatch.setattr(pyspark, "__file__", str(brought / "pyspark" / "__init__.py"))
    forget_own_archives()
    assert set(cache) == {str(other), "/"}


def test_a_source_that_is_made_and_one_that_plans_forget(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cache = known(monkeypatch, ARCHIVE)
    source = Segments({"path": str(tmp_path)})
    assert set(cache) == {"/"}
    cache = known(monkeypatch, ARCHIVE)
    source.reader(StructType())
    assert set(cache) == {"/"}
