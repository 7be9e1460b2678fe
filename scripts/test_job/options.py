"""The options of scripts/test."""

from __future__ import annotations

import argparse


def options() -> argparse.Namespace:
    """Return ``quick``, or ``arguments`` for pytest; neither means everything."""
    parser = argparse.ArgumentParser(
        prog="scripts/test",
        usage="scripts/test [--quick | PYTEST-ARGUMENT ...]",
        description="Sets up all that the tests need and runs them all: lint and types, unit and property tests, stock clients, "
        "Kafka's tools, Spark, and the comparison with Apache Kafka. Needs Java 17 (JDK) and Maven.",
        epilog="examples: scripts/test --quick; scripts/test pykbroker wire; scripts/test compat_tests/confluent -k admin",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="lint, types, unit and property tests alone, less deep than in a whole run: minutes",
    )
    given, arguments = parser.parse_known_args()
    given.arguments = arguments
    if given.quick and arguments:
        parser.error("--quick takes no other arguments; without it, they go to pytest")
    return given
