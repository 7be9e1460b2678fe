"""Which names in a log directory are a broker's."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykbroker.runtime.clock import ManualClock
from pykbroker.storage import names
from pykbroker.storage.directories.contents import DirectoryContents
from pykbroker.storage.directory import LogDirectory
from pykbroker.worlds.disk import SimulatedDisk

topics = st.text("abcXYZ019._-", min_size=1, max_size=249)


@given(topics, st.integers(0, 2**31 - 1), st.sampled_from([names.DELETE, names.FUTURE, names.STRAY]), st.integers())
def test_what_is_put_aside_is_known_again_and_no_longer_a_partition(topic, partition, why, seed) -> None:
    disk = SimulatedDisk()
    contents = DirectoryContents(LogDirectory("/data", disk, ManualClock(0), random.Random(seed)))
    disk.make_directory(f"/data/{topic}-{partition}")
    aside = contents.put_aside((topic, int(partition)), why).rpartition("/")[2]
    assert names.put_aside_as(aside) == why
    assert len(aside) <= 255


@pytest.mark.parametrize(
    "name",
    ["to-delete", "my-future", "a-b.c-delete", "t-0-delete", f"t-0.{'g' * 32}-delete", f"t-0.{'a' * 31}-stray", "t-0"],
)
def test_names_that_only_look_so(name: str) -> None:
    assert names.put_aside_as(name) is None


def test_what_lies_in_a_partition() -> None:
    segment = "00000000000000000042"
    given_by_brokers = [
        f"{segment}{suffix}{after}"
        for suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
        for after in ("", ".deleted", ".cleaned", ".swap", ".tmp")
    ] + ["partition.metadata", "leader-epoch-checkpoint", "leader-epoch-checkpoint.tmp", "quorum-state"]
    assert names.strangers([*given_by_brokers, f"{segment}-0000000001.checkpoint"]) == []
    assert names.strangers(["a.log", "january.csv", "42.log", "note.tmp", ".hidden"]) == [
        ".hidden", "42.log", "a.log", "january.csv", "note.tmp",
    ]  # fmt: skip


def test_a_partition_is_a_directory_with_a_log_or_its_metadata() -> None:
    disk = SimulatedDisk()
    for name in ("empty", "log", "metadata", "mixed"):
        disk.make_directory(f"/data/{name}")
    disk.create("/data/log/00000000000000000000.log")
    disk.create("/data/metadata/partition.metadata")
    disk.create("/data/mixed/00000000000000000000.log")
    disk.create("/data/mixed/letter.txt")
    disk.create("/data/file")
    found = [name for name in sorted(disk.list("/data")) if names.is_partition(disk, f"/data/{name}")]
    assert found == ["log", "metadata"]
