"""The interface of SASL mechanisms on the client: an exchange of tokens that the client begins.

Pure: the owner of the connection sends the tokens and passes on the broker's answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol


class LoginFailed(Exception):
    """Authentication has failed, by the settings or by the broker's answer. The text contains no secret."""


class Login(Protocol):
    """One authentication."""

    def first(self) -> bytes:
        """The first token. Raises LoginFailed."""
        ...

    def answer(self, challenge: bytes, /) -> bytes | None:
        """The next token; None if the client is authenticated. Raises LoginFailed."""
        ...


class Mechanism(NamedTuple):
    """A configured mechanism. ``begin`` creates an exchange with the broker on a host and raises LoginFailed; ``user`` is for
    messages.
    """

    name: str
    user: str
    begin: Callable[[str], Login]
