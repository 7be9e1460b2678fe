from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from pykbroker.lake import requirements
from pykbroker.lake.description import Format
from pykbroker.lake.errors import Missing


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ("no such thing", None),
    ],
)
def test_the_version_is_read_from_what_java_says(said: str, version: int | None) -> None:
    assert requirements.java_version(said) == version


def test_no_java_and_an_old_one_are_told_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Missing, match="Spark needs Java 17 or later, and there is none"):
        requirements.need_java()
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'java version \"1.8.0\"' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(Missing, match="is Java 8"):
        requirements.need_java()
    program.unlink()
    with pytest.raises(Missing, match="there is no Java in it"):
        requirements.need_java()


def test_packages_jars_and_folders(tmp_path: Path) -> None:
    with pytest.raises(Missing, match=r"no_such_package: run  pip install '\.\[spark\]'"):
        requirements.need_package("no_such_package", "spark")
    with pytest.raises(Missing, match=r"There is no jar /no/such\.jar"):
        requirements.need_jars(["https://elsewhere/any.jar", "/no/such.jar"])
    (tmp_path / "cut.jar").write_bytes(b"PK\3\4")
    with pytest.raises(Missing, match=r"cut\.jar is no jar, or it is damaged"):
        requirements.need_jars([str(tmp_path / "cut.jar")])
    with pytest.raises(Missing, match="There is no folder"):
        requirements.need_lake(str(tmp_path / "none"))
    with pytest.raises(Missing, match="is no lake of ours"):
        requirements.need_lake(f"file://{tmp_path}")
    requirements.need_lake("hdfs://elsewhere/lake")
    assert requirements.local_path(os.curdir) == Path()


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    requirements.need_writable(page, "--to")
    assert not page.exists()
    page.write_text("the last one")
    requirements.need_writable(page, "--to")
    assert page.read_text() == "the last one"
    with pytest.raises(Missing, match=r"There is no folder .*none; name a file in another with --to\."):
        requirements.need_writable(tmp_path / "none" / "page.html", "--to")
    with pytest.raises(Missing, match="is a folder; name a file"):
        requirements.need_writable(tmp_path, "--to")


@pytest.mark.skipif(sys.platform != "linux", reason="a folder in which not even root can write")
def test_a_file_that_not_even_root_can_write_is_told() -> None:
    with pytest.raises(Missing, match=r"/proc/page\.html cannot be written: .+; name another file with --to\."):
        requirements.need_writable(Path("/proc/page.html"), "--to")


def test_a_lake_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_dir", refuse)
    with pytest.raises(Missing, match=r"lake cannot be read: Permission denied\."):
        requirements.need_lake(str(tmp_path / "lake"))


def test_a_lake_is_made_where_nothing_lies(tmp_path: Path) -> None:
    requirements.need_lake_or_room(str(tmp_path / "none"))
    (tmp_path / ".hidden").touch()
    requirements.need_lake_or_room(str(tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(Missing, match=r"is not empty and no lake of ours; name another folder with --to\."):
        requirements.need_lake_or_room(str(tmp_path))
    with pytest.raises(Missing, match=r"file is no folder\."):
        requirements.need_lake_or_room(str(tmp_path / "file"))
    (tmp_path / "lake.json").touch()
    requirements.need_lake_or_room(f"file://{tmp_path}")


@pytest.mark.parametrize("path", ["s3a://bucket/lake", "gs://bucket/lake"])
def test_plain_parquet_is_refused_in_object_stores(path: str) -> None:
    with pytest.raises(Missing, match=r"where plain Parquet cannot be added exactly once.* Use --format delta\."):
        requirements.need_atomic_renames(path, Format.PARQUET)
    requirements.need_atomic_renames(path, Format.DELTA)


@pytest.mark.parametrize("path", ["lake", "hdfs:///lake", "file:///lake", "s3a"])
def test_plain_parquet_is_for_file_systems_that_rename(path: str) -> None:
    assert requirements.need_atomic_renames(path, Format.PARQUET) is None
