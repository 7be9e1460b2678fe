"""What docstrings have to say: of a KafkaError its codes, by which callers, and clients, tell errors; of public functions what they do,
where nothing else says it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import pykbroker
from pykbroker.tests.kit.syntax import parsed, walk
from pykbroker.wire.errors import ErrorCode

ROOT = Path(pykbroker.__file__).parent
Function = ast.FunctionDef | ast.AsyncFunctionDef

RAISES = re.compile(r"\b[Rr]aises? (?:a )?KafkaError|\b[Ff]ails? with,? (?:a )?KafkaError")
#: So far (in characters) from there the code is looked for.
NEARBY = 200


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """What is said in docstrings, with the line where each begins."""
    for node in walk(parsed(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, " ".join(node.value.value.split())


def unnamed(text: str) -> list[str]:
    """The places where KafkaError is raised and no code is named."""
    places = (text[found.start() : found.end() + NEARBY] for found in RAISES.finditer(text))
    return [place for place in places if not any(word in ErrorCode.__members__ for word in re.findall(r"\w+", place))]


def ours() -> list[Path]:
    """Every module that is ours and no test."""
    return [path for path in sorted(ROOT.rglob("*.py")) if path.relative_to(ROOT).parts[0] not in ("tests", "wire")]


def test_who_raises_a_kafka_error_names_its_codes():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {each}"
        for path in ours()
        for line, text in texts(path)
        for each in unnamed(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    "text", ["Raises KafkaError.", "fails with KafkaError when the DISK is full", "Raises KafkaError as ``at``."]
)
def test_a_text_without_a_code_is_found(text):
    assert unnamed(f"What it does. {text}") == [text]


def test_a_code_is_looked_for_nearby():
    assert unnamed("Raises KafkaError INVALID_REQUEST or NOT_COORDINATOR.") == []
    assert unnamed("Raises KafkaError" + " and" * NEARBY + " INVALID_REQUEST.")


#: Functions of modules of one form, where another place says what they do.
SAID_ELSEWHERE = {
    "handlers": ("handle", "failed", "logs_of"),  # the card at the module's head, and handlers/contract.py
    "container/tools": ("main",),  # the module's head: a command of Kafka's
    "http/api": ("*",),  # the table of routes, of which the description for users is made
}


def bases(each: ast.ClassDef) -> list[str]:
    """The names of its bases, without their modules and parameters."""
    return [ast.unparse(base).split("[")[0].split(".")[-1] for base in each.bases]


def interfaces(trees: Mapping[str, ast.Module]) -> set[str]:
    """Names of methods that a Protocol, or a class with others below it, describes: they are not described again."""
    classes = [node for tree in trees.values() for node in walk(tree) if isinstance(node, ast.ClassDef)]
    above = {name for each in classes for name in bases(each)}
    return {
        method.name
        for each in classes
        if each.name in above or "Protocol" in bases(each)
        for method in each.body
        if isinstance(method, Function) and ast.get_docstring(method)
    }


def says_itself(function: Function) -> bool:
    """Whether it is one line, which is no longer than its description. A method of a Protocol has no such line."""
    (first, *others) = function.body
    one_line = not others and first.lineno == first.end_lineno and isinstance(first, ast.Return | ast.Expr)
    return one_line and not (isinstance(first, ast.Expr) and ast.unparse(first) == "...")


def undescribed(
    body: list[ast.stmt], described: set[str], known: set[str], *, within: ast.ClassDef | None = None
) -> Iterator[Function]:
    """Public functions, and methods of public classes, that nothing describes (of overloads the last describes all). ``known`` are our classes: a class with another base
    carries out what that is.
    """
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            if set(bases(node)) <= known | PLAIN_BASES:
                yield from undescribed(node.body, described, known, within=node)
        elif isinstance(node, Function) and not (node.name.startswith("_") or ast.get_docstring(node)):
            marked = any(ast.unparse(each) in ("overload", "property") for each in node.decorator_list)
            if not (says_itself(node) or marked or (within is not None and node.name in described)):
                yield node


PLAIN_BASES = {"ABC", "Enum", "Exception", "Generic", "IntEnum", "NamedTuple", "Protocol", "StrEnum", "TypedDict"}


def test_public_functions_say_what_they_do():
    trees = {str(path.relative_to(ROOT)): parsed(path) for path in ours()}
    known = {node.name for tree in trees.values() for node in walk(tree) if isinstance(node, ast.ClassDef)}
    described = interfaces(trees)
    found = [
        f"{name}:{function.lineno} {function.name}"
        for name, tree in trees.items()
        for function in undescribed(tree.body, described, known)
        if not {function.name, "*"} & set(SAID_ELSEWHERE.get(name.rpartition("/")[0], ()))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("def f(x):\n    x += 1\n    return x", 1),
        ("class C:\n    async def f(self):\n        a = 1\n        return a", 1),
        ("class C(Protocol):\n    def f(self): ...", 1),
        ("def f(x):\n    return x + 1", 0),
        ("def _f(x):\n    x += 1\n    return x", 0),
        ("class C:\n    def told(self):\n        a = 1\n        return a", 0),
        ("class C(logging.Formatter):\n    def format(self):\n        a = 1\n        return a", 0),
    ],
)
def test_a_function_that_nothing_describes_is_found(code, count):
    assert len(list(undescribed(ast.parse(code).body, {"told"}, {"C"}))) == count
