"""What goes wrong with a lake, as sentences for a person: what happened, where, and what to do."""

from __future__ import annotations


class LakeError(Exception):
    """Something that a person must know or mend; the message says what."""


class Missing(LakeError):
    """Java, a package, a jar or a folder is not there."""


class DataLost(LakeError):
    """Records expired before they were read, or a topic was made anew under its old name."""
