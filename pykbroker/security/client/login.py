"""What a SASL mechanism is to a client: an exchange of tokens that it begins, by which a broker learns who it is.

Pure: whoever holds the connection sends what is said here, and says what comes back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol


class LoginFailed(Exception):
    """The exchange cannot go on: the settings, or what the broker says, are wrong. The text names no secret."""


class Login(Protocol):
    """One exchange."""

    def first(self) -> bytes:
        """What the client says first. Raises LoginFailed."""
        ...

    def answer(self, challenge: bytes, /) -> bytes | None:
        """What it says to this; None where all is said, and the broker has let it in. Raises LoginFailed."""
        ...


class Mechanism(NamedTuple):
    """How a client signs in. ``begin`` begins an exchange with the broker of a host, and raises LoginFailed; ``user`` is who it says
    it is, for people.
    """

    name: str
    user: str
    begin: Callable[[str], Login]
