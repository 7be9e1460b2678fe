"""The file that a container runs with."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.container.server_properties import text
from pykbroker.storage.properties import parse_properties


def made(tmp_path: Path, environment: dict[str, str], mounted: str | None = None) -> dict[str, str]:
    file, own = tmp_path / "mounted", tmp_path / "own"
    own.write_text("listeners=PLAINTEXT://:9092\nnum.partitions=7\n")
    if mounted is not None:
        file.write_text(mounted)
    return parse_properties(text(environment, "/data", mounted=file, own=own))


def test_the_images_own_counts_where_nobody_says_anything(tmp_path: Path) -> None:
    own = {"listeners": "PLAINTEXT://:9092", "num.partitions": "7", "log.dirs": "/data"}
    assert made(tmp_path, {"PATH": "/bin"}) == own
    assert made(tmp_path, {}, mounted=" \n") == own


def test_variables_alone(tmp_path: Path) -> None:
    assert made(tmp_path, {"KAFKA_NODE_ID": "3"}) == {
        "node.id": "3",
        "listeners": "PLAINTEXT://:9092",
        "log.dirs": "/data",
    }


def test_variables_win_over_a_mounted_file(tmp_path: Path) -> None:
    given = {"KAFKA_NODE_ID": "3", "KAFKA_LISTENERS": "A://:1"}
    found = made(tmp_path, given, mounted="node.id=1\nlog.dirs=/elsewhere\nbackground.threads=4")
    assert found == {"node.id": "3", "log.dirs": "/elsewhere", "background.threads": "4", "listeners": "A://:1"}


@pytest.mark.parametrize("name", ["log.dir", "log.dirs"])
def test_directories_that_are_said_stay(name: str, tmp_path: Path) -> None:
    assert made(tmp_path, {}, mounted=f"{name}=/mine") == {name: "/mine", "listeners": "PLAINTEXT://:9092"}


def test_values_are_read_as_in_a_file(tmp_path: Path) -> None:
    login = 'Module required username="a" password="b=c";'
    assert made(tmp_path, {"KAFKA_SASL_JAAS_CONFIG": login})["sasl.jaas.config"] == login
