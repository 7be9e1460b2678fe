"""The lock of a log directory, which has one user, in this process too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pykbroker.storage.directory_lock import DirectoryLock

ELSEWHERE = """
import sys
from pykbroker.storage.directory_lock import DirectoryLock
try:
    DirectoryLock(sys.argv[1])
except BlockingIOError:
    sys.exit(3)
"""


def is_free_elsewhere(directory: Path) -> bool:
    status = subprocess.run([sys.executable, "-c", ELSEWHERE, str(directory)], check=False).returncode
    assert status in (0, 3)
    return status == 0


@pytest.mark.parametrize("linked", [False, True])
def test_two_locks_of_one_process(tmp_path: Path, linked: bool) -> None:
    directory = tmp_path / "data"
    held = DirectoryLock(str(directory))
    other = directory
    if linked:
        other = tmp_path / "other"
        other.symlink_to(directory)
    for _ in range(2):
        with pytest.raises(BlockingIOError):
            DirectoryLock(str(other))
        assert not is_free_elsewhere(directory)  # a refused attempt lets nobody else in
    held.release()
    assert is_free_elsewhere(directory)
    again = DirectoryLock(str(other))
    assert not is_free_elsewhere(directory)
    again.release()


def test_what_cannot_be_locked_is_not_held(tmp_path: Path) -> None:
    (tmp_path / ".lock").mkdir()
    with pytest.raises(IsADirectoryError):
        DirectoryLock(str(tmp_path))
    (tmp_path / ".lock").rmdir()
    DirectoryLock(str(tmp_path)).release()


def test_a_forked_child_holds_nothing(tmp_path: Path) -> None:
    held = DirectoryLock(str(tmp_path))
    child = os.fork()
    if not child:
        status = 1
        try:
            DirectoryLock(str(tmp_path))
        except BlockingIOError:  # the parent's, by the system
            status = 3
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    held.release()
    child = os.fork()
    if not child:
        DirectoryLock(str(tmp_path))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


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
