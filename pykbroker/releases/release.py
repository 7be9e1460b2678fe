"""A release of Kafka as a value, and the supported releases.

A release has the versions of its APIs (the dispatcher's table), the features of its clusters (given to the controller),
its settings (given to the configuration), and amended responses (one step of the dispatcher, ``amending.py``). Nothing
else in the broker depends on the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Final

from pykbroker.config.definitions import definition_set
from pykbroker.config.definitions.definition_set import Definitions
from pykbroker.handlers.table import SUPPORTED, ServedApi
from pykbroker.metadata import features as current
from pykbroker.metadata.features import Features
from pykbroker.releases.amending import amending
from pykbroker.requests.dispatcher import Dispatcher
from pykbroker.requests.pipeline import Place

if TYPE_CHECKING:
    from pykbroker.requests.pipeline import Guard, Step
    from pykbroker.wire.apis import ApiKey

#: Modules of the releases by the names that users give; the newest is the broker as it is.
_MODULES: Final = {"2.8": "kafka_2_8", "3.9": "kafka_3_9", "4.3": "kafka_4_3", "4.4": ""}
NAMES: Final = tuple(_MODULES)
NEWEST: Final = NAMES[-1]


@dataclass(frozen=True)
class Release:
    """See the module. Defaults are those of the newest release."""

    name: str
    table: tuple[ServedApi, ...] = SUPPORTED
    features: Features = current.CURRENT
    definitions: Definitions = definition_set.CURRENT
    #: Steps of the dispatcher, each for one API.
    amendments: Mapping[ApiKey, Step] = field(default_factory=dict)

    @property
    def places(self) -> dict[Place, Guard]:
        """Return what the release fills of the dispatcher's places: the one of its amendments, if it has any."""
        return {Place.AMEND: amending(self.amendments)} if self.amendments else {}

    def dispatcher(self) -> Dispatcher:
        """Return a dispatcher that serves the APIs of the release."""
        return Dispatcher(self.table, self.places)


def release(name: str) -> Release:
    """Return the release with this name. Raises ValueError with the known names."""
    if name not in _MODULES:
        raise ValueError(f"there is no Kafka {name!r} to be taken for; write one of {', '.join(NAMES)}")
    if name == NEWEST:
        return Release(name)
    found: Release = import_module(f"pykbroker.releases.{_MODULES[name]}").RELEASE
    return found


def rows(highest: Mapping[ApiKey, int]) -> tuple[ServedApi, ...]:
    """Return the table for the highest versions of these APIs, in the order of the broker's own."""
    return tuple(api._replace(max_version=highest[api.key]) for api in SUPPORTED if api.key in highest)
