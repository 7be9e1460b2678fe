"""A release of Kafka as a value, and the releases there are.

A release says which versions of which APIs it serves (the dispatcher's table), which features its clusters have (given to
the controller), which defaults its settings have (given to the settings), and which answers are amended on their way
out (one step of the dispatcher, ``amending.py``). Nothing else in the broker asks which release it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from pykbroker.handlers.table import SUPPORTED, ServedApi
from pykbroker.metadata.features import CURRENT, Features
from pykbroker.releases.amending import amending
from pykbroker.requests.dispatcher import Dispatcher, Step

if TYPE_CHECKING:
    from pykbroker.releases.amending import Amendment
    from pykbroker.wire.apis import ApiKey

#: The releases by the names that users give them, and their modules here; that of the newest is the broker as it is.
_MODULES: Final = {"2.8": "kafka_2_8", "3.9": "kafka_3_9", "4.3": ""}
NAMES: Final = tuple(_MODULES)
NEWEST: Final = NAMES[-1]


@dataclass(frozen=True)
class Release:
    """See the module."""

    name: str
    table: tuple[ServedApi, ...] = SUPPORTED
    features: Features = CURRENT
    #: Of broker settings nobody set, where the release had another value than this broker; as parsed.
    defaults: Mapping[str, Any] = field(default_factory=dict)
    #: What becomes of the answers of an API, by key.
    amendments: Mapping[ApiKey, Amendment] = field(default_factory=dict)

    @property
    def amend(self) -> Step | None:
        """The dispatcher's step that does so; None where there is nothing to amend."""
        return amending(self) if self.amendments else None

    def dispatcher(self) -> Dispatcher:
        """A dispatcher that serves what the release served."""
        return Dispatcher(self.table, amend=self.amend)


def release(name: str) -> Release:
    """The release of this name. Raises ValueError with the names there are."""
    if name not in _MODULES:
        raise ValueError(f"there is no Kafka {name!r} to be taken for; write one of {', '.join(NAMES)}")
    if name == NEWEST:
        return Release(name)
    found: Release = import_module(f"pykbroker.releases.{_MODULES[name]}").RELEASE
    return found


def rows(highest: Mapping[ApiKey, int]) -> tuple[ServedApi, ...]:
    """The table of a release that served these APIs, each up to a version; in the order of the broker's own."""
    return tuple(api._replace(max_version=highest[api.key]) for api in SUPPORTED if api.key in highest)
