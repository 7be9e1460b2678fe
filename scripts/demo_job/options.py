"""The options of scripts/demo."""

from __future__ import annotations

import argparse
from pathlib import Path

from scripts.jars import ROOT


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/demo",
        description="Publishes the 336,776 flights that left New York in 2013 to a pykbroker of its own, lets Spark compute "
        "their delays while they come, and compares the results with the files, to the last flight.",
    )
    parser.add_argument(
        "--kill", action="store_true", help="kill the broker (SIGKILL) in the middle of the year, and start it again"
    )
    parser.add_argument(
        "--lake",
        action="store_true",
        help="instead: archive the flights, verify, decode and profile them, replay them into a fresh broker and compare",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=45.0,
        metavar="N",
        help="how long the year takes to publish (default: %(default)g)",
    )
    parser.add_argument(
        "--months", type=int, default=12, choices=range(1, 13), metavar="1-12", help="only the first months of the year"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=ROOT / "build" / "demo",
        metavar="DIR",
        help="where data, results and the plot go; DIR is emptied first",
    )
    parser.add_argument(
        "--bootstrap", metavar="HOST:PORT", help="use this broker, whatever it is, instead of starting one"
    )
    given = parser.parse_args()
    if given.kill and given.bootstrap:
        parser.error("--kill needs a broker of the demo's own; leave --bootstrap out")
    if given.lake and (given.bootstrap or given.kill):
        parser.error("--lake has two brokers of its own; leave --bootstrap and --kill out")
    return given
