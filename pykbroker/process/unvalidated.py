"""Warnings of topics that ask for validation by a schema registry, which acts only in a process that has one.

Confluent's brokers ask a registry elsewhere (``confluent.schema.registry.url``), which this one does not.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from pykbroker.metadata.image import TOPIC_RESOURCE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pykbroker.metadata.delta import MetadataDelta
    from pykbroker.metadata.image import MetadataImage
    from pykbroker.process.life import Life, Lifetimes
    from pykbroker.runtime.slices import Steps

log = logging.getLogger(__name__)

#: The parts of a record that are validated.
PARTS: Final = ("key", "value")
_SETTING: Final = "confluent.{}.schema.validation"
#: The weights of a look at a topic and of a line in the log, and the topics that are named after a start.
_WEIGHT: Final = 0.2
_WEIGHT_OF_A_LINE: Final = 5
_MOST: Final = 5


def asks_for_validation(config: Mapping[str, str], part: str) -> bool:
    """Whether a topic asks by its settings for the validation of its keys or values."""
    return config.get(_SETTING.format(part), "").lower() == "true"


def _validated_by(image: MetadataImage, topic: str) -> str | None:
    """The setting by which a topic asks for validation; None for none."""
    config = image.topic_config(topic)
    return next((_SETTING.format(part) for part in PARTS if asks_for_validation(config, part)), None)


class ValidationWarnings:
    """Warns of the topics that ask for validation, while nothing in the process validates. Belongs to the loop."""

    def __init__(self, lifetimes: Lifetimes) -> None:
        self._lifetimes = lifetimes
        self._validates = False
        lifetimes.follow(self._began)

    def cease(self) -> Callable[[], None]:
        """Warn of nothing, since something validates from now on; returns what takes it back."""
        self._validates = True
        return self._resume

    def warn_of_all(self) -> None:
        """Warn of topics that ask for it already; without a cluster there are none."""
        life = self._lifetimes.current
        if life is not None and not self._validates:
            life.cluster.runtime.slices.begin(_look(life.cluster.metadata.image))

    def _resume(self) -> None:
        self._validates = False

    def _began(self, life: Life) -> None:
        """Warn of each topic that asks for it from now on."""

        def changed(image: MetadataImage, delta: MetadataDelta) -> None:
            if delta.configs and not self._validates:
                life.cluster.runtime.slices.begin(_warn_of_each(image, list(delta.configs)))

        life.at_end(life.cluster.metadata.subscribe(changed))


def _warn_of_each(image: MetadataImage, changed: list[tuple[int, str]]) -> Steps:
    for kind, name in changed:
        if kind == TOPIC_RESOURCE and (setting := _validated_by(image, name)) is not None:
            log.warning("%s=true of topic %s does nothing: %s", setting, name, _WHY)
            yield _WEIGHT_OF_A_LINE
        yield _WEIGHT


def _look(image: MetadataImage) -> Steps:
    found = []
    for kind, name in list(image.configs):
        if kind == TOPIC_RESOURCE and _validated_by(image, name) is not None:
            found.append(name)
        yield _WEIGHT
    if found:
        more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
        log.warning("Schema validation of topics %s%s does nothing: %s", ", ".join(found[:_MOST]), more, _WHY)


_WHY: Final = "this process has no schema registry; start it with --schema-registry"
