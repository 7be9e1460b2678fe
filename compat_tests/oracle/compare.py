"""Where two normalised answers differ, as paths a person can read and a list of explained differences can match."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from compat_tests.oracle.normalise import IDENTITY

_MISSING = "<missing>"
_NAMELESS = (None, "", "<none>")


@dataclass(frozen=True)
class Divergence:
    """One place where the answers differ."""

    path: str
    kafka: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.path}\n    Apache Kafka: {self.kafka!r}\n    pykbroker:    {self.ours!r}"


def divergences(kafka: Any, ours: Any, path: str = "") -> Iterator[Divergence]:
    """All places where ``ours`` is not what ``kafka`` is."""
    if isinstance(kafka, dict) and isinstance(ours, dict):
        for name in [*kafka, *(name for name in ours if name not in kafka)]:
            yield from divergences(
                kafka.get(name, _MISSING), ours.get(name, _MISSING), f"{path}.{name}" if path else str(name)
            )
    elif isinstance(kafka, list) and isinstance(ours, list):
        yield from divergences(_labelled(kafka), _labelled(ours), path) if kafka != ours else ()
    elif kafka != ours:
        yield Divergence(path, kafka, ours)


def _labelled(items: list[Any]) -> dict[str, Any]:
    """A list as a mapping from what names each element, so that one element too many does not shift all others."""
    labelled: dict[str, Any] = {}
    for index, item in enumerate(items):
        name = (
            next((item[key] for key in IDENTITY if item.get(key) not in _NAMELESS), index)
            if isinstance(item, dict)
            else index
        )
        label = f"[{name}]"
        labelled[label if label not in labelled else f"[{name}#{index}]"] = item
    return labelled
