"""A row of the table: what may be asked, what must be said, and what is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pykbroker.http.api.refusal import Refusal

if TYPE_CHECKING:
    from pykbroker.http.api.steering import Steering

#: A schema of JSON.
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """What was said: words of the path, of the query, and the body. All of it is text of strangers."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Mapping[str, Any]
    #: Of a route that takes text as it comes: its type, and the text.
    kind: str = ""
    raw: bytes = b""

    def number(self, name: str) -> int:
        """A number of the path. Raises Refusal."""
        return whole(name, self.path[name])

    def text(self, name: str) -> str:
        """A text of the body. Raises Refusal."""
        value = self.body.get(name)
        if not isinstance(value, str):
            raise Refusal(400, f"the body wants a text as {name!r}")
        return value

    def flag(self, name: str) -> bool:
        """A yes or no of the body. Raises Refusal."""
        value = self.body.get(name)
        if not isinstance(value, bool):
            raise Refusal(400, f"the body wants true or false as {name!r}")
        return value


def whole(name: str, text: str) -> int:
    """A number that is not negative. Raises Refusal."""
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise Refusal(400, f"{name} is a number from 0 on, not {text[:40]!r}")
    return int(text)


@dataclass(frozen=True, slots=True)
class Text:
    """An answer that is not of JSON, or is written down already."""

    kind: str
    text: str


Handler = Callable[["Steering", Call], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Route:
    """``path`` has names of its words in braces; ``query`` the words that may follow, with what they mean. ``body`` and
    ``answer`` are schemas; ``takes`` and ``gives`` those of text that is taken or answered as it is, by its type.
    ``refusals`` say when which status is answered, beside those that all have.
    """

    method: str
    path: str
    name: str
    meaning: str
    handler: Handler
    answer: Schema | None = None
    body: Schema | None = None
    takes: Mapping[str, Schema] = field(default_factory=dict)
    gives: Mapping[str, Schema] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    refusals: Mapping[int, str] = field(default_factory=dict)

    @property
    def changes(self) -> bool:
        """Whether more is done than to look."""
        return self.method != "GET"

    def words(self, path: str) -> dict[str, str] | None:
        """The words of a path, which is still quoted; None where it is another's."""
        wanted, given = self.path.split("/"), path.split("/")
        if len(wanted) != len(given):
            return None
        found: dict[str, str] = {}
        for want, has in zip(wanted, given, strict=True):
            if want.startswith("{") and has:
                found[want[1:-1]] = unquote(has)
            elif want != has:
                return None
        return found
