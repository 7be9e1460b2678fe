"""Several log directories: who lies where, and what is served while one of them is offline."""

from __future__ import annotations

import errno
import random
from functools import partial
from pathlib import Path

import pytest

from pykbroker.runtime.clock import ManualClock
from pykbroker.storage.checkpoints import encode_partition_metadata
from pykbroker.storage.directories.contents import ForeignDirectoryError
from pykbroker.storage.directories.manager import LogManager
from pykbroker.storage.log.config import LogConfig
from pykbroker.storage.log.log import Log
from pykbroker.tests.storage.rounds import checkpoint_round, flush_round, retention_round
from pykbroker.tests.storage.support import START_MS, TOPIC_ID, append, batch, contents
from pykbroker.wire.errors import ErrorCode, KafkaError
from pykbroker.worlds.disk import SimulatedDisk

DISKS = ("/a", "/b", "/c")
OTHER_ID = bytes(range(1, 17))


class Stores:
    """Three directories that can be stopped, killed, and opened again."""

    def __init__(self, **options: bool) -> None:
        self.disk = SimulatedDisk()
        self.options = options
        self.start()

    def start(self, *directories: str, cluster_id: str = "c") -> None:
        first, *others = directories or DISKS
        self.manager = LogManager(
            Path(first), self.disk, ManualClock(START_MS), node_id=1, cluster_id=cluster_id,
            random=random.Random(len(self.disk.list("/"))), others=[Path(path) for path in others], **self.options,
        )  # fmt: skip
        self.manager.load()

    def log(self, index: int, topic: str = "t") -> Log:
        return self.manager.open(topic, TOPIC_ID, index, LogConfig())

    def fill(self, count: int = 6) -> None:
        for index in range(count):
            append(self.log(index), batch([b"%d" % index]))

    def where(self, count: int = 6) -> list[str]:
        return [self.log(index).directory.path for index in range(count)]

    def fail(self, directory: str) -> None:
        """Every change below the directory is refused."""
        self.disk.fail = lambda _, name: OSError(errno.EIO, "on purpose") if f"{directory}/" in f"{name}/" else None


@pytest.fixture
def stores() -> Stores:
    return Stores()


def refused(action) -> bool:
    try:
        action()
    except KafkaError as error:
        return error.code is ErrorCode.KAFKA_STORAGE_ERROR
    return False


def test_a_new_partition_goes_where_the_fewest_are(stores):
    stores.fill()
    assert stores.where() == [*DISKS, *DISKS]
    for index in (0, 3):
        stores.manager.delete(stores.log(index))
    assert [stores.log(index).directory.path for index in (10, 11, 12)] == ["/a", "/a", "/a"]


def test_directories_are_chosen_before_there_are_files(stores):
    for index in range(4):
        stores.manager.directories.place(("t", index))
    assert [stores.log(index).directory.path for index in (3, 2, 1, 0)] == ["/a", "/c", "/b", "/a"]


@pytest.mark.parametrize("stop", [True, False])
def test_partitions_are_found_where_they_are(stores, stop):
    stores.fill()
    if stop:
        stores.manager.shutdown()
    stores.start("/a", "/c", "/b")
    assert stores.manager.clean is stop
    assert stores.manager.unopened({("t", 5): 1, ("t", 6): 1}) == [("t", 5)]
    assert stores.where() == [*DISKS, *DISKS]
    assert [contents(stores.log(index)) for index in range(6)] == [[(0, b"%d" % index)] for index in range(6)]


def test_each_directory_has_checkpoints_and_an_id_of_its_own(stores):
    stores.fill()
    stores.manager.shutdown()
    ids = set()
    for number, path in enumerate(DISKS):
        points = stores.disk.read(f"{path}/recovery-point-offset-checkpoint").decode()
        assert points == f"0\n2\nt {number} 1\nt {number + 3} 1\n"
        assert stores.disk.exists(f"{path}/.kafka_cleanshutdown")
        ids.add(stores.disk.read(f"{path}/meta.properties").partition(b"directory.id=")[2].partition(b"\n")[0].decode())
    assert ids == set(stores.manager.directory_ids)
    assert len(ids) == 3


