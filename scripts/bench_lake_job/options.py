"""The options of scripts/bench-lake."""

from __future__ import annotations

import argparse


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench-lake",
        description="Spark reads a topic of pykbroker's by its Kafka source and by the direct source. Prints Markdown tables.",
    )
    parser.add_argument("--records", type=int, default=5_000_000, metavar="N", help="records (default: five millions)")
    parser.add_argument("--value-bytes", type=int, default=200, metavar="N", help="size of a value (default: 200)")
    parser.add_argument("--codec", default="lz4", help="compression.type of the producer (default: lz4)")
    parser.add_argument("--cores", type=int, default=2, metavar="N", help="tasks of Spark at once (default: 2)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="each source reads so often (default: 3)")
    parser.add_argument(
        "--jobs", action="store_true", help="measure the jobs of pykbroker lake, each once, in place of the sources"
    )
    parser.add_argument(
        "--commits",
        type=int,
        metavar="N",
        help="measure the commits of N small batches of each table format, without a topic",
    )
    parser.add_argument(
        "--topics",
        type=int,
        metavar="N",
        help="measure an archive of N topics of two partitions, by how long fetches wait",
    )
    given = parser.parse_args()
    if given.records < 1 or given.value_bytes < 1 or given.rounds < 1 or 0 in (given.commits, given.topics):
        parser.error("--records, --value-bytes, --rounds, --commits and --topics must be at least 1")
    return given
