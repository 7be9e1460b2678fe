"""The cases: functions that ask as somebody who may do nothing, or has some of the rights that a case needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules

from compat_tests.authorization.signing import SignedAsk
from pykbroker.wire.apis import APIS, ApiKey

#: Type of the resource, its name within the case (None: the cluster), the operation.
Right = tuple[int, str | None, int]


@dataclass(frozen=True)
class Case:
    """A function that asks, with none of the rights, with all of them, and in the last of its versions with each alone."""

    api: ApiKey
    ask: Callable[[SignedAsk], None]
    rights: tuple[Right, ...]
    versions: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{APIS[self.api].name}/{self.ask.__name__}"

    def given(self, version: int) -> Iterator[tuple[Right, ...]]:
        """The sets of rights to ask with."""
        yield ()
        yield self.rights
        if version == self.versions[-1] and len(self.rights) > 1:
            for right in self.rights:
                yield (right,)


CASES: list[Case] = []


def case(
    api: ApiKey, *rights: Right, versions: tuple[int, ...] | None = None
) -> Callable[[Callable[[SignedAsk], None]], Callable[[SignedAsk], None]]:
    """Registers a case, for the lowest and the highest version that Apache Kafka offers unless ``versions`` says which."""
    listed = APIS[api]
    highest = listed.max_version - 1 if listed.latest_unstable else listed.max_version
    asked = versions or tuple(dict.fromkeys((listed.min_version, highest)))

    def register(ask: Callable[[SignedAsk], None]) -> Callable[[SignedAsk], None]:
        CASES.append(Case(api, ask, rights, asked))
        return ask

    return register


def all_cases() -> list[Case]:
    """All cases of all modules."""
    for module in sorted(iter_modules(__path__), key=lambda module: module.name):
        import_module(f"{__name__}.{module.name}")
    return CASES
