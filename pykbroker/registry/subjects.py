"""Names of subjects: ``name`` in the default context, ``:.context:name`` in another. Pure."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from pykbroker.registry.errors import INVALID_SUBJECT, RegistryError, invalid_version
from pykbroker.registry.schema import abbreviated

DEFAULT_CONTEXT: Final = "."
#: In place of a context, all of them.
WILDCARD: Final = ":*:"
_QUALIFIED: Final = re.compile(r":(\.[^:]*):(.*)", re.DOTALL)
_RESERVED: Final = ("__GLOBAL", "__EMPTY")
_LONGEST: Final = 1000
LATEST: Final = -1
#: What the usual strategy appends to a topic's name.
_OF_TOPICS: Final = ("-key", "-value")
_MOST: Final = 2**31 - 1


def split(subject: str) -> tuple[str, str]:
    """The context and the name of a subject."""
    found = _QUALIFIED.fullmatch(subject)
    return (DEFAULT_CONTEXT, subject) if found is None else (found[1], found[2])


def qualified(context: str, name: str) -> str:
    """The subject ``name`` in a context."""
    return name if context == DEFAULT_CONTEXT else f":{context}:{name}"


def normal(subject: str) -> str:
    """The one form of a subject's name: the default context is not named."""
    return qualified(*split(subject))


def context_of(subject: str) -> str:
    return split(subject)[0]


def is_meant(name: str, subject: str | None) -> bool:
    """Whether what is for ``subject`` is for a subject of this name: for all, those of a context, or the one."""
    if subject is None or name == subject:
        return True
    context = context_of(subject)
    return subject == qualified(context, "") and context_of(name) == context


def topic_of(subject: str) -> str:
    """The topic that a subject is named for, by the usual strategy; its name without a suffix of it. Empty for all subjects of a context."""
    name = split(subject)[1]
    suffix = next((each for each in _OF_TOPICS if name.endswith(each)), "")
    return name.removesuffix(suffix) or name


def checked(subject: str) -> str:
    """The normal form of a name under which something is written. Raises RegistryError."""
    control = any(unicodedata.category(each) == "Cc" for each in subject)
    name = split(subject)[1]
    if not subject or control or name in _RESERVED or len(subject) > _LONGEST:
        raise RegistryError(INVALID_SUBJECT, f"The specified subject '{abbreviated(subject)}' is not a valid subject.")
    return normal(subject)


def version_number(text: str) -> int:
    """The number of a version; LATEST for ``latest`` and ``-1``. Raises RegistryError."""
    if text in ("latest", "-1"):
        return LATEST
    if not re.fullmatch(r"\+?[0-9]{1,10}", text) or not 1 <= int(text) <= _MOST:
        raise invalid_version(text)
    return int(text)
