"""A route of the API: method, path, parameters, schemas and responses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from pykbroker.steered.call import VerbCall
from pykbroker.steered.verbs.table import VERBS

if TYPE_CHECKING:
    from pykbroker.http.principal import HttpPrincipal
    from pykbroker.steered.steering import Steering

_LARGEST_BODY: Final = 64 * 1024
#: A schema of JSON.
Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCall(VerbCall):
    """A call over HTTP: who asks, and the parameters of the query. All of them are untrusted."""

    principal: HttpPrincipal
    query: Mapping[str, str]
    #: Media type and text, for a route that takes a body other than JSON.
    kind: str = ""
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class Text:
    """A response that is not JSON, or is already serialized."""

    kind: str
    text: str


Handler = Callable[["Steering", HttpCall], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Route:
    """A route. Without a ``handler`` it is the verb of its name (``steered/verbs``). ``path`` has parameters in braces; ``query`` has optional parameters with their descriptions.

    ``body`` and ``answer`` are JSON schemas; ``takes`` and ``gives`` those of other media types. ``refusals`` are
    status codes with their meaning, beside those of every route. ``most`` is the largest body in bytes.
    """

    method: str
    path: str
    name: str
    meaning: str
    handler: Handler | None
    answer: Schema | None = None
    body: Schema | None = None
    takes: Mapping[str, Schema] = field(default_factory=dict)
    gives: Mapping[str, Schema] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    refusals: Mapping[int, str] = field(default_factory=dict)
    most: int = _LARGEST_BODY

    async def carry_out(self, steering: Steering, call: HttpCall) -> Any:
        """Do what the route is for; returns the answer. Raises VerbRefused and KafkaError."""
        act = VERBS[self.name] if self.handler is None else self.handler
        return await act(steering, call)

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
