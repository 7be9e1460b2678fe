"""What a flow saw at Apache Kafka and here is the same, but for a difference that is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: What is otherwise at the end of a flow: there, here, and why.
Difference = tuple[Sequence[Any], Sequence[Any], str]


def check_same(kafka: Sequence[Any], ours: Sequence[Any], difference: Difference | None) -> None:
    """Fails where they differ in another way, and where they do not differ any more."""
    if difference is not None:
        there, here, _ = difference
        assert kafka[-len(there) :] == there, "a difference that is gone leaves the list"
        assert ours[-len(here) :] == here
        kafka, ours = kafka[: -len(there)], ours[: -len(here)]
    assert ours == kafka
