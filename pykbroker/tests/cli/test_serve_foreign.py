"""`pykbroker serve` in folders that hold what is not a broker's: nothing of it is removed, renamed or written over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pykbroker.tests.cli.test_serve import refused, serving
from pykbroker.tests.cli.test_serve_directories import LISTEN, ask, create, ended, produced
from pykbroker.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse

ASIDE = "0123456789abcdef" * 2
#: What a person may have in a folder, with names that look like a broker's, in part to the letter.
FOREIGN = [
    "report-2024/january.csv",
    "postgres-16/data/base",
    "to-delete/letter.txt",
    "my-future/plan.txt",
    f"t-9.{ASIDE}-delete/letter.txt",
    f"t-9.{ASIDE}-future/00000000000000000000/letter.txt",
    f"t-9.{ASIDE}-stray/letter.txt",
    "empty-1/",
    "note.tmp",
]


def lay_out(folder: Path, names: list[str] = FOREIGN) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if name.endswith("/") else path.write_text(f"mine: {name}")


def everything(folder: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


@pytest.mark.deep(but=1)
@pytest.mark.parametrize("name", [*FOREIGN, "notes.txt"])
def test_a_directory_that_is_no_brokers_is_refused_and_left_as_it_was(tmp_path: Path, name: str) -> None:
    lay_out(tmp_path, [name])
    before = everything(tmp_path)
    status, said = refused(*LISTEN, "--data-dir", str(tmp_path))
    assert status == 1
    assert f"the log directory {tmp_path} cannot be used" in said
    assert f"it holds {name.partition('/')[0]} but no meta.properties, so it is not a log directory" in said
    assert "choose an empty or a new one with --data-dir DIR" in said
    assert everything(tmp_path) == before


def test_one_of_several_log_dirs_is_no_brokers(tmp_path: Path) -> None:
    """Nothing is begun in the others either."""
    lay_out(tmp_path / "mine")
    before = everything(tmp_path)
    status, said = refused(*LISTEN, "--set", f"log.dirs={tmp_path / 'new'},{tmp_path / 'mine'}")
    assert status == 1
    assert f"the log directory {tmp_path / 'mine'} cannot be used" in said
    assert everything(tmp_path) == before


def test_a_link_to_a_directory_that_is_no_brokers(tmp_path: Path) -> None:
    lay_out(tmp_path / "mine")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    status, _ = refused(*LISTEN, "--data-dir", str(tmp_path / "link"))
    assert status == 1
    assert everything(tmp_path / "mine").keys() >= {"report-2024/january.csv", "to-delete/letter.txt"}


@pytest.mark.deep
@pytest.mark.parametrize("name", ["lost+found/", ".snapshot/", ".hidden", ".nfs000001"])
def test_what_file_systems_keep_is_no_obstacle(tmp_path: Path, name: str) -> None:
    """Apache Kafka takes hidden files, but ends at a lost+found or a hidden folder; nothing of ours touches them."""
    lay_out(tmp_path, [name])
    for offset in (0, 1):
        with serving(*LISTEN, "--data-dir", str(tmp_path)) as (process, ready):
            if not offset:
                ask(ready, create("t"))
            assert produced(ready) == (0, offset)
            ended(process)
    assert (tmp_path / name).exists()


def test_what_is_put_into_a_brokers_folder_stays(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with serving(*LISTEN, "--data-dir", str(folder)) as (process, ready):
        ask(ready, create("t"))
        ended(process)
    lay_out(folder)
    mine = everything(folder)
    with serving(*LISTEN, "--data-dir", str(folder)) as (process, ready):
        assert produced(ready) == (0, 0)
        said = ended(process)
    after = everything(folder)
    assert {name: after.get(name) for name in mine if name.startswith(tuple(FOREIGN))} == {
        name: mine[name] for name in mine if name.startswith(tuple(FOREIGN))
    }
    assert f"t-9.{ASIDE}-delete is not removed: letter.txt in it is no broker's" in said


@pytest.mark.deep
def test_left_overs_of_a_broker_go_and_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with serving(*LISTEN, "--data-dir", str(folder)) as (process, ready):
        ask(ready, create("t"), create("gone"))
        assert produced(ready) == (0, 0)
        ask(ready, (DeleteTopicsRequest(topic_names=["gone"], timeout_ms=1000), 5, DeleteTopicsResponse))
        ended(process)
    left = folder / f"t-0.{ASIDE}-future"
    left.mkdir()
    (left / "00000000000000000000.log").touch()
    with serving(*LISTEN, "--data-dir", str(folder)) as (process, ready):
        assert produced(ready) == (0, 1)
        said = ended(process)
    assert not left.exists()
    assert f"Removed {left}" in said


@pytest.mark.deep
def test_a_link_among_the_left_overs_is_removed_and_not_what_it_leads_to(tmp_path: Path) -> None:
    """As Apache Kafka does."""
    folder, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    with serving(*LISTEN, "--data-dir", str(folder)) as (process, ready):
        ended(process)
    elsewhere.mkdir()
    (elsewhere / "00000000000000000000.log").touch()
    (folder / f"t-0.{ASIDE}-delete").symlink_to(elsewhere)
    with serving(*LISTEN, "--data-dir", str(folder)) as (process, ready):
        ask(ready, create("t"))
        assert produced(ready) == (0, 0)
        ended(process)
    assert not (folder / f"t-0.{ASIDE}-delete").is_symlink()
    assert (elsewhere / "00000000000000000000.log").exists()


def test_a_topic_does_not_move_into_a_folder_of_somebody(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with serving(*LISTEN, "--data-dir", str(folder)) as (process, ready):
        lay_out(folder, ["t-0/letter.txt", "t-0/letter.tmp"])
        ask(ready, create("t"), create("other"))
        assert produced(ready)[0] == 56
        ask(ready, (DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000), 5, DeleteTopicsResponse))
        said = ended(process)
    assert everything(folder / "t-0") == {"letter.txt": b"mine: t-0/letter.txt", "letter.tmp": b"mine: t-0/letter.tmp"}
    assert "goes offline" not in said


@pytest.mark.deep
def test_one_folder_under_two_names_is_told(tmp_path: Path) -> None:
    """Each partition would seem to lie there twice, and the second be put aside."""
    folder, link = tmp_path / "data", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    for other in (link, os.path.relpath(folder)):
        status, said = refused(*LISTEN, "--set", f"log.dirs={folder},{other}")
        assert status in (1, 2)
        assert "are one directory" in said


def test_a_file_in_the_place_of_the_control_socket_stays(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with serving(*LISTEN, "--data-dir", str(folder)) as (process, ready):
        ended(process)
    (folder / "control.sock").write_text("mine")
    with serving(*LISTEN, "--data-dir", str(folder)) as (process, ready):
        ask(ready, create("t"))
        ended(process)
    assert (folder / "control.sock").read_text() == "mine"
