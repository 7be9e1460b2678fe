"""``kafka-share-groups``."""

from __future__ import annotations

from pykbroker.container.tools import later_groups


def main(words: list[str]) -> None:
    later_groups.main("share", "KIP-932", words)
