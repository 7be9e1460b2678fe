"""Whoever says that KafkaError is raised names its codes: callers, and clients, tell errors by them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import pykbroker
from pykbroker.wire.errors import ErrorCode

ROOT = Path(pykbroker.__file__).parent

RAISES = re.compile(r"\b[Rr]aises? (?:a )?KafkaError|\b[Ff]ails? with,? (?:a )?KafkaError")
#: So far (in characters) from there the code is looked for.
NEARBY = 200


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """What is said in docstrings, with the line where each begins."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, " ".join(node.value.value.split())


def unnamed(text: str) -> list[str]:
    """The places where KafkaError is raised and no code is named."""
    places = (text[found.start() : found.end() + NEARBY] for found in RAISES.finditer(text))
    return [place for place in places if not any(word in ErrorCode.__members__ for word in re.findall(r"\w+", place))]


def test_who_raises_a_kafka_error_names_its_codes():
    ours = [path for path in sorted(ROOT.rglob("*.py")) if path.relative_to(ROOT).parts[0] not in ("tests", "wire")]
    found = [
        f"{path.relative_to(ROOT)}:{line}: {each}"
        for path in ours
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
