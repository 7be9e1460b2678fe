"""Whether pykbroker's answers to a case are answers that Apache Kafka gives.

Apache Kafka goes on after it has answered (a topic is made in the background, a leader leads a moment after metadata name it), so to
some requests it has several answers, by the moment. Where ours are not its first ones, it is asked again under other names, and ours
must be one of its answers. Ours are asked once: what pykbroker answers does not depend on the moment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compat_tests.oracle.cases import Case
from compat_tests.oracle.compare import divergences
from compat_tests.oracle.differences import Difference
from compat_tests.oracle.requests import Ask

#: What stands for ``-v`` in names when Apache Kafka is asked again: as long, since lengths are answered, too.
_AGAIN = ("-w", "-x")


def answers(ask: Ask, case: Case) -> list[object]:
    """What is answered to a case."""
    try:
        case.ask(ask)
    finally:
        ask.close()
    return ask.answers


def judged(
    case: Case, version: int, theirs: Callable[[str], Ask], ours: Callable[[str], Ask], known: Sequence[Difference]
) -> tuple[list[str], set[int]]:
    """The unexplained differences from the answers of Apache Kafka that are nearest to ours, and which ``known`` ones explain others.

    ``theirs`` and ``ours`` make an Ask whose names begin with a prefix.
    """
    prefix = f"{case.name.replace('/', '.')}-v{version}"
    expected, seen = answers(theirs(prefix), case), answers(ours(prefix), case)
    nearest, explained = _compared(case, expected, seen, known)
    for again in _AGAIN:
        if not nearest:
            break
        asked, first = (f"{case.ask.__name__}{each}" for each in (again, "-v"))
        expected = _renamed(answers(theirs(prefix.replace(first, asked)), case), asked, first)
        unexplained, reasons = _compared(case, expected, seen, known)
        explained |= reasons
        nearest = min(nearest, unexplained, key=len)
    return nearest, explained


def _compared(
    case: Case, expected: list[object], seen: list[object], known: Sequence[Difference]
) -> tuple[list[str], set[int]]:
    unexplained, explained = [], set()
    for found in divergences(expected, seen):
        reasons = {n for n, difference in enumerate(known) if difference.explains(case.name, found)}
        explained |= reasons
        if not reasons:
            unexplained.append(str(found))
    return unexplained, explained


def _renamed(value: Any, name: str, to: str) -> Any:
    """Normalised answers, with the one text in place of the other."""
    if isinstance(value, dict):
        return {_renamed(key, name, to): _renamed(inner, name, to) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_renamed(inner, name, to) for inner in value)
    if isinstance(value, bytes):
        return value.replace(name.encode(), to.encode())
    return value.replace(name, to) if isinstance(value, str) else value
