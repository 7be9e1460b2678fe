"""``kafka-streams-groups``."""

from __future__ import annotations

from pykbroker.container.tools import other_groups


def main(words: list[str]) -> None:
    other_groups.main("streams", "KIP-1071", words)
