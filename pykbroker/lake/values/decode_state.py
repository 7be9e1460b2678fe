"""Reads the state of a topic's decoding, in ``decoded/TOPIC`` of the lake: how it is decoded, and its progress."""

from __future__ import annotations

from pykbroker.lake.errors import rebuild_hint, written_by
from pykbroker.lake.ledger_files import LedgerFiles, Readable, numbered
from pykbroker.lake.values.decode_options import DecodeOptions
from pykbroker.lake.values.decode_progress import DecodeAccount

DECODED = "decoded"
OPTIONS_FILE, LEDGER = "how.json", "ledger"
BEGUN = "begun.json"
"""The account before the first batch of a topic that is decoded anew: it has the columns of before."""


class Known:
    """One topic. ``options`` is None if it was never decoded."""

    def __init__(self, folder: Readable, topic: str) -> None:
        self.topic = topic
        self.folder = folder
        text = self.folder.read(OPTIONS_FILE)
        self.options = None if text is None else DecodeOptions.from_json(text, self.folder.at(OPTIONS_FILE))

    def account(self) -> DecodeAccount:
        """The newest account; an empty one before the first batch. Raises LakeError if it is damaged."""
        names = numbered(self.folder.names(LEDGER))
        name = f"{LEDGER}/{names[-1]}" if names else BEGUN
        text = self.folder.read(name)
        if text is None:
            return DecodeAccount()
        with written_by("decode", self.folder.at(name), f"{rebuild_hint(self.topic)}."):
            return DecodeAccount.from_json(text)


def all_known(book: LedgerFiles) -> list[Known]:
    """The topics that are decoded. They are not listed: a folder is hidden if its topic's name begins with a dot."""
    topics = sorted({place.topic for place in book.last_entry().partitions})
    found = [Known(book.folder.within(f"{DECODED}/{topic}"), topic) for topic in topics]
    return [each for each in found if each.options is not None]
