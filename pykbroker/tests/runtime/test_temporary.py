"""Folders in the temporary folder, which is everybody's: what others put there is neither followed nor removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pykbroker.runtime.temporary import TESTS, TemporaryFolder, sweep


def test_it_is_swept_up_once_nobody_owns_it(tmp_path: Path) -> None:
    made = TemporaryFolder(TESTS, tmp_path)
    sweep(TESTS, tmp_path)
    assert made.path.is_dir()
    os.close(made._lock)
    sweep(TESTS, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_link_in_a_folder_makes_no_file_where_it_leads(tmp_path: Path) -> None:
    target, folder = tmp_path / "etc-cron-d", tmp_path / f"{TESTS}planted"
    folder.mkdir()
    (folder / ".owned").symlink_to(target)
    TemporaryFolder(TESTS, tmp_path).remove()
    assert not target.exists()


def test_a_link_to_a_folder_is_left_with_what_it_leads_to(tmp_path: Path) -> None:
    target, link = tmp_path / "documents", tmp_path / f"{TESTS}planted"
    target.mkdir()
    (target / "letter").write_text("dear")
    link.symlink_to(target)
    sweep(TESTS, tmp_path)
    assert link.is_symlink()
    assert [path.name for path in target.iterdir()] == ["letter"]


def test_another_users_folder_is_left_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / f"{TESTS}of-another"
    folder.mkdir()
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    sweep(TESTS, tmp_path)
    assert list(folder.iterdir()) == []


def test_what_is_no_folder_is_left(tmp_path: Path) -> None:
    file = tmp_path / f"{TESTS}file"
    file.write_text("x")
    os.mkfifo(tmp_path / f"{TESTS}pipe")
    sweep(TESTS, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
