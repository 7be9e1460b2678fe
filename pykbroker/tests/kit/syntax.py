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
    """Every node of a tree but those that only say whether a name is read or set, from the root on."""
    found = [tree]
    for node in found:  # what is found is looked at, too
        for value in node.__dict__.values():
            if isinstance(value, list):
                found.extend([each for each in value if isinstance(each, ast.AST)])
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                found.append(value)
    return tuple(found)
