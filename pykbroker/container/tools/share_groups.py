"""``kafka-share-groups``."""

from __future__ import annotations

from pykbroker.container.tools import other_groups


def main(words: list[str]) -> None:
    other_groups.main("share", "KIP-932", words)
