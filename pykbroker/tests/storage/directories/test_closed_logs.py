"""After a kill, logs that lie as a clean shutdown left them are opened without a recovery."""

from __future__ import annotations

import errno

import pytest

from pykbroker.storage.directories.closed_logs import CLOSED_LOGS, read_looks
from pykbroker.storage.log.config import LogConfig
from pykbroker.tests.storage.support import START_MS, Store, append, batch, contents

CONFIG = LogConfig(segment_bytes=300)
TOPICS = ("kept", "used")
KEPT, USED = (("kept", 0), ("used", 0))
FILE = f"/data/{CLOSED_LOGS}"


@pytest.fixture
def store() -> Store:
    """Two logs, closed well, and a broker that has started on them."""
    store = Store()
    for topic in TOPICS:
        for number in range(10):
            append(store.log(CONFIG, topic), batch([b"%d" % number]))
    store.stop()
    store.start()
    return store


def needing_recovery(store: Store) -> list[tuple[str, int]]:
    """After a kill."""
    store.start()
    assert not store.manager.clean
    return [key for key in (KEPT, USED) if store.manager.needs_recovery(key)]


def last_file(store: Store, topic: str, suffix: str) -> str:
    return max(f"/data/{topic}-0/{name}" for name in store.disk.list(f"/data/{topic}-0") if name.endswith(suffix))


def test_a_log_that_nobody_opened(store):
    append(store.log(CONFIG, "used"), batch([b"more"]))
    assert needing_recovery(store) == [USED]
    before = store.disk.operations
    log = store.log(CONFIG, "kept")
    assert store.disk.operations == before
    assert (log.log_end_offset, log.recovery_point, len(contents(log))) == (10, 10, 10)
    assert len(contents(store.log(CONFIG, "used"))) == 11


def test_a_log_that_was_not_recovered_before_a_clean_shutdown(store):
    """It may be torn: the clean shutdown that follows says nothing of it."""
    append(store.log(CONFIG, "used"), batch([b"more"]))
    assert needing_recovery(store) == [USED]
    assert len(contents(store.log(CONFIG, "kept"))) == 10
    store.stop()
    assert needing_recovery(store) == [USED]
    assert len(contents(store.log(CONFIG, "used"))) == 11
    store.stop()
    store.start()
    assert store.manager.clean


def test_a_log_that_was_only_read(store):
    assert len(contents(store.log(CONFIG, "used"))) == 10
    assert needing_recovery(store) == []


def test_a_log_that_was_rolled(store):
    store.log(CONFIG, "used").roll(START_MS)
    assert needing_recovery(store) == [USED]


@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex"])
@pytest.mark.parametrize("how", ["longer", "of another time", "gone"])
def test_files_that_have_changed(store, suffix, how):
    path = last_file(store, "used", suffix)
    if how == "longer":
        store.disk.write(path, store.disk.read(path) + b"x")
    elif how == "gone":
        store.disk.remove(path)
    else:
        store.disk.inode(path).modified_ms += 1
    assert needing_recovery(store) == [USED]


@pytest.mark.parametrize("name", ["00000000000000000000.log.swap", "00000000000000000000.log.deleted", "x.tmp"])
def test_work_that_was_cut_short(store, name):
    store.disk.write(f"/data/used-0/{name}", b"")
    assert needing_recovery(store) == [USED]


@pytest.mark.parametrize("content", [None, b"", b"0\n1\n", b"\xff", b"0\n1\nused 0 x\n", b"0\n1\nused\n"])
def test_without_what_the_clean_stop_wrote_down_all_are_recovered(store, content):
    if content is None:
        store.disk.remove(FILE)
    else:
        store.disk.write(FILE, content)
    assert needing_recovery(store) == [KEPT, USED]
    assert len(contents(store.log(CONFIG, "used"))) == 10


def test_what_is_recovered_is_forgotten_on_the_disk_first(store):
    """A recovery that the power ends may leave files that look as they did."""
    append(store.log(CONFIG, "used"), batch([b"more"]))
    store.start()
    store.lose_power()
    assert list(read_looks(store.disk, "/data")) == [KEPT]
    assert needing_recovery(store) == [USED]


def no_room(_number: int, name: str) -> OSError | None:
    return OSError(errno.ENOSPC, "full") if name.startswith(f"write {FILE}") else None


def test_a_start_without_room_for_the_file(store):
    append(store.log(CONFIG, "used"), batch([b"more"]))
    store.disk.fail = no_room
    assert needing_recovery(store) == [USED]
    assert not store.disk.exists(FILE)
    store.disk.fail = None
    assert needing_recovery(store) == [KEPT, USED]


def test_a_stop_without_room_for_the_file(store):
    append(store.log(CONFIG, "used"), batch([b"more"]))
    store.disk.fail = no_room
    store.stop()
    store.disk.fail = None
    assert store.start().clean
    assert needing_recovery(store) == [KEPT, USED]


def test_it_holds_over_many_kills_and_clean_stops(store):
    for _ in range(3):
        assert needing_recovery(store) == []
        assert store.log(CONFIG, "used").log_end_offset == 10
        store.start()
        store.stop()
        store.start()
    assert needing_recovery(store) == []


def test_a_deleted_log_is_forgotten(store):
    store.manager.delete(store.log(CONFIG, "used"))
    store.stop()
    assert list(read_looks(store.disk, "/data")) == [KEPT]
