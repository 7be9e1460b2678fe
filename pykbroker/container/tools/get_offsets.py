"""``kafka-get-offsets``: ``topic:partition:offset`` for each partition."""

from __future__ import annotations

from typing import Final

from pykbroker.cli.offsets import EARLIEST, LATEST, Partition, list_offsets
from pykbroker.container.tools.running import Options, ToolError, connect

_NAMED: Final = {"earliest": EARLIEST, "latest": LATEST, "max-timestamp": -3}


def main(words: list[str]) -> None:
    made = Options("kafka-get-offsets", "Print topic:partition:offset for each partition.")
    made.connecting()
    made.add_argument("--topic", metavar="NAME")
    made.add_argument("--partitions", metavar="N,N,...", help="of these partitions alone")
    made.add_argument(
        "--time", metavar="MS", default="-1", help="-1 or latest, -2 or earliest, -3 or max-timestamp, or a time"
    )
    made.add_argument("--exclude-internal-topics", action="store_true")
    options = made.parse_args(words)
    try:
        when = _NAMED[options.time] if options.time in _NAMED else int(options.time)
        numbers = {int(number) for number in (options.partitions or "").split(",") if number}
    except ValueError as error:
        raise ToolError(f"--time and --partitions want numbers: {error}.") from error
    with connect(options) as client:
        wanted = [
            Partition(topic.name or "", each.partition_index)
            for topic in client.metadata(None).topics
            if (not options.topic or topic.name == options.topic)
            and not (options.exclude_internal_topics and topic.is_internal)
            for each in topic.partitions
            if not numbers or each.partition_index in numbers
        ]
        if not wanted:
            raise ToolError("Could not match any topic-partitions with the specified filters")
        found = list_offsets(client, dict.fromkeys(wanted, when))
    for partition in sorted(wanted):
        print(f"{partition.topic}:{partition.number}:{found[partition] if found[partition] >= 0 else ''}")
