"""JSON files with partitions: records to delete, leaders to elect, replicas to move."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pykbroker.client.offsets import TopicPartition
from pykbroker.container.tools.running import ToolError

_VERSION = 1


def entries(path: str, name: str = "partitions") -> list[dict[str, Any]]:
    """Return the objects of the list ``name``. Raises ToolError and OSError."""
    try:
        plan = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ToolError(f"{path} is not valid JSON: {error}.") from error
    if not isinstance(plan, dict) or not isinstance(plan.get(name), list):
        raise ToolError(f'{path}: Missing "{name}" field: it is an object with a list of this name.')
    if plan.get("version", _VERSION) != _VERSION:
        raise ToolError(f"{path}: Not supported version field value {plan['version']}")
    if not all(isinstance(entry, dict) for entry in plan[name]):
        raise ToolError(f'{path}: "{name}" has something in it that is no object.')
    found: list[dict[str, Any]] = plan[name]
    return found


def partition_of(entry: dict[str, Any]) -> TopicPartition:
    """Return topic and partition of an entry. Raises ToolError."""
    return TopicPartition(text(entry, "topic"), number(entry, "partition"))


def text(entry: dict[str, Any], name: str) -> str:
    """Return a string of an entry. Raises ToolError."""
    value = entry.get(name)
    if not isinstance(value, str):
        raise ToolError(f'{json.dumps(entry)}: "{name}" is missing, or no string.')
    return value


def number(entry: dict[str, Any], name: str) -> int:
    """Return a number of an entry. Raises ToolError."""
    value = entry.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ToolError(f'{json.dumps(entry)}: "{name}" is missing, or no whole number.')
    return value


def check_distinct(items: Iterable[object], complaint: str) -> None:
    """Raises ToolError, with ``complaint`` and the duplicates, if items are not distinct."""
    if twice := [str(item) for item, count in Counter(items).items() if count > 1]:
        raise ToolError(f"{complaint}: {','.join(twice)}")
