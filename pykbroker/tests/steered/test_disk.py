"""A disk that fails when it is told to, over the real one."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from pykbroker.steered.disk import DiskFaults
from pykbroker.storage.real_disk import RealDisk


def test_what_is_told_fails_and_all_else_does_not(tmp_path: Path) -> None:
    faults = DiskFaults()
    disk = faults.wrap(RealDisk())
    path = str(tmp_path / "a.log")
    disk.create(path)
    file = disk.open(path)
    fault = faults.fail("write", error="EIO", path="*.log", times=1)
    with pytest.raises(OSError) as failed:
        file.pwrite(b"x", 0)
    assert (failed.value.errno, fault.fired) == (errno.EIO, 1)
    file.pwrite(b"x", 0)
    assert file.pread(1, 0) == b"x"
    faults.fill()
    with pytest.raises(OSError) as full:
        disk.create(str(tmp_path / "b"))
    assert full.value.errno == errno.ENOSPC
    disk.remove(str(tmp_path / "b"))
    faults.heal()
    disk.create(str(tmp_path / "b"))


def test_a_file_has_the_name_that_it_is_given(tmp_path: Path) -> None:
    """Segments that are to be deleted are renamed by their directory, and told so."""
    disk = DiskFaults().wrap(RealDisk())
    old, new = str(tmp_path / "a"), str(tmp_path / "b")
    disk.create(old)
    file = disk.open(old)
    disk.rename(old, new)
    file.path = new
    file.pwrite(b"x", 0)
    assert disk.read(new) == b"x"
