"""Prints for Kafka's commands. No other module of the tools prints: names and messages of brokers are escaped here."""

from __future__ import annotations

import sys

from pykbroker.runtime.escaping import escaped, paragraph


def print_lines(*lines: str, flush: bool = False) -> None:
    """Print lines on standard output; without any, an empty one."""
    print("\n".join(map(escaped, lines)), flush=flush)


def print_cells(*cells: str) -> None:
    """Print a line of cells with tabs between them."""
    print("\t".join(map(escaped, cells)))


def print_unended(text: str) -> None:
    """Print a line without its end, as some of Kafka's commands do."""
    print(escaped(text), end="")


def print_error(text: str) -> None:
    """Print a message on standard error."""
    print(paragraph(text), file=sys.stderr)
