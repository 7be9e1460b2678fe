"""PLAIN (RFC 4616), the client's side: sends name and password in clear text."""

from __future__ import annotations


class PlainLogin:
    """See the module. The exchange is one token."""

    def __init__(self, name: str, password: str) -> None:
        self._token = f"\0{name}\0{password}".encode()

    def first(self) -> bytes:
        return self._token

    def answer(self, challenge: bytes) -> None:
        """The broker's answer is empty: the client is authenticated."""
