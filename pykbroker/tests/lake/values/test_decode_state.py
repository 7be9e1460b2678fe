from __future__ import annotations

from pathlib import Path

from pykbroker.lake.description import FILE, Description, Format
from pykbroker.lake.ledger import Entry, Place, Progress
from pykbroker.lake.ledger_files import Book
from pykbroker.lake.values.decode_options import How, Kind
from pykbroker.lake.values.decode_progress import Account, Done
from pykbroker.lake.values.decode_state import all_known


def test_topics_are_known_by_what_is_written_down(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(Description(Format.PARQUET, "cluster").to_json())
    book = Book.on_disk(tmp_path)
    assert all_known(book) == []
    archived = Entry(0, "", 0, {Place(topic, 0): Progress(0, 1, 1) for topic in (".a", "b", "never")})
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger" / f"{0:012d}.json").write_text(archived.to_json())
    for topic in (".a", "b", "never"):
        (tmp_path / "decoded" / topic / "ledger").mkdir(parents=True)
    for topic in (".a", "b"):
        (tmp_path / "decoded" / topic / "how.json").write_text(How(Kind.TEXT).to_json())
    accounts = [Account(batch, "", {}, {0: Done(0, batch)}) for batch in (9, 10)]
    for account in accounts:
        (tmp_path / "decoded" / "b" / "ledger" / f"{account.batch:012d}.json").write_text(account.to_json())
    found = all_known(book)
    assert [each.topic for each in found] == [".a", "b"]
    assert [each.how for each in found] == [How(Kind.TEXT)] * 2
    assert [each.account() for each in found] == [Account(), accounts[1]]
