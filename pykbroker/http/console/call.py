"""The parameters that the page sent, in the query or the body. All of them are untrusted and validated here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pykbroker.steered.refusal import VerbRefused

if TYPE_CHECKING:
    from aiohttp import web

_LONGEST_TEXT: Final = 32 * 1024
#: The range of offsets and timestamps, within the integers that JavaScript represents exactly.
_LARGEST: Final = 2**53 - 1


@dataclass(frozen=True, slots=True)
class ConsoleCall:
    """``said`` has strings if it was a query, and JSON values if it was a body."""

    said: Mapping[str, Any]
    request: web.Request

    def text(self, name: str, default: str | None = None, *, most: int = _LONGEST_TEXT) -> str:
        """Return a string. Raises VerbRefused if it is not one, is too long, or is missing and has no default."""
        value = self.said.get(name, default)
        if not isinstance(value, str):
            raise VerbRefused(400, f"{name!r} is required, as text")
        if len(value) > most:
            raise VerbRefused(400, f"{name!r} has {len(value)} characters; {most} are the most")
        return value

    def maybe_text(self, name: str) -> str | None:
        """Return a string, or None if it is missing or null. Raises VerbRefused."""
        return None if self.said.get(name) is None else self.text(name)

    def whole(self, name: str, default: int | None = None, *, least: int = 0, most: int = _LARGEST) -> int:
        """Return an integer. Raises VerbRefused if it is not one, or out of range."""
        value = self.said.get(name, default)
        if isinstance(value, str) and value.isascii() and value.removeprefix("-").isdigit() and len(value) < 20:
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise VerbRefused(400, f"{name!r} has to be a whole number from {least} to {most}")
        return value

    def maybe_whole(self, name: str, *, least: int = 0) -> int | None:
        """Return an integer, or None if it is missing or null. Raises VerbRefused."""
        return None if self.said.get(name) in (None, "") else self.whole(name, least=least)

    def flag(self, name: str) -> bool:
        """Return a boolean, False if it is missing. Raises VerbRefused."""
        value = self.said.get(name, False)
        if value in (True, "true", "1"):
            return True
        if value in (False, "false", "0", ""):
            return False
        raise VerbRefused(400, f"{name!r} has to be true or false")

    def objects(self, name: str, *, most: int) -> list[dict[str, Any]]:
        """Return a list of JSON objects. Raises VerbRefused."""
        value = self.said.get(name, [])
        if not isinstance(value, list) or len(value) > most or not all(isinstance(each, dict) for each in value):
            raise VerbRefused(400, f"{name!r} has to be a list of at most {most} objects")
        return value

    def inner(self, said: dict[str, Any]) -> ConsoleCall:
        """Return one of these objects, to be read in the same way."""
        return ConsoleCall(said, self.request)
