"""Files of one run, where their own folder can be written and where it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.container.writable_files import find, remove, write

_REFUSES = Path("/sys/kernel")


def test_a_file_is_for_its_user_alone_in_the_place_of_another(tmp_path: Path) -> None:
    path = tmp_path / "new" / "server.properties"
    assert write("a=1\n", path, ()) == write("b=2\n", path, ()) == find(path, ()) == path
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("b=2\n", 0o600)


@pytest.mark.skipif(not _REFUSES.is_dir(), reason="a file system in which root cannot make files, too, is Linux's")
def test_where_its_folder_cannot_be_written_another_has_it(tmp_path: Path) -> None:
    others = (_REFUSES, tmp_path / "run", tmp_path / "tmp")
    path = _REFUSES / "server.properties"
    assert write("a=1\n", path, others) == tmp_path / "run" / "pykbroker-server.properties"
    assert find(path, others).read_text() == "a=1\n"
    remove(path, others)
    assert find(path, others) == path
    with pytest.raises(PermissionError, match="server"):
        write("a=1\n", path, others[:1])


def test_an_earlier_run_is_forgotten(tmp_path: Path) -> None:
    path = write("{}", tmp_path / "ready.json", ())
    remove(path, ())
    remove(path, ())
    assert not path.exists()
