"""Errors of a lake, as sentences for people: what happened, where, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

_OURS = re.compile(r"\bpykbroker\.lake\.trouble\.\w+: (.+)")
_CAUSE = re.compile(r"Caused by: (?:[\w.$]+: )?(.+)")
_LONGEST = 500


class LakeError(Exception):
    """A job cannot go on; the message says why and what to do."""


class Missing(LakeError):
    """Java, a package, a jar, a file or a folder is missing."""


class DataLost(LakeError):
    """Records expired before they were read, or a topic was deleted and made anew."""


@contextmanager
def written_by(command: str, place: str) -> Iterator[None]:
    """Raises LakeError if the content of the file ``place`` is not what ``command`` writes: it is truncated or was edited."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError):
        raise LakeError(f"{place} is not one that `pykbroker lake {command}` wrote, or is damaged.") from None


def sentence(message: str) -> str:
    """The essential part of Spark's message about a failed job: our own error if a task raised one, else the innermost cause."""
    found = _OURS.findall(message)[:1] or _CAUSE.findall(message)[-1:] or message.strip().splitlines()[:1]
    return "".join(found)[:_LONGEST]
