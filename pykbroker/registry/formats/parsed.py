"""What all formats have in common: a parsed schema, and the bounds of what is parsed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

from pykbroker.runtime.json_text import DEEPEST, loads

#: Bytes of a schema's text.
LARGEST: Final = 1024 * 1024
#: Steps of one comparison: alternatives within alternatives multiply.
MOST_STEPS: Final = 20_000
#: Items that are walked, or characters of a path that is written, for one step.
ITEMS_OF_A_STEP: Final = 1000


class Malformed(ValueError):
    """The text is no schema, or exceeds a bound."""


class Incompatibility(NamedTuple):
    """Why a reader cannot read what a writer writes: the rule's name, the path in the reader's schema, and the facts."""

    rule: str
    path: str
    facts: str = ""


class Parsed(Protocol):
    """A parsed schema. Its text is the form that is stored, in which equal schemas are equal."""

    @property
    def text(self) -> str:
        """The stored form."""
        ...

    def cannot_read(self, writer: Any, /) -> list[Incompatibility]:
        """Why this schema, as a reader, cannot read what ``writer``, of the same type, writes; nothing if it can. Raises Malformed if the two
        are too large to be compared.
        """
        ...


class Budget:
    """The steps that one comparison has left. Walks of items within a step are a step for ``ITEMS_OF_A_STEP`` of them."""

    def __init__(self, steps: int = MOST_STEPS) -> None:
        self._left = steps
        self._walked = 0

    def spend(self, steps: int = 1) -> None:
        """Raises Malformed if none are left."""
        self._left -= steps
        if self._left < 0:
            raise Malformed(f"the schemas are too complex to be compared: more than {MOST_STEPS} steps")

    def walk(self, items: int) -> None:
        """Spend the steps of walking so many items. Raises Malformed if none are left."""
        steps, self._walked = divmod(self._walked + items, ITEMS_OF_A_STEP)
        self.spend(steps)


def json_of(text: str) -> Any:
    """The JSON of a schema's text, whose depth is bounded. Raises Malformed."""
    too_deep = f"it is nested more than {DEEPEST} levels deep"
    try:
        found = loads(text)
    except RecursionError as error:
        raise Malformed(too_deep) from error
    except ValueError as error:
        raise Malformed(f"it is no JSON: {error}") from error
    if _is_deeper(found, DEEPEST):
        raise Malformed(too_deep)
    return found


def _is_deeper(found: Any, most: int) -> bool:
    level = [found]
    for _ in range(most):
        level = [inner for each in level for inner in _inner(each)]
        if not level:
            return False
    return True


def _inner(found: Any) -> list[Any]:
    if isinstance(found, Mapping):
        return list(found.values())
    return found if isinstance(found, list) else []
