from __future__ import annotations

from pathlib import Path

from pykbroker.lake.description import FILE, Description, Format
from pykbroker.lake.ledger import LakePartition, LedgerEntry, PartitionProgress
from pykbroker.lake.ledger_files import LedgerFiles
from pykbroker.lake.values.decode_options import DecodeOptions, ValueFormat
from pykbroker.lake.values.decode_progress import DecodeAccount, Done
from pykbroker.lake.values.decode_state import all_known


def test_topics_are_known_by_what_is_written_down(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(Description(Format.PARQUET, "cluster").to_json())
    book = LedgerFiles.on_disk(tmp_path)
    assert all_known(book) == []
    archived = LedgerEntry(
        0, "", 0, {LakePartition(topic, 0): PartitionProgress(0, 1, 1) for topic in (".a", "b", "never")}
    )
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger" / f"{0:012d}.json").write_text(archived.to_json())
    for topic in (".a", "b", "never"):
        (tmp_path / "decoded" / topic / "ledger").mkdir(parents=True)
    for topic in (".a", "b"):
        (tmp_path / "decoded" / topic / "how.json").write_text(DecodeOptions(ValueFormat.TEXT).to_json())
    accounts = [DecodeAccount(batch, "", {}, {0: Done(0, batch)}) for batch in (9, 10)]
    for account in accounts:
        (tmp_path / "decoded" / "b" / "ledger" / f"{account.batch:012d}.json").write_text(account.to_json())
    found = all_known(book)
    assert [each.topic for each in found] == [".a", "b"]
    assert [each.options for each in found] == [DecodeOptions(ValueFormat.TEXT)] * 2
    assert [each.account() for each in found] == [DecodeAccount(), accounts[1]]
