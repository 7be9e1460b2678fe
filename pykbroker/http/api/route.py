"""A route of the API: method, path, parameters, schemas and responses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from pykbroker.steered.refusal import Refusal

if TYPE_CHECKING:
    from pykbroker.http.asker import Asker
    from pykbroker.steered.steering import Steering

_LARGEST_BODY: Final = 64 * 1024
#: A schema of JSON.
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """Who asks, and the parameters of the path, of the query, and the body. All of them are untrusted."""

    asker: Asker
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Mapping[str, Any]
    #: Media type and text, for a route that takes a body other than JSON.
    kind: str = ""
    raw: bytes = b""

    def number(self, name: str) -> int:
        """Return a number of the path. Raises Refusal."""
        return whole(name, self.path[name])

    def text(self, name: str) -> str:
        """Return a string of the body. Raises Refusal."""
        value = self.body.get(name)
        if not isinstance(value, str):
            raise Refusal(400, f"the body wants a text as {name!r}")
        return value

    def flag(self, name: str) -> bool:
        """Return a boolean of the body. Raises Refusal."""
        value = self.body.get(name)
        if not isinstance(value, bool):
            raise Refusal(400, f"the body wants true or false as {name!r}")
        return value


def whole(name: str, text: str) -> int:
    """Return a number that is not negative. Raises Refusal."""
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise Refusal(400, f"{name} is a number from 0 on, not {text[:40]!r}")
    return int(text)


@dataclass(frozen=True, slots=True)
class Text:
    """A response that is not JSON, or is already serialized."""

    kind: str
    text: str


Handler = Callable[["Steering", Call], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Route:
    """A route. ``path`` has parameters in braces; ``query`` has optional parameters with their descriptions.

    ``body`` and ``answer`` are JSON schemas; ``takes`` and ``gives`` those of other media types. ``refusals`` are
    status codes with their meaning, beside those of every route. ``most`` is the largest body in bytes.
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
    most: int = _LARGEST_BODY

    @property
    def changes(self) -> bool:
        """Whether the route changes something."""
        return self.method != "GET"

    def words(self, path: str) -> dict[str, str] | None:
        """Return the parameters in a path, which is still quoted; None if the path is another route's."""
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
