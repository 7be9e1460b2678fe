"""``zookeeper-server-start``: does nothing, since the broker keeps its own metadata.

Scripts for Kafka before 4.0 call it.
"""

from __future__ import annotations

from pykbroker.container.tools.printing import print_error


def main(words: list[str]) -> None:
    print_error("ZooKeeper is not needed and is not started: the broker keeps its metadata itself.")
