from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pykbroker.storage.checkpoints import decode_properties, encode_properties, replace_file
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


@given(st.dictionaries(st.sampled_from(["cluster.id", "node.id"]), st.text()))
@example({"cluster.id": "test-cluster"})
@example({"cluster.id": " a\\b\nc=d"})
@example({"cluster.id": "\x1f"})
def test_meta_properties_keep_any_text(properties: dict[str, str]) -> None:
    assert decode_properties(encode_properties(properties)) == properties


def test_meta_properties_are_read_as_java_writes_them() -> None:
    written = "#\n#Tue Nov 24 08:12:18 UTC 2026\ncluster.id=\\ x\\=y\\nünï\nversion=1\n".encode()
    assert decode_properties(written) == {"cluster.id": " x=y\nünï", "version": "1"}
    assert decode_properties(b"cluster.id=a\\u12\n") == {"cluster.id": "a\\u12"}  # damaged
