"""``kafka-streams-groups``."""

from __future__ import annotations

from pykbroker.container.tools import later_groups


def main(words: list[str]) -> None:
    later_groups.main("streams", "KIP-1071", words)
