"""Which log directories there are, who has them, and what a person is told."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pykbroker.config.broker import BrokerConfig
from pykbroker.process import log_directories
from pykbroker.process.log_directories import DirectoryPaths, StartFailed
from pykbroker.wire.errors import ErrorCode, KafkaError


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"log.dir": "/a"}, DirectoryPaths(Path("/a"), (), False)),
        ({"log.dirs": "/a,/b", "log.dir": "/c"}, DirectoryPaths(Path("/a"), (Path("/b"),), False)),
        ({"log.dirs": "/a,/b", "metadata.log.dir": "/b"}, DirectoryPaths(Path("/b"), (Path("/a"),), False)),
        ({"log.dirs": "/a", "metadata.log.dir": "/m"}, DirectoryPaths(Path("/m"), (Path("/a"),), True)),
    ],
)
def test_the_directories_that_settings_name(settings: dict[str, str], found: DirectoryPaths) -> None:
    assert log_directories.named_by(BrokerConfig(settings)) == found


def test_the_node_id_of_the_data_unless_one_is_set(tmp_path: Path) -> None:
    paths = DirectoryPaths(tmp_path, (), False)
    assert log_directories.with_node_id(paths, BrokerConfig()).node_id == 1
    (tmp_path / "meta.properties").write_text("version=1\nnode.id=7\n")
    assert log_directories.with_node_id(paths, BrokerConfig()).node_id == 7
    assert log_directories.with_node_id(paths, BrokerConfig({"node.id": "3"})).node_id == 3


def test_a_directory_whose_owner_cannot_be_read_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").mkdir()
    with pytest.raises(StartFailed, match="cannot be used"):
        log_directories.with_node_id(DirectoryPaths(tmp_path, (), False), BrokerConfig())


def test_directories_are_locked_but_for_those_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    locks = log_directories.lock(DirectoryPaths(tmp_path / "a", (tmp_path / "file", tmp_path / "b"), False))
    assert len(locks) == 2
    for lock in locks:
        lock.release()
    assert (tmp_path / "b" / ".lock").exists()
    with pytest.raises(StartFailed, match="A file is in its place"):
        log_directories.lock(DirectoryPaths(tmp_path / "file", (), False))


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.ENOSPC, "The disk is full: make room on it"),
        (errno.EDQUOT, "make room, or raise it"),
        (errno.EROFS, "mount it so that it can be written"),
        (errno.EACCES, "change its owner or its mode"),
        (errno.EIO, "The disk fails: replace it, or take the data from a backup"),
    ],
)
def test_what_to_do_about_an_error_of_the_system(code: int, advice: str) -> None:
    error = OSError(code, os.strerror(code))
    by_the_store = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "appending failed")
    by_the_store.__cause__ = error
    for raised in (error, by_the_store):
        said = str(log_directories.unusable(Path("/data"), raised))
        assert said.startswith(f"the log directory /data cannot be used: {raised}. ")
        assert advice in said
        assert said.endswith(", or choose another with --data-dir DIR.")


def test_other_errors_say_themselves_what_to_do() -> None:
    assert str(log_directories.unusable(Path("/data"), ValueError("do this"))) == (
        "the log directory /data cannot be used: do this"
    )
