"""Tables as Kafka's commands print them: columns as wide as their longest cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def print_columns(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print columns with a tab after each."""
    lines = [list(headings), *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("".join(f"{cell.ljust(width)}\t" for cell, width in zip(line, widths, strict=True)))


def print_spaced(rows: Sequence[Sequence[str]]) -> None:
    """Print columns with a blank between them, after an empty line, as Kafka's group commands do."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    print()
    for row in rows:
        print(" ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))
