"""The options of scripts/bench."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

#: Names of the loads (plans.full), listed here because importing plans imports the clients.
LOADS = (
    "start", "perf-100-1", "perf-100-6", "perf-1k-1", "perf-1k-6", "share-1", "share-4", "share-16", "batches", "partitions", "requests", "latency", "crowding",
    "tls", "storm", "replicas", "coordinator", "crowds", "housekeeping", "cold", "many", "memory",
)  # fmt: skip
#: Those that --quick runs (plans.quick).
QUICK_LOADS = (
    "start",
    "perf-100-1",
    "share-4",
    "batches",
    "partitions",
    "requests",
    "latency",
    "crowding",
    "coordinator",
    "crowds",
    "cold",
    "memory",
)


class Other(NamedTuple):
    """A broker that runs already."""

    name: str
    host: str
    port: int
    pid: int


def other(text: str) -> Other:
    """Read NAME=HOST:PORT:PID. Raises ValueError."""
    name, _, address = text.partition("=")
    host, port, pid = address.rsplit(":", 2)
    return Other(name, host, int(port), int(pid))


def named(text: str) -> tuple[str, str]:
    """Read NAME=COMMAND. Raises ValueError."""
    name, separator, command = text.partition("=")
    if not (name and separator and command):
        raise ValueError(text)
    return name, command


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Apache Kafka 4.4.0 and pykbroker get the same loads from stock clients, in turn. Prints a Markdown table.",
    )
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds to take medians of (default: 3)")
    parser.add_argument("--quick", action="store_true", help="one small round without a warm-up: does the bench work?")
    parser.add_argument(
        "--only",
        action="append",
        choices=LOADS,
        metavar="NAME",
        help="run this load alone; may be given again. One of: %(choices)s",
    )
    parser.add_argument(
        "--turns", action="store_true", help="measure the longest turns of pykbroker's loop, and nothing else"
    )
    parser.add_argument(
        "--stalls",
        nargs="?",
        const="",
        metavar="WORDS",
        help="measure how long one client waits for requests of others that are much work, and nothing else; with WORDS those that have them",
    )
    parser.add_argument(
        "--request-quota",
        action="store_true",
        help="how often a client of one percent request_percentage is answered, at both brokers, and nothing else",
    )
    parser.add_argument(
        "--memory-bound",
        action="store_true",
        help="crowds within 128 MB of memory, beside pykbroker with that budget alone and without a bound, and Apache Kafka; nothing else",
    )
    parser.add_argument(
        "--instructions",
        action="store_true",
        help="count the CPU's instructions of single requests, and nothing else; with --before beside those of the other checkout",
    )
    parser.add_argument(
        "--folder", type=Path, help="where the brokers' data goes for a while (default: a temporary one)"
    )
    _add_others(parser)
    given = parser.parse_args()
    if given.before and not (given.before / "pykbroker" / "__main__.py").exists():
        parser.error(f"{given.before} is not a checkout of pykbroker")
    if given.quick:
        given.rounds = 1
    if given.rounds < 1:
        parser.error("--rounds must be at least 1")
    if given.quick and given.only and not set(given.only) & set(QUICK_LOADS):
        parser.error(f"--quick runs only {', '.join(QUICK_LOADS)}")
    return given


def _add_others(parser: argparse.ArgumentParser) -> None:
    """What is compared with."""
    parser.add_argument(
        "--before",
        type=Path,
        metavar="CHECKOUT",
        help="compare with pykbroker in another checkout (`git worktree add`) instead of Apache Kafka",
    )
    parser.add_argument(
        "--beside",
        action="append",
        default=[],
        type=other,
        metavar="NAME=HOST:PORT:PID",
        help="compare with this broker, too, which runs already and has no other work; may be given again. Loads that start brokers of their own have no row for it",
    )
    for option, loop in (("--python", "uvloop"), ("--asyncio", "asyncio's own loop")):
        parser.add_argument(
            option,
            action="append",
            default=[],
            type=named,
            metavar="NAME=COMMAND",
            help=f"compare with this checkout on the interpreter that the command runs, and {loop}; may be given again. No rows for loads that start brokers",
        )
