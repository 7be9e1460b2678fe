"""Values in files of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.cli.value_files import ValueFiles
from pykbroker.client.errors import ClientError
from pykbroker.client.offsets import TopicPartition
from pykbroker.wire.records import Record

PARTITION = TopicPartition("orders", 2)


def test_each_value_has_a_file(tmp_path: Path) -> None:
    write = ValueFiles(tmp_path / "a" / "b")
    path = tmp_path / "a" / "b" / "orders-2-7"
    assert write(PARTITION, Record(offset=7, value=b"x\n\0")) == f"{path}\n".encode()
    assert path.read_bytes() == b"x\n\0"
    assert write(PARTITION, Record(offset=8, value=None)) == b"-\n"
    assert len(list(path.parent.iterdir())) == 1


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "orders-2-7").write_text("mine")
    with pytest.raises(ClientError, match="exists already; nothing is overwritten"):
        ValueFiles(tmp_path)(PARTITION, Record(offset=7, value=b"x"))
    assert (tmp_path / "orders-2-7").read_text() == "mine"


def test_nothing_is_written_elsewhere(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    ValueFiles(inside)(TopicPartition("../evil", 0), Record(offset=0, value=b"x"))
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ClientError, match="cannot be created"):
        ValueFiles(tmp_path / "file")
