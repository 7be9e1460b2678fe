"""Names: from the schemas' CamelCase to Python's."""

from __future__ import annotations

import keyword
import re

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def snake(name: str) -> str:
    """``ErrorCode`` as ``error_code``; acronyms stay together; a Python keyword gets a trailing underscore."""
    words = _WORD.sub("_", name.replace("KRaft", "Kraft")).lower()
    return words + "_" if keyword.iskeyword(words) else words


def upper(name: str) -> str:
    """``ApiVersions`` as ``API_VERSIONS``, the way Kafka names its API keys."""
    return snake(name).upper()
