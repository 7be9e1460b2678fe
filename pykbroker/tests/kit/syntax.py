"""Sources as trees, for tests that read code: each file is parsed, and each tree walked, once for all of them. Python's collector of
cycles does not look at the trees, which have none, and millions of nodes, until they are forgotten.
"""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path


@cache
def parsed(path: Path) -> ast.Module:
    """The tree of a module."""
    collects = gc.isenabled()
    gc.disable()
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        gc.freeze()
    finally:
        if collects:
            gc.enable()
    return tree


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
    nodes = tuple(found)
    gc.freeze()
    return nodes


def forget() -> None:
    """Give the memory of all trees back; what else there was has the collector look at it again."""
    walk.cache_clear()
    parsed.cache_clear()
    gc.unfreeze()
