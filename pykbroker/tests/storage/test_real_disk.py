"""Real files: bounded descriptors, reads of worker threads, what is in the page cache."""

from __future__ import annotations

import errno
import os
import threading

import pytest

from pykbroker.storage.checkpoints import replace_file
from pykbroker.storage.real_disk import RealDisk


@pytest.fixture
def disk():
    return RealDisk(max_open=4)


def open_file(disk, path, data=b""):
    disk.create(str(path))
    file = disk.open(str(path))
    file.pwrite(data, 0)
    return file


def test_positions(disk, tmp_path):
    file = open_file(disk, tmp_path / "f", b"hello world")
    file.pwrite(memoryview(b"W"), 6)
    assert file.size() == 11
    assert file.pread(5, 6) == b"World"
    assert file.pread(100, 6) == b"World"
    file.truncate(5)
    assert file.pread(100, 0) == b"hello"
    file.sync()
    file.close()
    assert file.pread(4, 0) == b"hell"


def test_descriptors_are_bounded_and_come_back(disk, tmp_path):
    files = [open_file(disk, tmp_path / str(n), b"%d" % n) for n in range(50)]
    for _ in range(3):
        assert [file.pread(10, 0) for file in files] == [b"%d" % n for n in range(50)]
        assert len(disk.handles) <= 4


def test_files_that_are_used_stay_open(disk, tmp_path):
    busy = open_file(disk, tmp_path / "busy", b"x")
    for n in range(50):
        open_file(disk, tmp_path / str(n), b"y")
        busy.pread(1, 0)
    (tmp_path / "busy").unlink()
    assert busy.pread(1, 0) == b"x"


def test_a_renamed_file_is_read_through_its_old_descriptor_and_its_new_name(disk, tmp_path):
    file = open_file(disk, tmp_path / "old", b"x")
    disk.rename(str(tmp_path / "old"), str(tmp_path / "new"))
    assert file.pread(1, 0) == b"x"
    file.close()
    with pytest.raises(FileNotFoundError):
        file.pread(1, 0)
    file.path = str(tmp_path / "new")
    assert file.pread(1, 0) == b"x"


def test_worker_threads_read_while_the_owner_opens_others(disk, tmp_path):
    files = [open_file(disk, tmp_path / str(n), b"%03d" % n * 1000) for n in range(20)]
    wrong = []

    def work(seed):
        for turn in range(300):
            number = (seed + turn * 7) % 20
            if files[number].pread(3, 999) != b"%03d" % number:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for turn in range(2000):
        files[turn % 20].pread(3, 0)
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(disk.handles) <= 4 + len(threads)


def test_worker_threads_open_no_more_than_the_owner_does(disk, tmp_path):
    files = [open_file(disk, tmp_path / str(n), b"%03d" % n) for n in range(20)]
    found = []
    thread = threading.Thread(target=lambda: found.extend(file.pread(3, 0) for file in files))
    thread.start()
    thread.join()
    assert found == [b"%03d" % n for n in range(20)]
    assert len(disk.handles) == 4


def test_reads_from_the_page_cache(disk, tmp_path):
    file = open_file(disk, tmp_path / "f", bytes(10_000))
    assert bytes(file.pread_cached(5000, 100)) == bytes(5000)


def test_reads_that_would_wait(disk, tmp_path, monkeypatch):
    file = open_file(disk, tmp_path / "f", bytes(100))
    if not disk.nowait:
        pytest.skip("this system cannot read without waiting")

    def blocking(*_):
        raise BlockingIOError(errno.EAGAIN, "not in memory")

    monkeypatch.setattr(os, "preadv", blocking)
    assert file.pread_cached(10, 0) is None
    monkeypatch.setattr(os, "preadv", lambda *_: 5)
    assert file.pread_cached(10, 0) is None


def test_file_systems_that_cannot_tell_what_is_in_memory(disk, tmp_path, monkeypatch):
    file = open_file(disk, tmp_path / "f", b"hello")

    def unsupported(*_):
        raise OSError(errno.EOPNOTSUPP, "not here")

    monkeypatch.setattr(os, "preadv", unsupported)
    assert bytes(file.pread_cached(5, 0)) == b"hello"
    assert bytes(file.pread_cached(5, 0)) == b"hello"


def test_short_writes_are_completed(disk, tmp_path, monkeypatch):
    file = open_file(disk, tmp_path / "f")
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, position: real(fd, bytes(data)[:3], position))
    file.pwrite(b"hello world", 2)
    assert file.pread(100, 0) == b"\0\0hello world"
    monkeypatch.setattr(os, "pwrite", lambda *_: 0)
    with pytest.raises(OSError, match="no more bytes"):
        file.pwrite(b"x", 0)


def test_a_disk_that_need_not_last_is_never_synced(tmp_path, monkeypatch):
    def forbidden(_fd):
        raise AssertionError

    monkeypatch.setattr(os, "fsync", forbidden)
    disk = RealDisk(durable=False)
    file = open_file(disk, tmp_path / "f", b"x")
    file.sync()
    replace_file(disk, str(tmp_path / "g"), b"y")
    disk.make_directory(str(tmp_path / "a" / "b"), sync=True)


def test_directories(disk, tmp_path):
    path = str(tmp_path / "a" / "b")
    disk.make_directory(path, sync=True)
    disk.make_directory(path)
    disk.create(path + "/f")
    assert disk.exists(path)
    disk.remove(path + "/f")
    disk.remove(path + "/f")
    disk.remove_tree(str(tmp_path / "a"))
    assert not disk.exists(path)


@pytest.mark.parametrize("max_open", [0, 4])
def test_a_reader_between_a_rename_and_the_note_of_the_new_name(tmp_path, monkeypatch, max_open):
    """It waits, or it would look under the old name; with descriptors to keep and with none."""
    disk = RealDisk(max_open=max_open)
    file = open_file(disk, tmp_path / "f.swap", b"hello")
    file.close()
    found = []
    reader = threading.Thread(target=lambda: found.extend((file.size(), file.pread(5, 0))))
    rename = os.replace

    def rename_and_let_it_read(old, new):
        rename(old, new)
        reader.start()
        reader.join(0.05)

    monkeypatch.setattr(os, "replace", rename_and_let_it_read)
    file.rename(str(tmp_path / "f"))
    reader.join()
    assert found == [5, b"hello"]
