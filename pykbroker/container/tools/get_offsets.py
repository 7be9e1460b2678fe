"""``kafka-get-offsets``: ``topic:partition:offset`` for each partition."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Final

from pykbroker.client.offsets import EARLIEST, LATEST, TopicPartition, list_offsets
from pykbroker.container.tools.printing import print_lines
from pykbroker.container.tools.running import Options, ToolError, connect

_NAMED: Final = {"earliest": EARLIEST, "latest": LATEST, "max-timestamp": -3}


def main(words: list[str]) -> None:
    made = Options("kafka-get-offsets", "Print topic:partition:offset for each partition.")
    made.connecting()
    made.add_argument("--topic", metavar="NAME")
    made.add_argument("--partitions", metavar="N,N,...", help="of these partitions alone")
    made.add_argument(
        "--topic-partitions", metavar="NAME:N,...", help="of these alone; NAME:N-M is up to, and without, M"
    )
    made.add_argument(
        "--time", metavar="MS", default="-1", help="-1 or latest, -2 or earliest, -3 or max-timestamp, or a time"
    )
    made.add_argument("--exclude-internal-topics", action="store_true")
    for name in ("offsets", "max-wait-ms"):  # of Kafka before 3.0, which tutorials still have
        made.add_argument(f"--{name}", metavar="N", help=argparse.SUPPRESS)
    options = made.parse_args(words)
    try:
        when = _NAMED[options.time] if options.time in _NAMED else int(options.time)
        numbers = {int(number) for number in (options.partitions or "").split(",") if number}
        chosen = [_chosen(text) for text in (options.topic_partitions or "").split(",") if text]
    except ValueError as error:
        raise ToolError(f"--time, --partitions and --topic-partitions want numbers: {error}.") from error
    if chosen and (options.topic or numbers):
        raise ToolError("--topic-partitions cannot be used with --topic or --partitions")
    with connect(options) as client:
        wanted = [
            TopicPartition(topic.name or "", each.partition_index)
            for topic in client.metadata(None).topics
            if (not options.topic or topic.name == options.topic)
            and not (options.exclude_internal_topics and topic.is_internal)
            for each in topic.partitions
            if (not numbers or each.partition_index in numbers)
            and (not chosen or any(fits(topic.name or "", each.partition_index) for fits in chosen))
        ]
        if not wanted:
            raise ToolError("Could not match any topic-partitions with the specified filters")
        found = list_offsets(client, dict.fromkeys(wanted, when))
    for partition in sorted(wanted):
        print_lines(f"{partition.topic}:{partition.number}:{found[partition] if found[partition] >= 0 else ''}")


def _chosen(text: str) -> Callable[[str, int], bool]:
    """Parse a regular expression of topics, optionally with a colon and partitions.

    Partitions are a number, or a range without its end. Raises ToolError and ValueError.
    """
    name, _, numbers = text.rpartition(":") if ":" in text else (text, "", "")
    try:
        pattern = re.compile(name) if name else None
    except re.error as error:
        raise ToolError(f"{name!r} is not a regular expression: {error}.") from error
    low, dash, high = numbers.partition("-")
    first = int(low) if low else 0
    end = (int(high) if high else None) if dash or not low else first + 1
    return lambda topic, number: (
        (pattern is None or pattern.fullmatch(topic) is not None) and first <= number and (end is None or number < end)
    )
