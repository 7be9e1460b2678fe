"""What goes wrong with a lake, as sentences for a person: what happened, where, and what to do."""

from __future__ import annotations

import re

_OURS = re.compile(r"\bpykbroker\.lake\.trouble\.\w+: (.+)")
_CAUSE = re.compile(r"Caused by: (?:[\w.$]+: )?(.+)")
_LONGEST = 500


class LakeError(Exception):
    """Something that a person must know or mend; the message says what."""


class Missing(LakeError):
    """Java, a package, a jar or a folder is not there."""


class DataLost(LakeError):
    """Records expired before they were read, or a topic was made anew under its old name."""


def sentence(message: str) -> str:
    """Of what Spark says of a failed job the part that a person reads: ours, where a task raised one, else the innermost cause."""
    found = _OURS.findall(message)[:1] or _CAUSE.findall(message)[-1:] or message.strip().splitlines()[:1]
    return "".join(found)[:_LONGEST]
