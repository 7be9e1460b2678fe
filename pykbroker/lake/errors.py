"""Errors of a lake, as sentences for people: what happened, where, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

_OURS = re.compile(r"\bpykbroker\.lake\.errors\.\w+: (.+)")
_CAUSE = re.compile(r"Caused by: (?:[\w.$]+: )?(.+)")
_OF_JAVA = re.compile(r"^An error occurred while calling .*\n: (?:[\w.$]+: )?(.+)")
"""An exception without a cause, as py4j shows it: its own first line names only a call."""
_NO_ANSWER = re.compile(
    r"Answer from Java side is empty|while sending or receiving|trying to connect to the Java server|Could not connect"
)
_LONGEST = 500
_FILE = re.compile(r"(?:Encountered error while reading file|Error reading file\(s\):) (\S+?)\.?(?=\s|$)")
"""As Spark's readers name the file, and Iceberg's, which does so only in Spark's log."""
_DECODED = re.compile(r"/decoded/([^/\s]+)/")
_ADVICE = (
    (
        re.compile(r"No space left on device|File too large|Disk quota exceeded"),
        "Make room on the lake's disk, or where TMPDIR is, and run this again; what was committed stays.",
    ),
    (
        re.compile(r"FAILED_READ_FILE|Error reading file\(s\)|is not a Parquet file|ChecksumException|page integrity"),
        "The file is damaged or gone: put back a copy of it, and run this again; nothing was changed.",
    ),
)


class LakeError(Exception):
    """A job cannot go on; the message says why and what to do."""


class Missing(LakeError):
    """Java, a package, a jar, a file or a folder is missing."""


class DataLost(LakeError):
    """Records expired before they were read, or a topic was deleted and made anew."""


@contextmanager
def written_by(command: str, place: str, advice: str = "") -> Iterator[None]:
    """Raises LakeError, with advice, if the content of the file ``place`` is not what ``command`` writes: it is truncated or was edited."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError):
        said = f"{place} is not one that `pykbroker lake {command}` wrote, or is damaged. {advice}"
        raise LakeError(said.rstrip()) from None


def is_java_gone(error: BaseException) -> bool:
    """Whether the Java process of the session has ended, as py4j tells it: in its own errors or in those of a socket, or in their causes."""
    each: BaseException | None = error
    while each is not None:
        if isinstance(each, ConnectionError) or _NO_ANSWER.search(f"{type(each).__name__} {each}"):
            return True
        each = each.__cause__ or each.__context__
    return False


def rebuild_hint(topic: str) -> str:
    """What to do about a damaged file of a topic's decoding."""
    return (
        f"`pykbroker lake decode LAKE --topics '{topic}' --anew` makes the tables of this topic anew from the archive"
    )


def sentence(message: str) -> str:
    """The essential part of Spark's message about a failed job: our own error if a task raised one, else the innermost cause, with the data
    file concerned and what to do.
    """
    if ours := _OURS.findall(message):
        return str(ours[0])[:_LONGEST]
    found = "".join((_CAUSE.findall(message) or _OF_JAVA.findall(message))[-1:] or message.strip().splitlines()[:1])[
        :_LONGEST
    ]
    if (file := _FILE.search(message)) and file[1] not in found:
        found = f"{file[1]}: {found}"
    if (topic := _DECODED.search(found)) and _ADVICE[1][0].search(message):
        return f"{found}{'' if found.endswith('.') else '.'} The file is damaged or gone: {rebuild_hint(topic[1])}; nothing was changed."
    return found + next(
        (f"{'' if found.endswith('.') else '.'} {advice}" for sign, advice in _ADVICE if sign.search(message)), ""
    )
