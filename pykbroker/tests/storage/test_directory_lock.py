"""The lock of a log directory. Two processes: pykbroker/tests/process/test_log_directories.py."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pykbroker.storage.directory_lock import DirectoryLock


def test_a_link_in_its_place_makes_no_file_where_it_leads(tmp_path: Path) -> None:
    target = tmp_path / "target"
    (tmp_path / "data").mkdir()
    (tmp_path / "data/.lock").symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        DirectoryLock(str(tmp_path / "data"))
    assert not target.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder to another user")
def test_another_users_directory_in_a_shared_folder_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    os.chown(tmp_path / "data", 12345, 12345)
    DirectoryLock(str(tmp_path / "data")).release()
    (tmp_path / "data/.lock").unlink()
    tmp_path.chmod(0o1777)
    with pytest.raises(PermissionError, match="another user \\(uid 12345\\)"):
        DirectoryLock(str(tmp_path / "data"))
    assert list((tmp_path / "data").iterdir()) == []
