"""Tables as Kafka's commands print them: columns as wide as their longest cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pykbroker.container.tools.printing import print_cells, print_lines
from pykbroker.runtime.escaping import escaped


def print_columns(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print columns with a tab after each."""
    lines = [list(headings), *([escaped(str(cell)) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print_cells(*(cell.ljust(width) for cell, width in zip(line, widths, strict=True)), "")


def print_spaced(rows: Sequence[Sequence[str]]) -> None:
    """Print columns with a blank between them, after an empty line, as Kafka's group commands do."""
    lines = [list(map(escaped, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    print_lines()
    for row in lines:
        print_lines(" ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))
