"""How an optional dependency is installed: one sentence for every message (docs/installing.md is its page).

pykbroker is not on a package index yet, so what works is an install from a clone or from a wheel that one built.
"""

from __future__ import annotations


def install_hint(extra: str) -> str:
    """Return what to run for the extra ``extra`` of pyproject.toml, as the end of a sentence."""
    return f"run  pip install '.[{extra}]'  in a clone of pykbroker (docs/installing.md)"
