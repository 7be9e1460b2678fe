"""Topics by regular expressions, which must match the whole name, as in Kafka's clients."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pykbroker.client.client import Client
from pykbroker.client.errors import ClientError, UsageError


def compile_pattern(text: str) -> re.Pattern[str]:
    """Compile a regular expression. Raises UsageError."""
    try:
        return re.compile(text)
    except re.error as error:
        raise UsageError(f"{text!r} is not a regular expression: {error}.") from None


def matching_topics(client: Client, patterns: Iterable[str]) -> list[str]:
    """Return the topics that one of the patterns matches, without internal ones. Raises ClientError if there are none."""
    compiled = [compile_pattern(text) for text in patterns]
    names = sorted(topic.name or "" for topic in client.metadata(None).topics if not topic.is_internal)
    found = [name for name in names if any(pattern.fullmatch(name) for pattern in compiled)]
    if not found:
        raise ClientError(
            f"No topic matches {', '.join(p.pattern for p in compiled)}; `pykbroker topics list` shows all."
        )
    return found