def test_one_directory_fails_and_the_others_go_on(stores):
    stores.fill()
    stores.fail("/b")
    assert refused(lambda: append(stores.log(1), batch([b"lost"])))
    stores.disk.fail = None
    assert refused(lambda: stores.log(4).plan_read(0, 100))
    append(stores.log(2), batch([b"more"]))
    retention_round(stores.manager, START_MS)
    flush_round(stores.manager)
    checkpoint_round(stores.manager)
    assert refused(lambda: stores.log(20)), "it may be in the directory that failed"
    stores.manager.directories.place(("new", 0))
    assert stores.log(0, "new").directory.path in ("/a", "/c")
    stores.manager.shutdown()
    assert not stores.disk.exists("/b/.kafka_cleanshutdown")
    stores.start()
    assert [len(contents(stores.log(index))) for index in range(6)] == [1, 1, 2, 1, 1, 1]


@pytest.mark.parametrize(
    "run", [partial(retention_round, now_ms=START_MS), checkpoint_round], ids=["retention", "checkpoints"]
)
def test_a_round_that_fails_in_one_directory_goes_through_the_others(stores, run):
    stores.fill()
    for index in range(6):
        log = stores.log(index)
        log.flush()
        log.directory.remove_later(f"{log.directory.path}/t-{index}/00000000000000000000", 0)
        stores.disk.create(f"{log.path}/00000000000000000000.log.deleted")
    stores.fail("/a")
    assert refused(lambda: run(stores.manager))
    assert [each.directory.offline for each in stores.manager.directories] == [True, False, False]
    if run is checkpoint_round:
        assert b"t 5 1" in stores.disk.read("/c/recovery-point-offset-checkpoint")
    else:
        assert not stores.disk.exists("/c/t-5/00000000000000000000.log.deleted")


def test_a_directory_that_is_offline_at_the_start(stores):
    stores.fill()
    stores.manager.shutdown()
    stores.fail("/b")
    stores.start()
    assert [each.directory.offline for each in stores.manager.directories] == [False, True, False]
    assert stores.manager.clean
    assert [refused(lambda index=index: stores.log(index)) for index in range(6)] == [False, True, False] * 2
    assert len(stores.manager.directory_ids) == 2
    stores.disk.fail = None
    stores.start()
    assert [len(contents(stores.log(index))) for index in range(6)] == [1] * 6


def test_without_the_directory_of_the_metadata_log_nothing_is_served(stores):
    stores.manager.shutdown()
    stores.fail("/a")
    with pytest.raises(OSError, match="on purpose"):
        stores.start()


def test_a_directory_for_the_metadata_log_alone():
    stores = Stores(metadata_apart=True)
    assert stores.log(0, "__cluster_metadata").directory.path == "/a"
    stores.fill(4)
    assert stores.where(4) == ["/b", "/c", "/b", "/c"]
    stores.manager.shutdown()
    stores.disk.fail = lambda _, name: OSError(errno.EIO, "on purpose") if "/b" in name or "/c" in name else None
    with pytest.raises(OSError, match="on purpose"):
        stores.start()


def test_a_directory_of_another_cluster(stores):
    stores.manager.shutdown()
    stores.start("/d", cluster_id="other")
    with pytest.raises(ForeignDirectoryError, match=r"/d belongs to cluster\.id other, not c"):
        stores.start("/a", "/d")


@pytest.mark.parametrize("content", [None, b"", b"rubbish"])
def test_data_without_a_word_on_whose_it_is(stores, content):
    stores.log(0, "__cluster_metadata")
    stores.manager.shutdown()
    stores.disk.remove("/a/meta.properties")
    if content is not None:
        stores.disk.write("/a/meta.properties", content)
    with pytest.raises(ForeignDirectoryError, match=r"/a holds data, but its meta\.properties.* restore that file"):
        stores.start()
    stores.disk.write("/a/meta.properties", b"version=1\nnode.id=1\ncluster.id=c\n")
    stores.start()


def test_partitions_of_topics_that_are_gone_are_put_aside(stores):
    stores.fill(4)
    stores.log(0, "__cluster_metadata")
    stores.disk.write("/a/note-1", b"a file, of whoever")
    stores.manager.shutdown()
    stores.start()
    stores.manager.directories.put_strays_aside({("t", 1): TOPIC_ID, ("t", 3): TOPIC_ID})
    names = [name.partition(".")[0] for path in DISKS for name in stores.disk.list(path) if name.endswith("-stray")]
    assert sorted(names) == ["t-0", "t-2"]
    assert {"note-1", "t-3", "__cluster_metadata-0"} <= set(stores.disk.list("/a"))
    for index in (0, 2):
        assert contents(stores.log(index)) == []
    stores.start()
    assert len([name for path in DISKS for name in stores.disk.list(path) if name.endswith("-stray")]) == 2


