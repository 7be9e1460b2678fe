from __future__ import annotations

from pathlib import Path

import pytest

from pykbroker.lake.description import FILE, Description, Format
from pykbroker.lake.errors import LakeError, Missing
from pykbroker.lake.ledger import LakePartition, LedgerEntry, PartitionProgress
from pykbroker.lake.ledger_files import LedgerFiles, LocalFolder


def test_a_folder_is_read_by_names(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("a/2", "a/1", "a/.1.crc"):
        (tmp_path / name).write_text(name)
    folder = LocalFolder(tmp_path)
    assert folder.names("a") == ["1", "2"]
    assert folder.names("b") == folder.names("a/1") == []
    assert folder.within("a").read("2") == "a/2"
    assert folder.read("b") is folder.read("a/1/b") is None
    assert folder.at("a/1") == str(tmp_path / "a" / "1")


def test_a_lake_says_what_it_is_and_how_far(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(Description(Format.DELTA, "cluster").to_json())
    book = LedgerFiles.on_disk(tmp_path)
    assert book.description == Description(Format.DELTA, "cluster")
    assert book.last_entry() == LedgerEntry()
    entries = [
        LedgerEntry(batch, "", 1, {LakePartition("t", 0): PartitionProgress(0, batch + 1, batch + 1)})
        for batch in (9, 10)
    ]
    (tmp_path / "ledger").mkdir()
    for entry in entries:
        (tmp_path / "ledger" / f"{entry.batch:012d}.json").write_text(entry.to_json())
    assert book.batches() == [9, 10]
    assert book.last_entry() == entries[1]
    assert book.entry(9) == entries[0]
    assert book.entry(8) == LedgerEntry()


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"batch": 1}', b"\xff"])
def test_a_damaged_entry_is_told_and_other_files_are_passed_over(tmp_path: Path, text: bytes) -> None:
    (tmp_path / FILE).write_text(Description(Format.PARQUET, "cluster").to_json())
    (tmp_path / "ledger").mkdir()
    for name in ("notes.txt", "README.json", f"{9:012d}.json.orig"):
        (tmp_path / "ledger" / name).write_text("mine")
    book = LedgerFiles.on_disk(tmp_path)
    assert book.last_entry() == LedgerEntry()
    (tmp_path / "ledger" / f"{9:012d}.json").write_bytes(text)
    with pytest.raises(LakeError, match=r"ledger/000000000009\.json is .*damaged"):
        book.last_entry()


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(LakeError, match=r"lake\.json cannot be read: Is a directory\."):
        LedgerFiles.on_disk(tmp_path)


def test_what_is_no_lake_is_said(tmp_path: Path) -> None:
    with pytest.raises(Missing, match=r"is no lake of ours: it has no lake\.json"):
        LedgerFiles.on_disk(tmp_path)
    (tmp_path / FILE).write_text("{}")
    with pytest.raises(LakeError, match=r"lake\.json is not one that `pykbroker lake archive` wrote"):
        LedgerFiles.on_disk(tmp_path)
