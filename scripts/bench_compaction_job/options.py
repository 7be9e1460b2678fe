"""The options of scripts/bench-compaction."""

from __future__ import annotations

import argparse
from pathlib import Path


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench-compaction",
        description="Apache Kafka 4.4.0 and pykbroker compact the same gigabyte while a producer runs. Prints a Markdown table.",
    )
    parser.add_argument("--keys", type=int, default=1_000_000, metavar="N", help="keys (default: a million)")
    parser.add_argument("--value-bytes", type=int, default=512, metavar="N", help="size of a value (default: 512)")
    parser.add_argument(
        "--quiet-s", type=float, default=10, metavar="S", help="seconds of producing without compaction"
    )
    parser.add_argument("--folder", type=Path, help="where the data goes for a while (default: a temporary folder)")
    given = parser.parse_args()
    if given.keys < 1 or given.value_bytes < 8:
        parser.error("--keys must be at least 1, --value-bytes at least 8")
    return given
