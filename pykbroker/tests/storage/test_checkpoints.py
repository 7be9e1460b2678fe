from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.storage.checkpoints import replace_file
from pykbroker.storage.real_disk import RealDisk


def test_replacing_a_file(tmp_path: Path) -> None:
    disk, path = RealDisk(), str(tmp_path / "f")
    replace_file(disk, path, b"one")
    replace_file(disk, path, b"two")
    assert disk.read(path) == b"two"
    assert disk.list(str(tmp_path)) == ["f"]


def test_a_file_is_not_replaced_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, path = RealDisk(), str(tmp_path / "f")
    replace_file(disk, path, b"one")

    def fails(path: str, data: bytes, *, sync: bool = True) -> None:
        Path(path).write_bytes(data[:1])
        raise OSError(28, "No space left on device", path)

    monkeypatch.setattr(disk, "write", fails)
    with pytest.raises(OSError, match="No space left"):
        replace_file(disk, path, b"two")
    assert disk.read(path) == b"one"
