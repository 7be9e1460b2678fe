"""What is written down of a topic's decoding, in ``decoded/TOPIC`` of the lake: how it is decoded, and how far that is."""

from __future__ import annotations

from pykbroker.lake.book import Book, Readable
from pykbroker.lake.values.account import Account
from pykbroker.lake.values.how import How

DECODED = "decoded"
HOW, LEDGER = "how.json", "ledger"


class Known:
    """One topic. ``how`` is None where it was never decoded."""

    def __init__(self, folder: Readable, topic: str) -> None:
        self.topic = topic
        self.folder = folder
        text = self.folder.read(HOW)
        self.how = None if text is None else How.from_json(text, self.folder.at(HOW))

    def account(self) -> Account:
        """The newest account."""
        names = self.folder.names(LEDGER)
        text = self.folder.read(f"{LEDGER}/{names[-1]}") if names else None
        return Account() if text is None else Account.from_json(text)


def all_known(book: Book) -> list[Known]:
    """The topics of which it is known how they are decoded."""
    found = [Known(book.folder.within(f"{DECODED}/{topic}"), topic) for topic in book.folder.names(DECODED)]
    return [each for each in found if each.how is not None]
