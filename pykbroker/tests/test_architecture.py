"""What ARCHITECTURE.md says of the modules is so."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pykbroker

ROOT = Path(pykbroker.__file__).parent


def modules() -> dict[str, Path]:
    """Every module that is ours and no test, by its name below pykbroker."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[0] not in ("tests", "simulation", "wire"):
            found[".".join(parts)] = path
    return found


def imports(path: Path, names: dict[str, Path]) -> set[str]:
    """The modules that one names, at its head, in its functions and for types alike."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("pykbroker."):
            base = node.module.removeprefix("pykbroker.")
            found |= {each for name in node.names if (each := f"{base}.{name.name}") in names} or {base} & names.keys()
    return found


def circles(graph: dict[str, set[str]]) -> Iterator[set[str]]:
    """Modules that can reach each other (strongly connected components of more than one)."""
    reach = {name: _reachable(graph, name) for name in graph}
    left = set(graph)
    while left:
        name = left.pop()
        circle = {name} | {other for other in reach[name] if name in reach[other]}
        left -= circle
        if len(circle) > 1:
            yield circle


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        for name in graph[ahead.pop()] - seen:
            seen.add(name)
            ahead.append(name)
    return seen


def test_every_circle_of_modules_is_named_with_its_reason() -> None:
    names = modules()
    graph = {name: imports(path, names) - {name} for name, path in names.items()}
    text = (ROOT.parent / "ARCHITECTURE.md").read_text().partition("## Circles")[2].partition("\n## ")[0]
    named = {frozenset(re.findall(r"`([\w.]+)`", line)) for line in text.splitlines() if line.startswith("- ")}
    assert {frozenset(circle) for circle in circles(graph)} == named
