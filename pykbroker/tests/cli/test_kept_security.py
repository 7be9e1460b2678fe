"""The folder of ``serve --security``: made once, the same again, and nobody else's."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pykbroker.cli.kept_security import KeptSecurity
from pykbroker.config.setting import ConfigError
from pykbroker.tests.kit.certificates import now_ms


def kept(folder: Path, *names: str, protocol: str = "sasl_ssl") -> KeptSecurity:
    return KeptSecurity(folder, protocol, names, ["kafka.example"], now_ms)


def test_it_is_made_once(tmp_path: Path) -> None:
    first, again = (kept(tmp_path / "s").made for _ in range(2))
    assert list(first.users) == ["alice", "bob"]
    assert len(set(first.users.values())) == 2
    assert (again.users, again.authority) == (first.users, first.authority)
    one, two = (kept(tmp_path / "s", protocol="ssl").made.java("alice") for _ in range(2))
    assert one == two
    assert "PRIVATE KEY" in Path(one["ssl.keystore.location"]).read_text()


def test_delegation_tokens_stay_good(tmp_path: Path) -> None:
    name = "delegation.token.secret.key"
    first, again, other = (kept(tmp_path / folder).made.broker_settings()[name] for folder in ("s", "s", "other"))
    assert first == again
    assert len({first, other, ""}) == 3


def test_users_are_added_and_who_is_named_first_is_first(tmp_path: Path) -> None:
    before = kept(tmp_path / "s").made.users
    after = kept(tmp_path / "s", "carol", "bob").made.users
    assert list(after) == ["carol", "bob", "alice"]
    assert {name: after[name] for name in before} == before


def test_a_password_may_be_written_into_the_file(tmp_path: Path) -> None:
    kept(tmp_path / "s")
    (tmp_path / "s/users.properties").write_text("alice=chosen\n")
    assert kept(tmp_path / "s").made.users == {"alice": "chosen"}


def test_only_its_owner_reads_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = kept(tmp_path / "s", protocol="ssl").folder
    files = [folder, *folder.rglob("*")]
    assert len(files) > 3
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)
    assert not caplog.records
    (folder / "users.properties").chmod(0o644)
    with caplog.at_level(logging.WARNING):
        kept(folder)
    assert (
        f"{folder}/users.properties holds keys and passwords and is readable by every user of this machine"
        in caplog.text
    )


@pytest.mark.parametrize("name", ["", "a b", "a/b", "a=b", "b\u00f6b"])
def test_names_that_are_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="is not a valid name"):
        kept(tmp_path / "s", name)


@pytest.mark.parametrize("text", ["", "rubbish", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_a_key_that_is_none(tmp_path: Path, text: str) -> None:
    kept(tmp_path / "s")
    (tmp_path / "s/authority-key.pem").write_text(text)
    with pytest.raises(ConfigError, match=r"authority-key\.pem is not the key of an authority"):
        kept(tmp_path / "s")


def test_another_users_folder_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who knows where it would be, beside /tmp/data for instance, makes it first, with keys and passwords of his own."""
    folder = kept(tmp_path / "s").folder
    (tmp_path / "link").symlink_to(folder)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    monkeypatch.setattr(os, "geteuid", lambda: 4321)
    monkeypatch.setattr(Path, "lstat", _of_uid(Path.lstat, 1234))
    for there in (folder, tmp_path / "link"):
        with pytest.raises(ConfigError, match=r"belongs to another user \(uid 1234\).*--security-dir"):
            kept(there)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def _of_uid(lstat: Callable[[Path], os.stat_result], uid: int) -> Callable[[Path], os.stat_result]:
    def changed(path: Path) -> os.stat_result:
        values = list(lstat(path))
        values[4] = uid
        return os.stat_result(values)

    return changed


def test_a_link_in_the_place_of_a_new_file_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("as it was")
    (tmp_path / "s").mkdir(mode=0o700)
    (tmp_path / "s/users.properties.new").symlink_to(target)
    kept(tmp_path / "s")
    assert target.read_text() == "as it was"
    assert not (tmp_path / "s/users.properties").is_symlink()
