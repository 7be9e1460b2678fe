"""Output of commands: tables with colour on a terminal, tab-separated lines elsewhere, JSON on request.

All text goes through `runtime/escaping.py` here, so that no command prints words of strangers as they are. What a command prints
by ``write_bytes`` is bytes of its user's choice: records, as ``consume`` formats them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.highlighter import JSONHighlighter
from rich.table import Table
from rich.text import Text

from pykbroker.client.errors import EXIT_OUTPUT_CLOSED, ClientError
from pykbroker.runtime.escaping import escaped, escaped_json, paragraph

Row = Mapping[str, Any]
_NUMERIC = (int, float)


class OutputClosed(ClientError):
    """The reader of standard output has closed it."""

    def __init__(self) -> None:
        super().__init__("", EXIT_OUTPUT_CLOSED)


class Output:
    """Standard output for results, standard error for messages. ``as_json``: one JSON document per command."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._console = Console(soft_wrap=True)
        self._remarks = Console(stderr=True, soft_wrap=True)
        self.is_terminal = self._console.is_terminal

    def json(self, value: Any) -> None:
        """Print a JSON document: indented on a terminal, on one line elsewhere."""
        if self.is_terminal:
            text = JSONHighlighter()(Text(escaped_json(value, indent=2)))
            self._console.print(text, soft_wrap=True)
        else:
            self.json_line(value)

    def json_line(self, value: Any) -> None:
        """Print one JSON document of several, on one line."""
        self.line(escaped_json(value))

    def table(self, columns: Mapping[str, str], rows: Iterable[Row], *, title: str | None = None) -> None:
        """Print ``rows`` as a table; ``columns`` gives the heading of each key, in order."""
        rows = list(rows)
        if not self.is_terminal:
            if title:
                self.line(title)
            self._cells(columns.values())
            for row in rows:
                self._cells(_text(row[key]) for key in columns)
            return
        caption = None if title is None else Text(escaped(title))
        table = Table(
            box=None, title=caption, title_justify="left", title_style="bold", header_style="dim", pad_edge=False
        )
        for key, heading in columns.items():
            numeric = bool(rows) and all(isinstance(row[key], _NUMERIC) or row[key] is None for row in rows)
            table.add_column(heading, justify="right" if numeric else "left", overflow="fold")
        for row in rows:
            table.add_row(*(_cell(row[key]) for key in columns))
        self._console.print(table)

    def line(self, text: str) -> None:
        """Print a line."""
        write_bytes(escaped(text).encode() + b"\n")

    def _cells(self, cells: Iterable[str]) -> None:
        write_bytes("\t".join(map(escaped, cells)).encode() + b"\n")

    def styled(self, text: str, style: str) -> None:
        """Print a line, coloured on a terminal."""
        if self.is_terminal:
            self._console.print(Text(escaped(text), style=style))
        else:
            self.line(text)

    def remark(self, text: str) -> None:
        """Print a message on standard error, beside the results."""
        self._remarks.print(Text(paragraph(text), style="yellow"))

    def error(self, text: str) -> None:
        """Print an error on standard error."""
        self._remarks.print(Text.assemble(("error:", "bold red"), f" {paragraph(text)}"))


def counted(number: int, noun: str) -> str:
    """Return a number and what it counts: ``1 record``, ``2 records``, ``2 batches``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith('ch') else 's'}"


def sentence(text: str) -> str:
    """Return ``text`` with a full stop, unless it ends in punctuation."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def harmless(data: bytes, limit: int = 80) -> str:
    """Return the beginning of ``data`` as text that is safe on a terminal."""
    shown = escaped(data[:limit].decode("utf-8", "backslashreplace"))
    return shown + "..." if len(data) > limit else shown


def write_bytes(data: bytes) -> None:
    """Write to standard output. Raises OutputClosed if its reader has closed it."""
    try:
        sys.stdout.buffer.write(data)
    except BrokenPipeError:
        raise OutputClosed from None


def flush() -> None:
    """Flush standard output. Raises OutputClosed if its reader has closed it."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise OutputClosed from None


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(str, value)) or "-"
    return str(value)


def _cell(value: Any) -> Text:
    return Text(escaped(_text(value)), style="dim" if value is None else "")
