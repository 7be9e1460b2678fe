"""Error answers with messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class VerbRefused(Exception):
    """A request is refused: an HTTP status, and what to do instead."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@contextmanager
def refusing(status: int, *errors: type[Exception]) -> Iterator[None]:
    """Turn these errors into VerbRefused with their text."""
    try:
        yield
    except errors as error:
        raise VerbRefused(status, str(error)) from error
