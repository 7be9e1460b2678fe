"""The parameters of a request to a process, over HTTP or the control socket."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pykbroker.steered.refusal import VerbRefused


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbCall:
    """The parameters that say what is meant, ``path``, and those that say how, ``body``. All of them are untrusted."""

    path: Mapping[str, str]
    body: Mapping[str, Any]

    def name(self, name: str) -> str:
        """Return a parameter of the path. Raises VerbRefused."""
        if name not in self.path:
            raise VerbRefused(400, f"{name!r} is missing")
        return self.path[name]

    def number(self, name: str) -> int:
        """Return a number of the path. Raises VerbRefused."""
        return whole(name, self.name(name))

    def text(self, name: str) -> str:
        """Return a string of the body. Raises VerbRefused."""
        value = self.body.get(name)
        if not isinstance(value, str):
            raise VerbRefused(400, f"the body wants a text as {name!r}")
        return value

    def flag(self, name: str) -> bool:
        """Return a boolean of the body. Raises VerbRefused."""
        value = self.body.get(name)
        if not isinstance(value, bool):
            raise VerbRefused(400, f"the body wants true or false as {name!r}")
        return value


def whole(name: str, text: str) -> int:
    """Return a number that is not negative. Raises VerbRefused."""
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise VerbRefused(400, f"{name} is a number from 0 on, not {text[:40]!r}")
    return int(text)
