"""The options of scripts/test."""

from __future__ import annotations

import argparse


def options() -> argparse.Namespace:
    """Return ``quick``, ``pythons``, or ``arguments`` for pytest; none of them means everything."""
    parser = argparse.ArgumentParser(
        prog="scripts/test",
        usage="scripts/test [--quick | --pythons | PYTEST-ARGUMENT ...]",
        description="Sets up all that the tests need and runs them all: lint and types, unit and property tests, stock clients, "
        "Kafka's tools, Spark, and the comparison with Apache Kafka. Needs Java 17 (JDK) and Maven.",
        epilog="examples: scripts/test --quick; scripts/test pykbroker wire; scripts/test compat_tests/confluent -k admin",
    )
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument(
        "--quick",
        action="store_true",
        help="lint, types, unit and property tests alone, less deep than in a whole run: minutes",
    )
    kinds.add_argument(
        "--pythons",
        action="store_true",
        help="those tests on each other Python from 3.11 on that is on the path, in pyenv, or named by PYKBROKER_PYTHONS, as PATH "
        "names folders; a whole run has them, too",
    )
    given, arguments = parser.parse_known_args()
    given.arguments = arguments
    if (given.quick or given.pythons) and arguments:
        parser.error("--quick and --pythons take no other arguments; without them, they go to pytest")
    return given
