"""The cases: functions that ask, by API. ``CASES`` holds them all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules

from compat_tests.oracle.requests import Ask
from pykbroker.wire.apis import APIS, ApiKey


@dataclass(frozen=True)
class Case:
    """A function run at every version of an API, against both brokers."""

    api: ApiKey
    ask: Callable[[Ask], None]
    versions: range

    @property
    def name(self) -> str:
        return f"{APIS[self.api].name}/{self.ask.__name__}"


CASES: list[Case] = []


def case(
    api: ApiKey, *, since: int = 0, until: int = 0x7FFF
) -> Callable[[Callable[[Ask], None]], Callable[[Ask], None]]:
    """Registers a case, for the versions of the API that Apache Kafka offers within ``since`` to ``until``."""
    listed = APIS[api]
    highest = listed.max_version - 1 if listed.latest_unstable else listed.max_version
    versions = range(max(since, listed.min_version), min(until, highest) + 1)

    def register(ask: Callable[[Ask], None]) -> Callable[[Ask], None]:
        CASES.append(Case(api, ask, versions))
        return ask

    return register


def all_cases() -> list[Case]:
    """All cases of all modules."""
    for module in sorted(iter_modules(__path__), key=lambda module: module.name):
        import_module(f"{__name__}.{module.name}")
    return CASES
