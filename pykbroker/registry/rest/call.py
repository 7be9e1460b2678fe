"""One request: the words of its path, its query, and its body."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pykbroker.registry.attached import MOST_SAID, are_rules, is_metadata
from pykbroker.registry.errors import TOO_LARGE, RegistryError, denied
from pykbroker.registry.references import MOST_REFERENCES
from pykbroker.registry.schema import Schema
from pykbroker.registry.subjects import checked, normal
from pykbroker.runtime.json_text import is_larger

if TYPE_CHECKING:
    from pykbroker.registry.registry import Registry


#: Items of a list; clients ask for further ones by ``offset``.
MOST_LISTED: Final = 20_000
MOST_SCHEMAS: Final = 1000


@dataclass(frozen=True, slots=True)
class SchemaText:
    """An answer that is a schema's text."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """See the module. ``body`` is the object of JSON, empty without one."""

    registry: Registry
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Mapping[str, Any] = field(default_factory=dict)
    #: Whether who asks may read a subject.
    may_read: Callable[[str], bool] = lambda _: True

    def flag(self, name: str) -> bool:
        """A flag of the query, false without it."""
        return self.query.get(name, "").lower() == "true"

    def whole(self, name: str, default: int) -> int:
        """A number of the query. Raises RegistryError."""
        found = self.query.get(name, "")
        if not found:
            return default
        digits = found.removeprefix("-")
        if not (digits.isascii() and digits.isdecimal() and len(digits) <= 10):
            raise RegistryError(404, "HTTP 404 Not Found")  # as the real one's server says
        return int(found)

    @property
    def subject(self) -> str:
        """The subject of the path, to be read."""
        return normal(self.path["subject"])

    @property
    def new_subject(self) -> str:
        """The subject of the path, to be written. Raises RegistryError."""
        return checked(self.path["subject"])

    def page(self, found: list[Any], most: int = MOST_LISTED) -> list[Any]:
        """The part of a list that the query's ``offset`` and ``limit`` ask for, at most ``most``, as by default in the other registry."""
        begin, limit = max(self.whole("offset", 0), 0), self.whole("limit", -1)
        return found[begin : begin + (limit if 0 <= limit <= most else most)]

    async def schema(self) -> Schema:
        """The schema of the body, read in a thread: it may be large. Raises RegistryError."""
        found = await self.registry.in_thread(self._schema)
        for each in found.references:
            self.check_may_read(each.subject)
        return found

    def check_may_read(self, subject: str) -> None:
        """Raises RegistryError if who asks may not read a subject, which another one led to."""
        if not self.may_read(subject):
            raise denied(f"Subject: {subject}")

    def _schema(self) -> Schema:
        body = self.body
        _check(body, "schema", str)
        _check(body, "schemaType", str)
        _check(body, "references", list)
        for name, is_fine in (("metadata", is_metadata), ("ruleSet", are_rules)):
            if is_larger(body.get(name), MOST_SAID):
                raise RegistryError(TOO_LARGE, f"{name} has more than {MOST_SAID} characters, or is nested too deeply")
            if body.get(name) is not None and not is_fine(body[name]):
                raise unprocessable(name)
        if len(body.get("references") or ()) > MOST_REFERENCES:
            raise RegistryError(TOO_LARGE, f"A schema refers to at most {MOST_REFERENCES} others")
        for each in body.get("references") or ():
            if not isinstance(each, dict):
                raise unprocessable("references")
            for name, kind in (("name", str), ("subject", str), ("version", int)):
                if not isinstance(each.get(name), kind) or isinstance(each.get(name), bool):
                    raise unprocessable(f"references.{name}")
        return Schema.of_json({**body, "schemaType": (body.get("schemaType") or "AVRO").upper()})

    def number(self, name: str, default: int) -> int:
        """A number of the body. Raises RegistryError."""
        found = self.body.get(name)
        if found is None:
            return default
        if not isinstance(found, int) or isinstance(found, bool) or abs(found) >= 2**63:
            raise unprocessable(name)
        return found


def _check(body: Mapping[str, Any], name: str, kind: type) -> None:
    found = body.get(name)
    if found is not None and not isinstance(found, kind):
        raise unprocessable(name)


def unprocessable(name: str) -> RegistryError:
    """A field of the body is of another type."""
    return RegistryError(422, f"{name} is not what it should be")
