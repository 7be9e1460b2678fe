"""Parses JSON, and locates a value in it by line and column, only when reporting an error."""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # missing in typeshed
from typing import Any

from pykbroker.runtime.json_text import finite_number, no_number
from pykbroker.seeding.plain_records import EXAMPLE, DuplicateField
from pykbroker.seeding.seed import Misfit, Path

_SPACE = re.compile(r"[ \t\n\r]*")


def parse(text: bytes | str) -> Any:
    """Return the value; an object with a duplicate name becomes a Twice. Raises Misfit."""
    if not text.strip():
        raise Misfit((), f"the line is empty; write an object such as {EXAMPLE}")
    mark = None
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8-sig")
        return json.loads(decoded, parse_constant=no_number, parse_float=finite_number, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        where = f"at character {error.colno}" if error.lineno == 1 else f"at line {error.lineno}, column {error.colno}"
        reason = f"{error.msg[:1].lower()}{error.msg[1:]} {where}"
        mark = error.lineno, error.colno
    except UnicodeDecodeError:
        reason = "not UTF-8"
    except RecursionError:
        reason = "nested too deeply"
    except ValueError as error:  # a number with more digits than Python converts
        reason = str(error)
    raise Misfit((), f"not JSON ({reason})", mark)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else DuplicateField.of(pairs)


def line_and_column(text: str, path: Path) -> tuple[int, int]:
    """Return line and column, both from 1, of the value at a path, as far as the path exists. ``text`` is valid JSON."""
    at = _skip(text, 0)
    for step in path:
        following = _into(text, at, step)
        if following is None:
            break
        at = following
    line_start = text.rfind("\n", 0, at) + 1
    return text.count("\n", 0, at) + 1, at - line_start + 1


def _into(text: str, at: int, step: str | int) -> int | None:
    """Return the position of a member of the object, or an element of the list, that begins at ``at``."""
    if text[at : at + 1] not in ("{", "["):
        return None
    is_object = text[at] == "{"
    position = 0
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        name: str | int = position
        if is_object:
            name, at = scanstring(text, at + 1)
            at = _skip(text, _skip(text, at) + 1)
        if name == step:
            return at
        _, at = json.JSONDecoder().raw_decode(text, at)
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
        position += 1
    return None


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()
