"""Tables as Kafka's commands print them: columns as wide as their longest cell, with a tab behind each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def print_columns(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table as Kafka's tools print them: each column as wide as its widest cell."""
    lines = [list(headings), *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("".join(f"{cell.ljust(width)}\t" for cell, width in zip(line, widths, strict=True)))
