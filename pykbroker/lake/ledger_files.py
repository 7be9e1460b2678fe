"""Reads a lake's description and ledger. A lake on this machine's disk needs no Spark for that."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Protocol, Self

from pykbroker.lake.description import FILE, Description
from pykbroker.lake.errors import LakeError, Missing, written_by
from pykbroker.lake.ledger import LedgerEntry

LEDGER = "ledger"
_NUMBERED = re.compile(r"\d{12}\.json")


class Readable(Protocol):
    """A folder whose files are read. Names are relative to it, with ``/``."""

    def at(self, name: str) -> str:
        """The path or URI of ``name``."""

    def within(self, name: str) -> Readable:
        """The folder ``name`` in this one."""

    def read(self, name: str) -> str | None:
        """The text of a file; None if it does not exist. Raises LakeError if it cannot be read or is not UTF-8."""

    def names(self, name: str) -> list[str]:
        """The sorted names in the folder ``name`` without hidden ones; empty if it does not exist."""

    def files(self, name: str) -> dict[str, int]:
        """The files below the folder ``name``, relative to it, and their sizes in bytes; without hidden ones."""


class LocalFolder:
    """A folder on this machine's disk."""

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
        except OSError as error:
            raise LakeError(f"{self.at(name)} cannot be read: {error.strerror}.") from None
        except UnicodeDecodeError:
            raise LakeError(f"{self.at(name)} is not text in UTF-8: it is damaged.") from None

    def names(self, name: str) -> list[str]:
        try:
            return sorted(each.name for each in (self._path / name).iterdir() if each.name[0] != ".")
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise LakeError(f"{self.at(name)} cannot be read: {error.strerror}.") from None

    def files(self, name: str) -> dict[str, int]:
        found = {}
        top = self._path / name
        for folder, _, names in os.walk(top):
            for each in names:
                if not each.startswith((".", "_")):
                    path = Path(folder, each)
                    with suppress(FileNotFoundError):  # compaction or a batch has removed it meanwhile
                        found[path.relative_to(top).as_posix()] = path.stat().st_size
        return found


class LedgerFiles:
    """The description of a lake, and its ledger."""

    def __init__(self, folder: Readable, description: Description) -> None:
        self.folder = folder
        self.description = description

    @classmethod
    def on_disk(cls, path: Path) -> Self:
        """The book of a lake on this machine. Raises as ``described``."""
        folder = LocalFolder(path)
        return cls(folder, described(folder, str(path)))

    def last_entry(self) -> LedgerEntry:
        """The ledger's newest entry; an empty one before the first batch. Raises LakeError if it is damaged."""
        batches = self.batches()
        return self.entry(batches[-1]) if batches else LedgerEntry()

    def batches(self) -> list[int]:
        """The batches whose entries are kept, in order."""
        return [int(name.removesuffix(".json")) for name in numbered(self.folder.names(LEDGER))]

    def entry(self, batch: int) -> LedgerEntry:
        """The ledger's entry of a batch; an empty one if there is none. Raises LakeError if it is damaged."""
        name = f"{LEDGER}/{batch:012d}.json"
        text = self.folder.read(name)
        with written_by(
            "archive", self.folder.at(name), "If it is the ledger's last entry, the next archive makes it anew."
        ):
            return LedgerEntry() if text is None else LedgerEntry.from_json(text)


def numbered(names: Iterable[str]) -> list[str]:
    """The names of files of batches, in order; others, which people may have added, are left out."""
    return sorted(filter(_NUMBERED.fullmatch, names))


def described(folder: Readable, path: str) -> Description:
    """The lake's description. Raises Missing if there is no lake, LakeError if the description is damaged or newer than this version."""
    text = folder.read(FILE)
    if text is None:
        raise Missing(f"{path} is no lake of ours: it has no {FILE}. `pykbroker lake archive --to {path}` makes one.")
    return Description.from_json(text, folder.at(FILE))
