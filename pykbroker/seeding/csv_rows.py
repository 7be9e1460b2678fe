r"""Records as CSV; the first row names the columns: ``topic,partition,timestamp,key,value,headers``, any of them.

An empty cell of a key or a value is an empty string; ``\N`` is null. Bytes that are not text, and text that a spreadsheet
would take for a formula and run, are base64 in the column ``key_base64`` or ``value_base64``, beside an empty cell.
``headers`` is JSON, as in JSON lines.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from pykbroker.seeding.json_text import parse
from pykbroker.seeding.plain_records import FIELDS, check_fields
from pykbroker.seeding.seed import Misfit, Path

NULL: Final = "\\N"
_COLUMNS: Final = tuple(name for name in FIELDS if name != "offset")
_NUMBERS: Final = ("partition", "timestamp")
#: Characters that editors and CSV readers take for the end of a line or of the file; such cells are written as base64.
_UNSAFE: Final = frozenset("\r\0")
#: What a spreadsheet takes for a formula at the begin of a cell, also in the full width of East Asian scripts; and behind
#: what separates cells elsewhere, a semicolon, a tab or a line's end, where it could do something: with a call or a link.
_FORMULA: Final = re.compile(
    r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|.*?[;\t\n] *[=+\-@\uff1d\uff0b\uff0d\uff20][^;\t\n]*[(|]", re.DOTALL
)
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)


def read(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield rows with their lines, each as a plain record. Raises Misfit whose path begins with the line."""
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    begin = 1
    columns: list[str] | None = None
    while True:
        try:
            cells = next(rows, None)
        except csv.Error as error:
            raise Misfit((begin,), f'not CSV ({error}); write a cell with quotes in it as in "say ""x"""') from error
        if cells is None:
            return
        if columns is None:
            columns = _checked(cells)
        elif cells:
            yield begin, _row(columns, cells, begin)
        begin = rows.line_num + 1


def _checked(columns: list[str]) -> list[str]:
    if len(set(columns)) < len(columns):
        raise Misfit((1,), "a column stands there twice")
    for column in columns:
        check_fields([column], FIELDS, ", as the first row names the columns", (1,))
    if "value" not in columns and "value_base64" not in columns:
        raise Misfit((1,), "there is no column value; the first row names the columns: topic,key,value")
    return columns


def _row(columns: list[str], cells: list[str], line: int) -> dict[str, Any]:
    if len(cells) != len(columns):
        raise Misfit((line,), f"the row has {len(cells)} cells, and there are {len(columns)} columns")
    given = dict(zip(columns, cells, strict=True))
    found: dict[str, Any] = {}
    for name, cell in given.items():
        here: Path = (line, name)
        if name in _NUMBERS:
            found[name] = _number(cell)
        elif name == "headers":
            found[name] = _headers(cell, here) if cell else None
        elif name == "topic":
            if cell:
                found[name] = cell
        elif name.endswith("_base64"):
            if cell and cell != NULL:
                found[name] = cell
        elif cell or not given.get(f"{name}_base64"):
            found[name] = None if cell == NULL else cell
    return found


def _number(cell: str) -> int | str | None:
    if not cell:
        return None
    try:
        return int(cell)
    except ValueError:
        return cell


def _headers(cell: str, path: Path) -> Any:
    try:
        return parse(cell)
    except Misfit as misfit:
        raise Misfit(path, f"headers is {misfit.why}") from misfit


def _is_run(text: str) -> bool:
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


def write(records: Iterable[dict[str, Any]]) -> str:
    """Return plain records as CSV."""
    out = io.StringIO(newline="")
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(_COLUMNS)
    rows.writerows(_cells(record) for record in records)
    return out.getvalue()


def _cells(record: dict[str, Any]) -> list[str]:
    cells = {name: "" if record.get(name) is None else str(record[name]) for name in _COLUMNS}
    cells["headers"] = json.dumps(record["headers"]) if record.get("headers") else ""
    for name in ("key", "value"):
        text = record.get(name, "")
        if text is None:
            cells[name] = NULL
        elif text == NULL or not _UNSAFE.isdisjoint(text) or _is_run(text):
            cells[name], cells[f"{name}_base64"] = "", base64.b64encode(text.encode()).decode()
    return [cells[name] for name in _COLUMNS]
