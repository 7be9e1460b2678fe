"""An import within a function keeps a module out of the start, and out of processes that never need it. Where the module is there
anyway, the import stands at the head.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pykbroker
from pykbroker.tests.kit.syntax import parsed

ROOT = Path(pykbroker.__file__).parent
#: Rooms whose modules also run in processes that serve nothing: what a broker has at its start says nothing of those.
PROGRAMS = ("__main__", "cli", "client", "container", "lake", "pytest_plugin", "security.client", "testing", "worlds")
#: What is there at the start, and is imported late all the same.
EXCEPTIONS = {
    ("network.server", "concurrent.futures"): "its pool is another module, which it imports when it is named",
    ("process.node", "concurrent.futures"): "the same",
    ("metadata.snapshot", "pykbroker.wire.internal.snapshot_header_record"): "the first start alone writes a snapshot",
    ("metadata.snapshot", "pykbroker.wire.internal.snapshot_footer_record"): "the same",
}
_START = """
import os, signal, sys
from pykbroker.cli import serve
from pykbroker.__main__ import main
def ready(node):
    print(*sys.modules)
    os.kill(os.getpid(), signal.SIGTERM)
serve._say_ready = ready
sys.argv = ["pykbroker", "serve", "--listen", "127.0.0.1:0", "--data-dir", sys.argv[1]]
main()
"""


def modules() -> dict[str, ast.Module]:
    """What is installed, by names below pykbroker."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if "tests" not in parts and parts[0] not in ("simulation", "wire"):
            found[".".join(parts).removesuffix(".__init__")] = parsed(path)
    return found


Import = ast.Import | ast.ImportFrom


def late(tree: ast.AST) -> Iterator[Import]:
    """Imports within functions, each once."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from (each for each in ast.walk(node) if isinstance(each, Import))
        else:
            yield from late(node)


def at_the_head(node: ast.AST) -> Iterator[Import]:
    """Imports that run with the module, so those for types are left out."""
    if isinstance(node, Import):
        yield node
    elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        types_alone = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for each in node.orelse if types_alone else ast.iter_child_nodes(node):
            yield from at_the_head(each)


def targets(node: Import, ours: set[str]) -> list[str]:
    """The modules that an import loads, by their whole names; ``from package import module`` loads the module."""
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    base = node.module or ""
    inner = [f"{base}.{each.name}" for each in node.names if f"{base}.{each.name}" in ours]
    return inner or [base]


def loaded_with(heads: dict[str, set[str]], name: str) -> set[str]:
    """All of ours that an import of one loads, and what those name of others."""
    seen: set[str] = set()
    ahead = [name]
    while ahead:
        for each in heads.get(ahead.pop(), set()) - seen:
            seen.add(each)
            ahead.append(each)
    return seen - {name}


@pytest.fixture(scope="module")
def at_the_start(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The modules of a broker that is ready and was not asked yet."""
    command = [sys.executable, "-c", _START, str(tmp_path_factory.mktemp("start") / "data")]
    return set(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.split())


def test_an_import_within_a_function_keeps_its_module_out(at_the_start: set[str]) -> None:
    trees = modules()
    ours = {f"pykbroker.{name}" for name in trees}
    heads = {
        f"pykbroker.{name}": {each for node in at_the_head(tree) for each in targets(node, ours)}
        for name, tree in trees.items()
    }
    found = set()
    for name, tree in trees.items():
        there = loaded_with(heads, f"pykbroker.{name}")
        if not name.startswith(PROGRAMS):
            there |= at_the_start
        found |= {(name, each) for node in late(tree) for each in targets(node, ours) if each in there}
    assert found == EXCEPTIONS.keys()


def test_late_and_early_are_told_apart() -> None:
    code = """
import a
if TYPE_CHECKING:
    import b
else:
    import c
try:
    from d import e
except ImportError:
    def f():
        import g
class H:
    from i import j
    def k(self):
        def inner():
            from pykbroker.m import n
        return lambda: inner
"""
    tree = ast.parse(code)
    ours = {"pykbroker.m", "pykbroker.m.n"}
    assert [each for node in at_the_head(tree) for each in targets(node, ours)] == ["a", "c", "d", "i"]
    assert [each for node in late(tree) for each in targets(node, ours)] == ["g", "pykbroker.m.n"]
    assert loaded_with({"a": {"b"}, "b": {"a", "c"}}, "a") == {"b", "c"}