@pytest.mark.parametrize("failing", DISKS)
def test_made_again_while_its_directory_was_offline(stores, failing):
    """The directory comes back with the old one, which is a stray, wherever it comes in the order of the directories."""
    index = DISKS.index(failing)
    stores.fill(3)
    old, ids = stores.log(index), {("t", each): TOPIC_ID for each in range(3)}
    stores.fail(failing)
    assert refused(lambda: append(old, batch([b"lost"])))
    assert refused(lambda: stores.manager.delete(old))
    stores.manager.directories.place(("t", index))
    append(stores.manager.open("t", OTHER_ID, index, LogConfig()), batch([b"new"]))
    stores.manager.shutdown()
    stores.disk.fail = None
    stores.start()
    stores.manager.directories.put_strays_aside(ids | {("t", index): OTHER_ID})
    assert contents(stores.manager.open("t", OTHER_ID, index, LogConfig())) == [(0, b"new")]
    (stray,) = [name for name in stores.disk.list(failing) if name.startswith("t-")]
    assert stray.endswith("-stray")


@pytest.mark.parametrize("says", [encode_partition_metadata(TOPIC_ID), b""], ids=["whose it is", "nothing"])
def test_what_another_topic_left_does_not_stand_in_for_a_directory_that_is_offline(stores, says):
    """The topic was made again elsewhere while the old one's directory was offline; now it is the other way round."""
    stores.manager.directories.place_in(stores.manager.directories.all[1], ("t", 0))
    old = stores.log(0)
    stores.fail("/b")
    assert refused(lambda: append(old, batch([b"lost"])))
    assert refused(lambda: stores.manager.delete(old))
    stores.manager.directories.place_in(stores.manager.directories.all[2], ("t", 0))
    append(stores.manager.open("t", OTHER_ID, 0, LogConfig()), batch([b"new"]))
    stores.manager.shutdown()
    stores.disk.fail = None
    stores.disk.write("/b/t-0/partition.metadata", says)
    stores.fail("/c")
    stores.start()
    assert [each.directory.offline for each in stores.manager.directories] == [False, False, True]
    stores.manager.directories.put_strays_aside({("t", 0): OTHER_ID})
    assert refused(lambda: stores.manager.open("t", OTHER_ID, 0, LogConfig()))
    stores.disk.fail = None
    stores.start()
    stores.manager.directories.put_strays_aside({("t", 0): OTHER_ID})
    assert contents(stores.manager.open("t", OTHER_ID, 0, LogConfig())) == [(0, b"new")]


@pytest.mark.parametrize("foreign", [[], ["note"]], ids=["empty", "somebody's"])
def test_something_else_has_the_name_of_a_partition(stores, foreign):
    stores.manager.directories.place_in(stores.manager.directories.all[1], ("t", 0))
    append(stores.log(0), batch([b"x"]))
    stores.disk.make_directory("/a/t-0")
    for name in foreign:
        stores.disk.create(f"/a/t-0/{name}")
    stores.start()
    stores.manager.directories.put_strays_aside({("t", 0): TOPIC_ID})
    assert contents(stores.log(0)) == [(0, b"x")]
    assert stores.disk.list("/a/t-0") == foreign


@pytest.mark.parametrize("other", [None, OTHER_ID])
@pytest.mark.parametrize("place", ["/b", "/c"])
def test_one_that_does_not_say_whose_it_is_stays_where_no_other_one_is_the_topics(stores, place, other):
    """A loss of power may tear partition.metadata: with what names another topic beside it, or as little, it is no stray."""
    append(stores.log(0), batch([b"kept"]))
    first = stores.log(0).directory.path
    stores.manager.shutdown()
    stores.disk.write(f"{first}/t-0/partition.metadata", b"")
    stores.disk.make_directory(f"{place}/t-0")
    stores.disk.write(f"{place}/t-0/00000000000000000000.log", b"")
    stores.disk.write(f"{place}/t-0/partition.metadata", b"" if other is None else encode_partition_metadata(other))
    stores.start()
    stores.manager.directories.put_strays_aside({("t", 0): TOPIC_ID})
    assert contents(stores.log(0)) == [(0, b"kept")]


def test_strays_on_a_disk_that_fails(stores):
    stores.fill(3)
    stores.start()
    stores.fail("/b")
    stores.manager.directories.put_strays_aside({})
    assert [each.directory.offline for each in stores.manager.directories] == [False, True, False]
    assert next(name for name in stores.disk.list("/c") if name.startswith("t-")).endswith("-stray")
