"""What a lake says of itself in files: which it is, and how far its archive is. Where they lie on this machine no Spark is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, Self

from pykbroker.lake.description import FILE, Description
from pykbroker.lake.ledger import Entry
from pykbroker.lake.trouble import Missing

LEDGER = "ledger"


class Readable(Protocol):
    """A folder whose files are read by names relative to it, with ``/``."""

    def at(self, name: str) -> str:
        """Where what is called ``name`` here lies."""

    def within(self, name: str) -> Readable:
        """The folder ``name`` in this one."""

    def read(self, name: str) -> str | None:
        """The text of a file; None where there is none."""

    def names(self, name: str) -> list[str]:
        """What lies directly in the folder ``name``, hidden files left out; nothing where there is no such folder."""


class LocalFolder:
    """One of this machine's disk."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def at(self, name: str) -> str:
        return str(self._path / name)

    def within(self, name: str) -> LocalFolder:
        return LocalFolder(self._path / name)

    def read(self, name: str) -> str | None:
        try:
            return (self._path / name).read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None

    def names(self, name: str) -> list[str]:
        folder = self._path / name
        return sorted(each.name for each in folder.iterdir() if each.name[0] != ".") if folder.is_dir() else []


class Book:
    """The description of a lake, and its ledger."""

    def __init__(self, folder: Readable, description: Description) -> None:
        self.folder = folder
        self.description = description

    @classmethod
    def on_disk(cls, path: Path) -> Self:
        """Of a lake on this machine. Raises as ``described``."""
        folder = LocalFolder(path)
        return cls(folder, described(folder, str(path)))

    def last_entry(self) -> Entry:
        """How far the archive is; an empty entry where no batch has been taken yet."""
        batches = self.batches()
        return self.entry(batches[-1]) if batches else Entry()

    def batches(self) -> list[int]:
        """The batches whose entries are kept."""
        return [int(name.removesuffix(".json")) for name in self.folder.names(LEDGER)]

    def entry(self, batch: int) -> Entry:
        """The ledger's entry of a batch; an empty one where there is none."""
        text = self.folder.read(f"{LEDGER}/{batch:012d}.json")
        return Entry.from_json(text) if text is not None else Entry()


def described(folder: Readable, path: str) -> Description:
    """What the folder's description says. Raises Missing where there is no lake, LakeError where it is not one of ours."""
    text = folder.read(FILE)
    if text is None:
        raise Missing(f"{path} is no lake of ours: it has no {FILE}. `pykbroker lake archive --to {path}` makes one.")
    return Description.from_json(text, folder.at(FILE))
