"""Sources as trees, for tests that read code: each file is parsed, and each tree walked, once for all of them."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path


@cache
def parsed(path: Path) -> ast.Module:
    """The tree of a module."""
    collects = gc.isenabled()
    gc.disable()  # trees have no cycles, and hundreds of thousands of nodes
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        if collects:
            gc.enable()


@cache
def walk(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Every node of a tree, as ``ast.walk`` finds them."""
    return tuple(ast.walk(tree))
