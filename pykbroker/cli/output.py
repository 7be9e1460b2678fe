"""Output of commands: tables with colour on a terminal, tab-separated lines elsewhere, JSON on request."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from pykbroker.client.errors import EXIT_OUTPUT_CLOSED, ClientError

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
        text = json.dumps(value, ensure_ascii=False, indent=2 if self.is_terminal else None)
        if self.is_terminal:
            self._console.print_json(text, ensure_ascii=False)
        else:
            self.line(text)

    def table(self, columns: Mapping[str, str], rows: Iterable[Row], *, title: str | None = None) -> None:
        """Print ``rows`` as a table; ``columns`` gives the heading of each key, in order."""
        rows = list(rows)
        if not self.is_terminal:
            if title:
                self.line(title)
            self.line("\t".join(columns.values()))
            for row in rows:
                self.line("\t".join(_text(row[key]) for key in columns))
            return
        table = Table(
            box=None, title=title, title_justify="left", title_style="bold", header_style="dim", pad_edge=False
        )
        for key, heading in columns.items():
            numeric = bool(rows) and all(isinstance(row[key], _NUMERIC) or row[key] is None for row in rows)
            table.add_column(heading, justify="right" if numeric else "left", overflow="fold")
        for row in rows:
            table.add_row(*(_cell(row[key]) for key in columns))
        self._console.print(table)

    def line(self, text: str) -> None:
        """Print a line unchanged."""
        write_bytes(text.encode("utf-8", "backslashreplace") + b"\n")

    def styled(self, text: str, style: str) -> None:
        """Print a line, coloured on a terminal."""
        if self.is_terminal:
            self._console.print(Text(text, style=style))
        else:
            self.line(text)

    def remark(self, text: str) -> None:
        """Print a message on standard error, beside the results."""
        self._remarks.print(Text(text, style="yellow"))

    def error(self, text: str) -> None:
        """Print an error on standard error."""
        self._remarks.print(f"[bold red]error:[/] {escape(text)}", highlight=False)


def counted(number: int, noun: str) -> str:
    """Return a number and what it counts: ``1 record``, ``2 records``, ``2 batches``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith('ch') else 's'}"


def sentence(text: str) -> str:
    """Return ``text`` with a full stop, unless it ends in punctuation."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def harmless(data: bytes, limit: int = 80) -> str:
    """Return the beginning of ``data`` as text that is safe on a terminal."""
    text = data[:limit].decode("utf-8", "backslashreplace")
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
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
    return Text(_text(value), style="dim" if value is None else "")
