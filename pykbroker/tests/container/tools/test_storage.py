"""``kafka-storage``."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.container.tools.table import main
from pykbroker.wire.primitives import uuid_from_str

ID = "4L6g3nShT-eMCtK--X86sw"


def storage(*words: str) -> int:
    return main("kafka-storage.sh", list(words))


@pytest.fixture
def settings(tmp_path: Path) -> str:
    file = tmp_path / "server.properties"
    file.write_text(f"log.dirs={tmp_path}/a,{tmp_path}/b\nnode.id=1\n")
    return str(file)


def test_an_id_is_another_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert [storage("random-uuid"), storage("random-uuid")] == [0, 0]
    first, second = capsys.readouterr().out.split()
    assert len(uuid_from_str(first)) == 16
    assert first != second


def test_an_id_is_no_option(capsys: pytest.CaptureFixture[str]) -> None:
    """Start scripts write `-t "$(kafka-storage random-uuid)"`: one of 64 would begin with a dash, which Kafka avoids."""
    assert {storage("random-uuid") for _ in range(1000)} == {0}
    assert not [made for made in capsys.readouterr().out.split() if made.startswith("-")]


def test_directories_are_formatted_once(settings: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("format", "-t", ID, "-c", settings)
    assert storage(*words) == 0
    said = capsys.readouterr().out
    assert f"Formatting metadata directory {tmp_path}/a with metadata.version 4.4-IV2." in said
    assert storage(*words) == 1
    assert "is already formatted" in capsys.readouterr().err
    assert storage(*words, "--ignore-formatted") == 0
    assert capsys.readouterr().out == "All of the log directories are already formatted.\n"
    assert storage("info", "--config", settings) == 0
    assert capsys.readouterr().out.count(f"cluster.id={ID}") == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["format", "-t", ID], "--config FILE is missing"),
        (["format", "-c", "SETTINGS"], "--cluster-id ID is missing"),
        (["format", "-c", "SETTINGS", "-t", ID, "-r", "3.9"], "new clusters begin at 4.4-IV2"),
        (["format", "-c", "nowhere", "-t", ID], "nowhere"),
        (["destroy"], "invalid choice"),
        (["format", "--colour"], "--add-scram"),
    ],
)
def test_what_is_wrong_is_said(words: list[str], said: str, settings: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert storage(*(settings if word == "SETTINGS" else word for word in words)) == 1
    assert said in capsys.readouterr().err
