"""Formatted directories are those of the cluster that was asked for, and a broker takes them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pykbroker.config.broker import BrokerConfig
from pykbroker.container.formatting import directories, format_new, formatted
from pykbroker.container.tools.scram_users import scram_user
from pykbroker.storage.checkpoints import read_meta_properties
from pykbroker.storage.directories.contents import ForeignDirectoryError
from pykbroker.storage.real_disk import RealDisk
from pykbroker.tests.kit.running import running_broker

ID = "4L6g3nShT-eMCtK--X86sw"


def config(*folders: Path, **more: str) -> BrokerConfig:
    return BrokerConfig({"log.dirs": ",".join(map(str, folders)), "node.id": "3", **more})


def test_every_new_directory_says_whose_it_is(tmp_path: Path) -> None:
    both = config(tmp_path / "a", tmp_path / "b")
    assert format_new(both, ID) == directories(both) == [str(tmp_path / "a"), str(tmp_path / "b")]
    for folder in directories(both):
        assert formatted(folder)
        found = read_meta_properties(RealDisk(), folder)
        assert found == {"version": "1", "node.id": "3", "cluster.id": ID}
    assert (tmp_path / "a" / "bootstrap.checkpoint").exists()
    assert not (tmp_path / "b" / "bootstrap.checkpoint").exists()


def test_those_of_a_cluster_stay_as_they_are(tmp_path: Path) -> None:
    format_new(config(tmp_path / "a"), ID)
    other = "5L6g3nShT-eMCtK--X86sw"
    assert format_new(config(tmp_path / "a"), other) == []
    assert read_meta_properties(RealDisk(), str(tmp_path / "a"))["cluster.id"] == ID


def test_nothing_is_formatted_where_something_else_lies(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "letter.txt").write_text("mine")
    with pytest.raises(ForeignDirectoryError, match=r"letter\.txt"):
        format_new(config(tmp_path / "a", tmp_path / "b"), ID)
    assert not (tmp_path / "a").exists()


#: Kafka's storage tool formats for each (compat_tests/tools asks it).
IDS = ["test-cluster", "short", "a b", " lead", "x=y", "back\\slash", "two\nlines", "ünï", "x" * 300, ""]


@pytest.mark.parametrize("cluster_id", IDS)
def test_any_text_is_an_id_and_a_broker_takes_it(cluster_id: str, tmp_path: Path) -> None:
    format_new(config(tmp_path / "a", **{"node.id": "1"}), cluster_id)

    async def start() -> str:
        async with running_broker(tmp_path / "a") as broker:
            return broker.cluster.logs.cluster_id

    assert asyncio.run(start()) == asyncio.run(start()) == cluster_id


def test_a_broker_takes_it_with_the_users_that_it_was_given(tmp_path: Path) -> None:
    format_new(
        config(tmp_path / "a", **{"node.id": "1"}), ID, [scram_user("SCRAM-SHA-256=[name=alice,password=secret]")]
    )

    async def start() -> None:
        async with running_broker(tmp_path / "a") as broker:
            assert broker.cluster.logs.cluster_id == ID
            assert set(broker.cluster.metadata.image.scram) == {("alice", 1)}

    asyncio.run(start())


def test_several_brokers_take_it_and_their_folders_are_formatted(tmp_path: Path) -> None:
    async def life() -> str:
        async with running_broker(tmp_path, brokers=3) as broker:
            return broker.node.cluster.logs.cluster_id

    config = BrokerConfig({"log.dirs": str(tmp_path)})
    for _ in range(2):
        format_new(config, "the-cluster")
        assert asyncio.run(life()) == "the-cluster"
        assert formatted(str(tmp_path))
    assert not (tmp_path / "meta.properties").exists()
