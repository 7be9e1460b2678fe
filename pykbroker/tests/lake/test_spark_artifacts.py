from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pykbroker.lake.errors import Missing
from pykbroker.lake.spark_artifacts import FOLDER, need_room


def test_the_working_directory_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    need_room()
    assert list(tmp_path.iterdir()) == []
    theirs = tmp_path / FOLDER / "a file of somebody"
    theirs.parent.mkdir()
    theirs.touch()
    need_room()
    assert list(theirs.parent.iterdir()) == [theirs]


@pytest.mark.skipif(sys.platform != "linux", reason="a folder in which not even root can write")
def test_a_working_directory_that_cannot_be_written_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/proc")
    with pytest.raises(Missing, match=r"^Spark makes a folder artifacts in the working directory, and /proc cannot"):
        need_room()
