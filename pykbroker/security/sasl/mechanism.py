"""What a SASL mechanism is to a connection: an exchange of tokens that ends with a principal, or with a refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

#: The latest time that there is, in milliseconds since 1970: Java's, and that of a field of 64 bits.
MOST_MS: Final = 2**63 - 1


class Refused(Exception):
    """Somebody is not who they say. ``told`` is what the client hears; None where it hears a sentence that is the same
    whatever was wrong, so that nobody learns which users there are. The text is for the log.
    """

    def __init__(self, reason: str, *, told: str | None = None) -> None:
        super().__init__(reason)
        self.told = told


def refused_aloud(message: str) -> Refused:
    """The client may hear why."""
    return Refused(message, told=message)


class Authenticated(NamedTuple):
    """Who somebody is, until when in milliseconds since 1970 (None: for ever), and whether a delegation token said it."""

    name: str
    expires_ms: int | None = None
    by_token: bool = False


class Exchange(Protocol):
    """One exchange. ``result`` is set once it is over, and well."""

    result: Authenticated | None

    def evaluate(self, token: bytes, /) -> bytes | None:
        """The answer to a token of the client; None where the mechanism has none. Raises Refused."""
        ...


#: Begins an exchange.
Mechanism = Callable[[], Exchange]
