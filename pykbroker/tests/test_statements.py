"""Every test states what must hold, and none sleeps."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import pykbroker

ROOT = Path(pykbroker.__file__).parent.parent
#: Unit tests run on a manual clock, or await.
UNIT = ("pykbroker", "wire", "scripts")
#: Where unit tests sleep. Loops of their own have virtual time, which sleeping passes.
SLEEPERS = {
    "pykbroker/tests/http/metrics/test_process.py": "holds up the loop, which is what it is about",
    "pykbroker/tests/kit/running.py": "waits for all others, until a condition holds",
    "pykbroker/tests/process/many_clients.py": "virtual time",
}
VIRTUAL = "pykbroker/tests/worlds/"


@dataclass(frozen=True)
class Function:
    """A function of a test's file: whether it states something itself, and the names that it calls."""

    name: str
    states: bool
    calls: frozenset[str]


def functions(tree: ast.AST) -> list[Function]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = list(ast.walk(node))
            calls = frozenset(called(each) for each in inner if isinstance(each, ast.Call))
            states = any(isinstance(each, ast.Assert) for each in inner) or any(map(is_statement, calls))
            found.append(Function(node.name, states, calls))
    return found


def called(node: ast.Call) -> str:
    return getattr(node.func, "attr", None) or getattr(node.func, "id", "")


def is_statement(name: str) -> bool:
    """``pytest.raises`` and ``warns``, and the methods of ``unittest`` and mocks."""
    return name in ("raises", "warns") or name.startswith("assert")


def stating(functions: Iterable[Function]) -> set[str]:
    """The names of those that state something, themselves or by others of them."""
    left = list(functions)
    found: set[str] = set()
    while more := {each.name for each in left if each.states or each.calls & found}:
        found |= more
        left = [each for each in left if each.name not in found]
    return found


def sleeps(tree: ast.AST) -> Iterator[int]:
    """The lines that sleep, but for ``asyncio.sleep(0)``, a turn of the loop."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and called(node) == "sleep"
            and [ast.unparse(each) for each in node.args] != ["0"]
        ):
            yield node.lineno


@cache
def trees() -> dict[str, ast.Module]:
    """Modules of unit tests, by their paths."""
    paths = [path for folder in UNIT for path in sorted((ROOT / folder).rglob("*.py"))]
    names = {
        str(path.relative_to(ROOT)): path for path in paths if not path.is_relative_to(ROOT / "pykbroker" / "wire")
    }
    tests = {name: path for name, path in names.items() if "tests" in path.parent.parts}
    return {name: ast.parse(path.read_text()) for name, path in tests.items()}


def test_every_test_states_what_must_hold() -> None:
    """Helpers are known by their names, wherever they are."""
    written = {name: functions(tree) for name, tree in trees().items()}
    helpers = stating(each for functions in written.values() for each in functions if not each.name.startswith("test_"))
    silent = [
        f"{name}:{each.name}"
        for name, functions in written.items()
        for each in functions
        if each.name.startswith("test_")
        and Path(name).name.startswith("test_")
        and not (each.states or each.calls & helpers)
    ]
    assert silent == []


def test_no_unit_test_sleeps() -> None:
    found = {name for name, tree in trees().items() if not name.startswith(VIRTUAL) and [*sleeps(tree)]}
    assert found == SLEEPERS.keys()


@pytest.mark.parametrize(
    ("code", "silent"),
    [
        ("def test_a():\n    ask()", True),
        ("def test_a():\n    with pytest.raises(ValueError):\n        ask()", False),
        ("def helper():\n    assert ask()\ndef other():\n    helper()\ndef test_a():\n    other()", False),
        ("async def test_a(self):\n    self.assertEqual(1, 1)", False),
        ("def test_a():\n    try:\n        ask()\n    except ValueError:\n        return", True),
    ],
)
def test_a_test_that_states_nothing_is_seen(code: str, silent: bool) -> None:
    found = functions(ast.parse(code))
    assert (found[-1].name not in stating(found)) == silent


def test_a_sleep_is_seen() -> None:
    assert [*sleeps(ast.parse("time.sleep(1)\nasyncio.sleep(0)\nawait_it()\nasyncio.sleep(0.1)"))] == [1, 4]
