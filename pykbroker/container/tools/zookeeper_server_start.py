"""``zookeeper-server-start``: nothing. Scripts for Kafka before 4.0 call it; this broker keeps its metadata itself."""

from __future__ import annotations

import sys


def main(words: list[str]) -> None:
    print("ZooKeeper is not needed and is not started: the broker keeps its metadata itself.", file=sys.stderr)
