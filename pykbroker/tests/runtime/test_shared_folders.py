"""What another user made in a shared folder is told from what is our own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pykbroker.runtime.shared_folders import check_not_planted


@pytest.fixture
def another(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From the call on, this process is another user's than the one that made the files, neither of them root."""

    def become() -> None:
        found = os.lstat

        def lstat(path: str) -> os.stat_result:
            values = list(found(path))
            values[4] = 1234
            return os.stat_result(values)

        monkeypatch.setattr(os, "geteuid", lambda: 4321)
        monkeypatch.setattr(os, "lstat", lstat)

    return become


@pytest.mark.parametrize(("mode", "refused"), [(0o1777, True), (0o777, False), (0o755, False), (0o1755, False)])
def test_a_strangers_is_refused_where_everybody_makes_files(
    tmp_path: Path, another: Callable[[], None], mode: int, refused: bool
) -> None:
    (tmp_path / "data").mkdir()
    tmp_path.chmod(mode)
    check_not_planted(tmp_path / "data")
    another()
    if refused:
        with pytest.raises(PermissionError, match="another user \\(uid 1234\\) made it"):
            check_not_planted(tmp_path / "data")
    else:
        check_not_planted(tmp_path / "data")


def test_a_link_is_judged_by_who_made_it(tmp_path: Path, another: Callable[[], None]) -> None:
    (tmp_path / "data").symlink_to("/")
    tmp_path.chmod(0o1777)
    another()
    with pytest.raises(PermissionError):
        check_not_planted(f"{tmp_path}/data/")


def test_what_is_not_there_is_not_planted(tmp_path: Path) -> None:
    assert check_not_planted(tmp_path / "no" / "data") is None
