"""PLAIN (RFC 4616), the client's side: a name and a password as they are."""

from __future__ import annotations


class PlainLogin:
    """See the module. One token says it all."""

    def __init__(self, name: str, password: str) -> None:
        self._token = f"\0{name}\0{password}".encode()

    def first(self) -> bytes:
        return self._token

    def answer(self, challenge: bytes) -> None:
        """The broker has nothing to add."""
