"""The options of scripts/bench-size."""

from __future__ import annotations

import argparse
from pathlib import Path


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench-size",
        description="Small and large logs of the same form, each served by a broker of its own. Prints a Markdown table.",
    )
    parser.add_argument("--quick", action="store_true", help="everything small: does the bench work?")
    parser.add_argument("--fetches", type=int, default=2000, metavar="N", help="fetches to time (default: 2000)")
    parser.add_argument("--folder", type=Path, help="where the data goes for a while (default: a temporary folder)")
    given = parser.parse_args()
    if given.fetches < 10:
        parser.error("--fetches must be at least 10")
    return given
