"""What the comparison of objects and arrays asks of the whole one (``json_diff.py``)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from pykbroker.registry.formats.json_nodes import Document


class SchemaComparison(Protocol):
    """A comparison that is under way."""

    def at(self, *steps: str) -> AbstractContextManager[None]:
        """Within a part of the schema."""
        ...

    def differs(self, rule: str, *steps: str) -> None:
        """Note an incompatible difference."""
        ...

    def walk(self, items: int) -> None:
        """Spend the steps of walking so many items. Raises Malformed if none are left."""
        ...

    def schemas(self, original: Any, of: Document, update: Any, to: Document) -> None:
        """Compare two schemas."""
        ...

    def covered(self, original: Any, of: Document, update: Any, to: Document) -> bool:
        """Whether the first fits the second; note what does not."""
        ...

    def bounds(self, original: Any, update: Any, keywords: dict[str, bool]) -> None:
        """Compare limits."""
        ...


def compare_further(
    compared: SchemaComparison, what: str, original: Any, of: Document, update: Any, to: Document
) -> None:
    """Compare what is allowed beside what a schema names, ``Properties`` or ``Items``."""
    rule = f"ADDITIONAL_{what.upper()}"
    with compared.at(f"additional{what}"):
        if original is not False and update is False:
            compared.differs(f"{rule}_REMOVED")
        elif original is True and isinstance(update, dict):
            compared.differs(f"{rule}_NARROWED")
        elif isinstance(original, dict) and isinstance(update, dict):
            compared.schemas(original, of, update, to)
