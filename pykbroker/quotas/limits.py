"""Which quota applies to a client: Kafka's precedence of users, client ids, both and defaults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

#: An entity of the metadata image: ((type, name or None for the default), ...), sorted by type.
Entity = tuple[tuple[str, str | None], ...]
#: The clients that share one quota: (user, client id), with "" for a part that does not matter.
Holder = tuple[str, str]

_USER: Final = "user"
_CLIENT: Final = "client-id"
#: Cached results; clients choose their ids, so there may be any number.
_MOST_REMEMBERED: Final = 10_000


class Limit(NamedTuple):
    """A quota value, and the clients that share it."""

    holder: Holder
    bound: float


class QuotaLimits:
    """The quotas of one key, such as producer_byte_rate."""

    def __init__(self, quotas: Mapping[Entity, Mapping[str, float]], key: str) -> None:
        self._key = key
        self._bounds: dict[Entity, float] = {}
        self._found: dict[Holder, Limit | None] = {}
        self.alter(quotas, quotas)

    def alter(self, entities: Iterable[Entity], quotas: Mapping[Entity, Mapping[str, float]]) -> None:
        """These entities have by now what ``quotas`` says. Others stay: there may be thousands."""
        for entity in entities:
            bound = quotas.get(entity, {}).get(self._key)
            if bound is None:
                self._bounds.pop(entity, None)
            elif all(kind in (_USER, _CLIENT) for kind, _ in entity):
                self._bounds[entity] = bound
        self._found.clear()

    def __bool__(self) -> bool:
        return bool(self._bounds)

    def of(self, user: str, client: str) -> Limit | None:
        """The quota for a user's client with this client id (empty if it has none); None for no quota."""
        if not self._bounds:
            return None
        asked = (user, client)
        try:
            return self._found[asked]
        except KeyError:
            if len(self._found) >= _MOST_REMEMBERED:
                self._found.clear()
            found = self._found[asked] = self._find(user, client)
            return found

    def _find(self, user: str, client: str) -> Limit | None:
        for entity, holder in _candidates(user, client):
            bound = self._bounds.get(entity)
            if bound is not None:
                return Limit(holder, bound)
        return None


def _candidates(user: str, client: str) -> Iterator[tuple[Entity, Holder]]:
    """The entities whose quota may apply, in order of precedence, each with the clients that share it."""
    if client:
        yield ((_CLIENT, client), (_USER, user)), (user, client)
        yield ((_CLIENT, None), (_USER, user)), (user, client)
    yield ((_USER, user),), (user, "")
    if client:
        yield ((_CLIENT, client), (_USER, None)), (user, client)
        yield ((_CLIENT, None), (_USER, None)), (user, client)
    yield ((_USER, None),), (user, "")
    if client:
        yield ((_CLIENT, client),), ("", client)
        yield ((_CLIENT, None),), ("", client)
