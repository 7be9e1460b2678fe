"""The options of scripts/bench-testing."""

from __future__ import annotations

import argparse


def options() -> argparse.Namespace:
    made = argparse.ArgumentParser(
        prog="scripts/bench-testing",
        description="What a test pays for a broker: from pytest's start to the first record, per test, per start, and in "
        "eight workers. Each number is the median of several rounds, in turn with the run that it is compared to.",
    )
    made.add_argument("--rounds", type=int, default=7, help="how often each is measured (7)")
    made.add_argument(
        "--others",
        action="store_true",
        help="then start ours, kfake and Apache Kafka in turn: until ready, until the first record, memory "
        "(Java and Maven as for scripts/test; kfake where there is Go)",
    )
    made.add_argument(
        "--projects",
        action="store_true",
        help="only run the Kafka tests of public projects, from their packages, beside each kind of broker: seconds, memory, and what "
        "became of them; half an hour, and port 9092 must be free (Java and Maven)",
    )
    return made.parse_args()
