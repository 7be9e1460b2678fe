"""The interface of SASL mechanisms on the broker: an exchange of tokens that ends with an identity or a refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

#: The latest time in milliseconds since the epoch: Java's Long.MAX_VALUE.
MOST_MS: Final = 2**63 - 1


class CredentialsRefused(Exception):
    """The client's credentials are not valid. The text is for the log. ``client_message`` is for the client; if None, it is answered a
    sentence that is the same for all reasons, so that it does not learn which users exist.
    """

    def __init__(self, reason: str, *, client_message: str | None = None) -> None:
        super().__init__(reason)
        self.client_message = client_message


def refused_aloud(message: str) -> CredentialsRefused:
    """A refusal whose reason the client may know."""
    return CredentialsRefused(message, client_message=message)


class Authenticated(NamedTuple):
    """The user, when the credential expires (milliseconds since the epoch, None for never), and whether it is a delegation
    token.
    """

    name: str
    expires_ms: int | None = None
    by_token: bool = False


class Exchange(Protocol):
    """One authentication. ``result`` is set once it has succeeded."""

    result: Authenticated | None

    def evaluate(self, token: bytes, /) -> bytes | None:
        """The answer to a token of the client; None if the mechanism has none. Raises CredentialsRefused."""
        ...


#: Creates an exchange.
Mechanism = Callable[[], Exchange]
