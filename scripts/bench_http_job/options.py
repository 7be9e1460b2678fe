"""The options of scripts/bench-http."""

from __future__ import annotations

import argparse


def options() -> argparse.Namespace:
    made = argparse.ArgumentParser(
        prog="scripts/bench-http",
        description="What the HTTP side costs: the start and the memory of a broker without it and with it, and how long one-record "
        "produces take while Prometheus asks every second and a page follows the topic. Both brokers are sent a record every "
        "millisecond, half a millisecond apart. Periods of three seconds, watched and unwatched, take turns, many times; ratios are "
        "of the two brokers in the same period: median and quartiles.",
    )
    made.add_argument("--rounds", type=int, default=20, help="periods of each kind, in turns (20)")
    made.add_argument(
        "--produces",
        type=int,
        default=3000,
        help="records that each broker is sent in a period, one a millisecond (3000); before each a thousand that are not counted",
    )
    made.add_argument("--partitions", type=int, default=50, help="partitions that there are to tell of (50)")
    made.add_argument("--starts", type=int, default=7, help="starts of which the median is taken (7)")
    made.add_argument(
        "--registry",
        action="store_true",
        help="measure the schema registry (starts, memory, registrations, look-ups), and nothing else",
    )
    made.add_argument("--requests", type=int, default=2000, help="with --registry: requests of each kind (2000)")
    given = made.parse_args()
    for name, value in vars(given).items():
        if isinstance(value, int) and not isinstance(value, bool) and value < 1:
            made.error(f"--{name} must be at least 1")
    return given
