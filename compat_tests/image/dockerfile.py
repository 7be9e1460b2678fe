"""What a Dockerfile and a .dockerignore say, as far as ours use it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import NamedTuple


class Step(NamedTuple):
    """One instruction: ``RUN``, ``COPY`` and so on, and the text behind it."""

    instruction: str
    text: str

    def words(self) -> list[str]:
        """The text as words, without options: a JSON list, or as a shell would split it."""
        return json.loads(self.text) if self.text.startswith("[") else shlex.split(self.text)


def steps(dockerfile: Path) -> list[Step]:
    """The instructions of a file, in order; comments are left out, continued lines are one."""
    lines = [line for line in dockerfile.read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", "")
    return [Step(*line.strip().split(None, 1)) for line in joined.splitlines() if line.strip()]


def in_context(name: str, ignored: str) -> bool:
    """Whether a file reaches the builder; ``ignored`` is the content of .dockerignore, whose last match wins."""
    parts = name.split("/")
    above = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    inside = True
    for pattern in filter(None, (line.strip() for line in ignored.splitlines() if not line.startswith("#"))):
        expression = _expression(pattern.removeprefix("!"))
        if any(expression.fullmatch(path) for path in above):
            inside = pattern.startswith("!")
    return inside


def _expression(pattern: str) -> re.Pattern[str]:
    meanings = {"**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*|\?)", pattern)
    return re.compile("".join(meanings.get(part, re.escape(part)) for part in parts))
